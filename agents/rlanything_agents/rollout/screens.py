"""Small pictures of the screens of episodes, for the viewer of runs and benchmarks."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from PIL import Image

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.osworld.clicks import Click, ClickFinder, mark_clicks

__all__ = ["Screens"]

WIDTH = 960
"""Greatest width of a picture in pixels; letters on a desktop are still legible."""
QUALITY = 60
"""Quality of WebP; a picture of a desktop has some 20 KB."""


class Screens(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that keeps small pictures of the screens of the episodes since the last `take`.

    An episode has a picture for each turn, the screen on which the action was decided with marks where it clicked,
    and one of its end. The picture is that of the observation, where there is one, else what ``render`` draws, else the
    desktop's; environments without all three have none.

    Attributes:
        episode: Number of the episode that the next ``reset`` begins.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.episode = 0
        self._episodes: dict[int, list[bytes]] = {}
        self._pictures: list[bytes] | None = None
        self._clicks = ClickFinder(env)
        self._shown: np.ndarray[Any, Any] | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._keep()
        self._pictures = self._episodes[self.episode] = []
        observation, info = self.env.reset(seed=seed, options=options)
        self._clicks.reset()
        self._shown = self._look(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Execute an action, and keep the screen before it with marks where it clicked."""
        result = self.env.step(action)
        self._keep(self._clicks.find())
        self._shown = self._look(result[0])
        return result

    def take(self) -> dict[int, dict[int, bytes]]:
        """Return and drop the pictures since the last call: WebP files by the numbers of the episode and the turn."""
        self._keep()
        episodes, self._episodes, self._pictures = self._episodes, {}, None
        return {
            episode: {turn: picture for turn, picture in enumerate(pictures) if picture}
            for episode, pictures in episodes.items()
        }

    def _keep(self, clicks: Sequence[Click] = ()) -> None:
        """Add the screen that is shown to the episode under way, if there is one."""
        if self._pictures is not None:
            self._pictures.append(b"" if self._shown is None else _packed(mark_clicks(self._shown, clicks)))
        self._shown = None

    def _look(self, observation: Any) -> np.ndarray[Any, Any] | None:
        if isinstance(observation, Mapping) and "screenshot" in observation:
            return np.asarray(observation["screenshot"], np.uint8)
        if self.env.render_mode == "rgb_array":
            return np.asarray(self.env.render(), np.uint8)
        with contextlib.suppress(InfrastructureError):  # of a desktop that the action has broken there is no picture
            if (client := getattr(self.env.unwrapped, "client", None)) is not None:
                return np.asarray(client.screenshot_array(), np.uint8)
        return None


def _packed(frame: np.ndarray[Any, Any]) -> bytes:
    """A small picture of a screen, as WebP."""
    picture = Image.fromarray(frame)
    picture.thumbnail((WIDTH, picture.height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=QUALITY, method=2)
    return buffer.getvalue()
