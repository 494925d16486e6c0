"""A small model learns what is where on drawn screens; the labels of real ones come from their trees."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from rlanything_envs.osworld.accessibility import Element
from studies import seeing
from studies.acting import demonstrations, invented, renderer_of
from studies.plan import StudyError
from studies.screens import SCREEN, Named, Screen, collect, named, screens, solution
from studies.seeing import Eyes, pixels_of, table, teach

NAMES = ("Save", "Open", "Print", "Undo")


def drawn(seed: int) -> Screen:
    """Buttons in places that differ from screen to screen."""
    rng, font = np.random.default_rng(seed), ImageFont.load_default(18)
    picture = Image.new("RGB", SCREEN, "white")
    draw, elements = ImageDraw.Draw(picture), []
    for name, cell in zip(NAMES, rng.choice(60, len(NAMES), replace=False), strict=True):
        x, y = int(cell % 10 * 64 + 48), int(cell // 10 * 64 + 48)
        draw.rectangle((x - 30, y - 14, x + 30, y + 14), fill=(90, 90, 220))
        draw.text((x - 26, y - 11), name, fill="white", font=font)
        elements.append(Named(name, x, y, 60, 28))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return Screen(f"drawn-{seed}", file.getvalue(), tuple(elements), "Task: a\n\nb", "")


def element(role: str, name: str, x: int, y: int, size: tuple[int, int], *states: str) -> Element:
    return Element(role, name, "", "", x, y, *size, frozenset({"enabled", *states}))


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Screen], list[str]]:
    """A study's folder, its screens, and the lines of progress of two calls, of which the second one continues."""

    def interrupted(text: str) -> None:
        said.append(text)
        if text.startswith("dense 5/"):
            raise KeyboardInterrupt

    folder, seen, said = tmp_path_factory.mktemp("see"), [drawn(seed) for seed in range(3)], list[str]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seeing, "_SHIFT", 0)  # the screens are to be memorised, and soon
        patch.setattr(seeing, "_WARMUP", 5)
        patch.setattr(seeing, "_KEEP_S", -1)
        with pytest.raises(KeyboardInterrupt):
            teach(folder, seen, 20, note=interrupted)
        teach(folder, seen, 20, note=said.append)
    return folder, seen, said


def test_the_model_learns_and_reads_the_picture(taught: tuple[Path, list[Screen], list[str]]) -> None:
    """Memorised screens are read from their pixels: with blank pictures the same model hits less."""
    folder, seen, said = taught
    assert said[-1].startswith("dense 20/20")
    losses = torch.load(folder / "dense.pt", weights_only=True)["losses"]
    assert len(losses) == 20
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])
    eyes = teach(folder, seen, 20, note=said.append)  # nothing is left to do
    with pytest.raises(StudyError, match="is of seed 0 and 20 steps"):
        teach(folder, seen, 30, note=said.append)
    rates = table(eyes, seen, seen)
    assert rates["model"]["rate"] > 50
    assert rates["blank pictures"]["rate"] <= rates["model"]["rate"] / 2
    assert rates["best cell"]["rate"] == 100
    assert Eyes(folder / "model").points(pixels_of(seen[0]), ["Save"]) == [None]  # it has no vectors of names


def test_a_convolution_without_overlap_is_the_linear_map_that_takes_its_place(
    taught: tuple[Path, list[Screen], list[str]],
) -> None:
    eyes = Eyes(taught[0] / "model")
    shown = eyes.pictures(pixels_of(drawn(9))[None])["pixel_values"]
    embed = eyes.model.model.visual.patch_embed
    both = shown.view(-1, 3, 1, 32 * 32).expand(-1, 3, 2, -1).reshape(len(shown), -1)  # as an image processor has them
    assert torch.allclose(embed(shown), type(embed).forward(embed, both), atol=0.01)


def test_labels_are_the_named_elements_that_nothing_covers() -> None:
    elements = [
        element("window", "Desktop", 320, 192, SCREEN),
        element("icon", "under the window", 200, 200, (40, 40)),
        element("icon", "beside it", 600, 40, (40, 40)),
        element("frame", "editor", 200, 200, (300, 300), "active"),
        element("push-button", "Save", 100, 100, (30, 30)),
        element("push-button", "under the menu", 150, 100, (30, 30)),
        element("push-button", "", 180, 100, (30, 30)),
        element("push-button", "as large as the window", 200, 200, (300, 300)),
        element("push-button", "outside", 100, 500, (30, 30)),
        element("window", "", 150, 110, (40, 60)),
        element("menu-item", "Undo", 150, 120, (40, 20)),
    ]
    assert [one.name for one in named(elements, SCREEN)] == ["beside it", "Save", "Undo"]


def test_a_solution_points_at_what_the_goal_names() -> None:
    places = [Named("a.txt", 0, 0, 10, 10), Named("notes", 639, 383, 10, 10)]
    move = '{"action": "mouse_move", "coordinate": [0, 0]}'
    assert solution("sort_files", ["b", "a.txt", "notes"], places, 0) == (
        move + '{"action": "left_click_drag", "coordinate": [1000, 1000]}'
    )
    assert not solution("sort_files", ["b", "other.txt", "notes"], places, 0)
    assert '"a\\nb\\n"' in solution("rename_files", ["x", "y", "a\nb"], places, 1)


def test_lessons_are_prompts_of_the_loop(taught: tuple[Path, list[Screen], list[str]]) -> None:
    renderer, rng = renderer_of(taught[0] / "model"), np.random.default_rng(0)
    lesson = invented(drawn(1), "x and y run from 0 to 1000.", renderer, rng)
    assert lesson is not None
    shown = renderer.template.tokenizer.decode(lesson[0].ids)
    assert shown.count("<|image_pad|>") == 240
    assert any(name in shown for name in NAMES)
    one = drawn(2)
    episode = [
        Screen("t", one.png, one.elements, 'Task: rename "a".', '{"action": "wait"}'),
        Screen("t", one.png, one.elements, "It ran.", '{"action": "terminate"}'),
    ]
    (first, _), (second, answer) = demonstrations(episode, renderer)
    assert 'rename "a"' in renderer.template.tokenizer.decode(first.ids)
    assert "Your earlier turns in short:" in renderer.template.tokenizer.decode(second.ids)
    assert "terminate" in renderer.template.decode(answer)
    assert len(second.images) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("bwrap_desktop")
def test_screens_of_real_desktops_have_their_labels(tmp_path: Path) -> None:
    """Four tasks: their screens, what is on them, and what solves them; a second call plays nothing again."""
    said: list[str] = []
    collect(tmp_path, 4, note=said.append)
    assert len(said) == 4
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == [
        "held-out-0003",
        *(f"train-{number:04}" for number in range(3)),
    ]
    train, unseen = screens(tmp_path, "train"), screens(tmp_path, "held-out")
    assert len(train) > 12
    assert all({"Applications", "File"} & {one.name for one in screen.elements} for screen in train)
    first = [screen for screen in train if screen.text.startswith("Task:")]
    assert len(first) == 3
    assert ["left_click_drag" in screen.answer for screen in first] == [False, True, True]  # one file is out of sight
    assert not {screen.text for screen in first} & {screen.text for screen in unseen}
    collect(tmp_path, 4, note=said.append)
    assert len(said) == 4
