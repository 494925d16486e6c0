"""Images and contents of messages."""

import base64
import io
from typing import Any

import gymnasium as gym
import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs import Conversation
from rlanything_envs.errors import SettingError
from rlanything_envs.message import Image, grid_size, images_of, parts_of, text_of
from rlanything_envs.osworld.view import View

BLUE = np.full((30, 40, 3), (0, 0, 200), np.uint8)


def test_an_image_is_the_same_from_pixels_and_from_a_file() -> None:
    drawn = np.arange(30 * 40 * 3, dtype=np.uint8).reshape(30, 40, 3)
    image = Image(drawn)
    again = Image(image.png)
    assert (again, again.digest, hash(again), again.size) == (image, image.digest, hash(image), (40, 30))
    assert image != Image(BLUE)
    assert np.array_equal(np.asarray(PIL.Image.open(io.BytesIO(image.png))), drawn)
    assert image.data_url.startswith("data:image/png;base64,")
    assert base64.b64decode(image.data_url.partition(",")[2]) == image.png


def test_an_image_does_not_change_with_its_source() -> None:
    drawn = BLUE.copy()
    image = Image(drawn)
    assert image.pixels[0, 0, 2] == 200
    drawn[:] = 0
    assert image == Image(BLUE)
    with pytest.raises(ValueError, match="read-only"):
        image.pixels[0, 0, 0] = 1


@pytest.mark.parametrize(
    "source",
    [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", np.zeros((3, 3), np.uint8), BLUE.astype(float), BLUE[:0], BLUE[:, :, :2]],
)
def test_what_is_no_image_is_refused(source: Any) -> None:
    with pytest.raises(ValueError, match=r"PNG file|uint8 of shape"):
        Image(source)


def test_a_file_that_grows_too_large_or_is_damaged_is_refused() -> None:
    png = Image(BLUE).png
    with pytest.raises(ValueError, match="too large"):
        Image(png[:16] + (2**20).to_bytes(4) + (2**20).to_bytes(4) + png[24:])
    with pytest.raises(ValueError, match="damaged"):
        _ = Image(png[:60]).pixels


@given(st.tuples(st.integers(1, 5000), st.integers(1, 5000)), st.sampled_from([28, 32]))
def test_a_grid_has_whole_cells(size: tuple[int, int], factor: int) -> None:
    width, height = grid_size(size, factor)
    assert width % factor == height % factor == 0 < min(width, height)
    assert max(abs(width - size[0]), abs(height - size[1])) <= max(factor, factor // 2)


def test_a_screen_of_the_paper_has_its_tokens() -> None:
    image = Image(np.zeros((1080, 1920, 3), np.uint8))
    assert (image.on_grid(32).size, image.tokens(32)) == ((1920, 1088), 2040)


def test_parts_of_observations() -> None:
    screen = Image(BLUE)
    assert parts_of("hello") == ("hello",)
    assert parts_of({"text": "hello", "instruction": "Save."}) == ("hello",)
    seen = {"screenshot": BLUE, "instruction": "Save.", "message": "Send clicks."}
    assert parts_of(seen, first=True) == (screen, "Task: Save.\n\nSend clicks.")
    assert parts_of({**seen, "message": ""}) == (screen,)
    assert text_of(parts_of(seen)) == "Send clicks."
    assert images_of(parts_of(seen)) == (screen,)
    assert (images_of("hello"), text_of("hello")) == ((), "hello")
    for observation in (BLUE, {"depth": BLUE}, 3):
        with pytest.raises(SettingError, match="has no text and no screenshot"):
            parts_of(observation)


class Screens(gym.Env[Any, str]):
    """Shows a screen and what was said last."""

    manual = "Say anything."

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        return {"screenshot": BLUE, "instruction": "Wave."}, {"task_id": "t-1", "outcome": None}

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        ends = action == "DONE"
        info = {"task_id": "t-1", "outcome": 1 if ends else None}
        return {"screenshot": BLUE, "instruction": "Wave."}, float(ends), ends, False, info


def test_a_conversation_without_text() -> None:
    conversation = Conversation(Screens())
    turn = conversation.start()
    assert turn.parts == (Image(BLUE), "Say anything.\n\nTask: Wave.")
    turn = conversation.answer("hello")
    assert (turn.text, turn.screen, turn.parts) == ("", Image(BLUE), (Image(BLUE),))
    assert conversation.answer("DONE").won


def test_a_desktop_without_text_says_how_to_act() -> None:
    view = View(["screenshot", "instruction", "message"], (640, 480), "pyautogui", 0.0)
    first = text_of(parts_of(view.told(None, "Save.", "", 0, 5), first=True))
    assert first.startswith("Task: Save.\n\nSend one action")
    assert "the screen has 640 by 480" in first
    assert text_of(parts_of(view.told(None, "Save.", "The action failed.", 1, 4))) == "The action failed."
    tools = View(["screenshot", "message"], (640, 480), "computer_13", 1000.0, instructions=False)
    assert text_of(parts_of(tools.told(None, "", "", 0, 5))).startswith("x and y run from 0 to 1000")
