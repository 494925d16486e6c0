"""Small pictures of the screen after each turn, for the viewer of a run."""

from __future__ import annotations

import io
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from PIL import Image

from rlanything_agents.config import ConfigError
from rlanything_envs.osworld.clicks import ClickFinder, mark_clicks

__all__ = ["Screens", "packed"]

WIDTH = 960
"""Greatest width of a picture in pixels; letters on a desktop are still legible."""
QUALITY = 60
"""Quality of WebP; a picture of a desktop has some 20 KB."""


class Screens(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that keeps a small picture of the screen after each turn, of the episodes since the last `take`.

    Args:
        env: An environment with ``render_mode="rgb_array"``.

    Raises:
        ConfigError: The environment has another render mode.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        if env.render_mode != "rgb_array":
            raise ConfigError(f"rollout.screenshots: {env.unwrapped} draws no pictures; leave the option out")
        super().__init__(env)
        self._episodes: list[list[bytes]] = []
        self._clicks = ClickFinder(env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        self._episodes.append([])
        first = self.env.reset(seed=seed, options=options)
        self._clicks.reset()
        return first

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Execute an action, and keep a picture of the screen after it, with marks where it clicked."""
        result = self.env.step(action)
        frame = self.env.render()
        if isinstance(frame, np.ndarray):
            self._episodes[-1].append(packed(mark_clicks(frame, self._clicks.find(action))))
        return result

    def take(self) -> list[list[bytes]]:
        """Return and drop the pictures since the last call: for each episode one WebP per turn."""
        episodes, self._episodes = self._episodes, []
        return episodes


def packed(frame: np.ndarray[Any, Any]) -> bytes:
    """A small picture of a screen, as WebP."""
    picture = Image.fromarray(frame.astype(np.uint8, copy=False))
    if picture.width > WIDTH:
        picture = picture.resize(
            (WIDTH, max(1, round(picture.height * WIDTH / picture.width))), Image.Resampling.LANCZOS
        )
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=QUALITY, method=2)
    return buffer.getvalue()
