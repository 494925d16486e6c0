"""Pictures of the screens of episodes, and where they lie."""

import io
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from PIL import Image
from scripted_desktop import SCRIPTED

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.config.run import RolloutConfig
from rlanything_agents.rollout.screens import WIDTH, Screens
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.records import ScreenHook, store_screens


def desktop() -> gym.Env[Any, Any]:
    return gym.make("RLAnything/OSWorld-v0", **SCRIPTED, observation="text", render_mode="rgb_array")


def test_pictures_are_the_screens_on_which_actions_were_decided_and_the_last() -> None:
    env = Screens(desktop())
    env.reset(seed=0)
    wanted = [env.render()]
    for key in ("a", "b"):
        env.step(f"pyautogui.press('{key}')")
        wanted.append(env.render())
    env.episode = 5
    env.reset(seed=1)
    taken = env.take()
    assert list(taken) == [0, 5]
    first, second = taken.values()
    assert (list(first), list(second)) == ([0, 1, 2], [0])
    for content, frame in zip(first.values(), wanted, strict=True):
        picture = Image.open(io.BytesIO(content))
        assert (picture.format, picture.width) == ("WEBP", WIDTH)
        small = np.asarray(Image.fromarray(np.asarray(frame)).resize(picture.size), np.float64)
        assert np.abs(np.asarray(picture.convert("RGB"), np.float64) - small).mean() < 4
    assert env.take() == {}


def test_an_environment_without_a_screen_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rollout\.screenshots"):
        ScreenHook([gym.make("RLAnything/AlfWorld-v0")], 1, RunFolder(tmp_path))


def test_files_are_named_after_the_episodes_of_the_rollout(tmp_path: Path) -> None:
    watched, other = Screens(desktop()), desktop()
    for seed, episode in enumerate((0, 2)):
        watched.episode = episode
        watched.reset(seed=seed)
        for _ in range(seed + 1):
            watched.step("WAIT")
    folder = tmp_path / "screens" / "0001"
    folder.mkdir(parents=True)
    (folder / "9999-000.webp").write_bytes(b"of a run that was killed")
    store_screens([watched, other], folder)
    files = {"0000-000", "0000-001", "0002-000", "0002-001", "0002-002"}
    assert {path.stem for path in folder.iterdir()} == files
    store_screens([watched, other], folder)
    assert not folder.exists()
    watched.close()
    other.close()


def test_a_full_disk_is_no_reason_to_lose_a_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    env = Screens(desktop())
    env.reset(seed=0)
    env.step("WAIT")
    (tmp_path / "screens").write_text("in the way")
    store_screens([env], tmp_path / "screens" / "0001")
    assert "not complete" in caplog.text
    env.close()


def test_who_looks_is_no_part_of_a_run(tmp_path: Path) -> None:
    """A run goes on with more screens or with none: the option is not stored."""
    plain, watched = (RunConfig(name="a", rollout=RolloutConfig(screenshots=number)) for number in (0, 4))
    assert watched.rollout.screenshots == 4
    folder = RunFolder(tmp_path / "run")
    assert not folder.prepare(plain.model_dump(mode="json"))
    assert folder.prepare(watched.model_dump(mode="json"))


def test_a_rewound_run_forgets_the_screens_of_later_iterations(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    for iteration in (1, 2, 3):
        (folder.screens / f"{iteration:04d}").mkdir(parents=True)
    folder.rewind(1)
    assert [path.name for path in folder.screens.iterdir()] == ["0001"]
