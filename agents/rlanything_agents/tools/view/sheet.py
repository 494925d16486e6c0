"""Contact sheet of an episode: its screens and actions on one picture."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rlanything_agents.tools.view.episodes import CHUNK
from rlanything_agents.tools.view.run import NoResource, RunView

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["NoScreens", "draw_sheet"]

_MOST = 60
"""Turns on a sheet."""

_PIXELS = 4_000_000
"""Of a stored screen; those that runs keep are 960 wide."""


class NoScreens(ValueError):
    """There is no such episode, or none of its screens was kept."""


def draw_sheet(run: RunView, iteration: int, number: int, columns: int = 3) -> Image:
    """Draw the screens of an episode, row by row, each with the action before it.

    Args:
        run: A run, or a benchmark, which has the one iteration 0.
        iteration: Number of the iteration.
        number: Number of the episode in it, from 0.
        columns: Screens in a row.

    Raises:
        NoScreens: There is no such episode, or it has no screens.
        ReadError: The file of the iteration cannot be read.
    """
    from rlanything_envs.osworld.recording import contact_sheet

    try:
        chunk = json.loads(run.get(f"episodes/{iteration}/{number // CHUNK}"))
    except NoResource:
        raise NoScreens(f"{run.folder.root} has no iteration {iteration}") from None
    found = [episode for episode in chunk["episodes"] if episode["n"] == number]
    if not found:
        raise NoScreens(f"iteration {iteration} of {run.folder.root} has no episode {number}")
    shown = [(k, turn) for k, turn in enumerate(found[0]["turns"]) if turn["screen"]][:_MOST]
    if not shown:
        raise NoScreens(f"no screens of episode {number}: benchmarks of desktops keep them, and rollout.screenshots")
    frames = [_pixels(run, f"screens/{iteration:04d}/{turn['screen']}") for _, turn in shown]
    captions = [f"{k + 1}: {' '.join(turn['action'].split())}" for k, turn in shown]
    if any(frame.shape != frames[0].shape for frame in frames):
        raise NoScreens(f"the screens of episode {number} differ in size")
    return contact_sheet(frames, captions, columns=columns)


def _pixels(run: RunView, name: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(run.image(name)[1]), formats=("WEBP", "PNG"))
        if picture.width * picture.height > _PIXELS:
            raise NoScreens(f"{name}: {picture.width} by {picture.height} pixels")
        return np.asarray(picture.convert("RGB"), np.uint8)
    except NoScreens:
        raise
    except (NoResource, OSError, ValueError, SyntaxError) as error:
        raise NoScreens(f"{name} is no picture: {error}") from None
