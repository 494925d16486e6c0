"""Observations of a desktop, and their space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_envs.osworld import messages
from rlanything_envs.osworld.accessibility import Line, linearise
from rlanything_envs.osworld.coordinates import Scale, along, relative
from rlanything_envs.osworld.desktop.observation import Observation, Pixels
from rlanything_envs.osworld.marks import draw_marks, list_marks, marked
from rlanything_envs.spaces import Unicode

__all__ = ["OBSERVATIONS", "View"]

OBSERVATIONS: Mapping[str, int] = {
    "screenshot": 0,
    "accessibility_tree": 16_000_000,
    "accessibility_text": messages.MAX_TEXT_LENGTH,
    "instruction": 16_384,
    "terminal": 200_000,
    "message": messages.MAX_MESSAGE_LENGTH,
    "marks": messages.MAX_TEXT_LENGTH,
    "text": messages.MAX_TEXT_LENGTH,
}
"""Names of the observations, with the greatest length of those that are texts."""


class View:
    """A choice of observations.

    Args:
        names: some of `OBSERVATIONS`, or the word ``"text"`` for that text alone.
        screen: width and height in pixels.
        actions: name of the action space.
        scale: coordinates of the far edges of the screen; 0 for pixels.
        instructions: whether the first text explains how to write an action.

    Raises:
        ValueError: a name is unknown or repeated, or there is none.
    """

    def __init__(
        self, names: Sequence[str] | str, screen: tuple[int, int], actions: str, scale: Scale, instructions: bool = True
    ) -> None:
        self._alone = names == "text"
        if isinstance(names, str) and not self._alone:
            raise ValueError(f"OSWorldEnv: observation is 'text' or a list of names, got {names!r}")
        self.names = ("text",) if isinstance(names, str) else tuple(names)
        if unknown := [name for name in self.names if name not in OBSERVATIONS]:
            known = ", ".join(OBSERVATIONS)
            raise ValueError(f"OSWorldEnv: observation {unknown[0]!r} is unknown; choose from {known}")
        if not self.names or len(set(self.names)) != len(self.names):
            raise ValueError(f"OSWorldEnv: observation must name something, and nothing twice, got {names!r}")
        self._screen, self._scale = screen, scale
        chosen = set(self.names)
        self.marked = "marks" in chosen
        if self.marked and (actions != "pyautogui" or scale):
            raise ValueError("OSWorldEnv: marks need action_space='pyautogui' with coordinates in pixels")
        self._manual = messages.how_to_act(actions, screen, scale, instructions, self.marked)
        self.picture = "screenshot" in chosen
        self.terminal = "terminal" in chosen
        self._lines = bool(chosen & {"accessibility_text", "text"})
        self.tree = self._lines or self.marked or "accessibility_tree" in chosen

    @property
    def space(self) -> gym.Space[Any]:
        """The space of the observations."""
        if self._alone:
            return Unicode(OBSERVATIONS["text"])
        width, height = self._screen
        picture = gym.spaces.Box(0, 255, (height, width, 3), np.uint8)
        return gym.spaces.Dict(
            {name: picture if name == "screenshot" else Unicode(OBSERVATIONS[name]) for name in self.names}
        )

    def marks(self, seen: Observation | None) -> list[Line]:
        """The elements with a mark, with their lines, in the order of their numbers; none without this observation."""
        return marked((seen and seen.accessibility_tree) or "", self._screen) if self.marked else []

    def told(
        self, seen: Observation | None, instruction: str, message: str, turn: int, left: int, marks: Sequence[Line] = ()
    ) -> Any:
        """The observation for the agent.

        Args:
            seen: the desktop; None where it is broken.
            instruction: the task in words.
            message: result of the last action.
            turn: number of turns used.
            left: number of turns left.
            marks: the elements with a mark, and their lines.
        """
        tree = (seen and seen.accessibility_tree) or ""
        texts = {
            "accessibility_tree": tree[: OBSERVATIONS["accessibility_tree"]],
            "accessibility_text": linearise(tree, self._place if self._scale else None) if self._lines else "",
            "instruction": instruction,
            "terminal": ((seen and seen.terminal) or "")[-OBSERVATIONS["terminal"] :],
            "message": message if turn else self._manual,
            "marks": list_marks(marks)[: OBSERVATIONS["marks"]],
        }
        if "text" in self.names:
            texts["text"] = self._text(texts["accessibility_text"], instruction, message, turn, left)
        if self._alone:
            return texts["text"]
        return {name: self._pixels(seen, marks) if name == "screenshot" else texts[name] for name in self.names}

    def _place(self, x: int, y: int) -> tuple[float, float]:
        """Coordinates of a pixel as the agent writes them."""
        return relative(x, self._screen[0], along(self._scale, 0)), relative(y, self._screen[1], along(self._scale, 1))

    def _text(self, lines: str, instruction: str, message: str, turn: int, left: int) -> str:
        if turn:
            return messages.later(message, lines, left)
        return messages.opening(instruction, self._manual, lines, left)

    def _pixels(self, seen: Observation | None, marks: Sequence[Line]) -> Pixels:
        pixels = self.black() if seen is None or seen.screenshot is None else seen.screenshot
        return draw_marks(pixels, marks) if marks else pixels

    def black(self) -> Pixels:
        """A black screen, for a desktop that is not running."""
        return np.zeros((self._screen[1], self._screen[0], 3), np.uint8)
