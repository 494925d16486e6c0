"""The desktop environment in few words, for models that have few: short observations, and commands by number."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from rlanything_agents.domains.osworld.gestures import NoGesture, code_of
from rlanything_agents.domains.osworld.screen import Line, Screen
from rlanything_agents.domains.osworld.slots import Slots
from rlanything_envs.osworld.accessibility import read_elements
from rlanything_envs.spaces import Unicode

__all__ = ["BREAK", "CompactDesktop"]

BREAK = ";"
"""Stands between lines of a screen."""
MOST = 64
"""Most words of one observation; a full window has some fifty."""


class CompactDesktop(gym.Wrapper[Any, Any, Any, Any]):
    """A desktop as a small model plays it.

    The first observation has three lines: the task as it is, the task in words, and what is on the screen. A later one
    has one line: what is on the screen that was not there before, ``same`` if nothing is, and ``refused`` before it if
    the action failed. Actions are commands (see `gestures`); anything else is handed on to
    the environment, which says what is wrong with it.

    ``info`` tells how many ``slots``, things to ``click`` on, lines (``line``) and rows (``cell``) there are.

    Args:
        env: Its observations have ``accessibility_tree``, ``instruction`` and ``message``.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = Unicode(32_768)
        self.action_space = Unicode(256)
        self._slots = Slots("")
        self._screen: Screen | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        seen, info = self.env.reset(seed=seed, options=options)
        instruction = " ".join(str(seen["instruction"]).split())
        self._slots, self._screen = Slots(instruction), None
        news = self._look(seen)
        lines = [f"Task: {instruction}", " ".join(self._slots.words), _told(news)]
        return "\n".join(lines), {**info, **self._choices()}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out a command."""
        try:
            code = code_of(action, self._screen or Screen("", ()), self._slots)
        except NoGesture:
            code = action
        seen, reward, terminated, truncated, info = self.env.step(code)
        news = self._look(seen)
        failed = [("refused",)] if seen["message"] and info.get("action") in (None, "CODE") else []
        return _told([*failed, *news]), float(reward), terminated, truncated, {**info, **self._choices()}

    def _look(self, seen: dict[str, Any]) -> tuple[Line, ...]:
        before = self._screen
        self._screen = Screen.of(read_elements(str(seen["accessibility_tree"])), self._slots)
        return self._screen.news(before)

    def _choices(self) -> dict[str, int]:
        screen = self._screen or Screen("", ())
        return {
            "slots": len(self._slots.texts),
            "click": len(screen.targets),
            "line": screen.rows if screen.app == "editor" else 0,
            "cell": screen.rows if screen.app == "sheet" else 0,
        }


def _told(lines: tuple[Line, ...] | list[Line]) -> str:
    words = [word for number, line in enumerate(lines) for word in ((BREAK,) if number else ()) + line]
    return " ".join(words[:MOST]) or "same"
