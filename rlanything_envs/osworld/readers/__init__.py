"""Readers of the actions that trained models for desktops write: ``action_space="computer_use"`` and others.

A reader is a pure function from an answer to an `Action`: code of checked numbers and quoted texts, and a word. What it
cannot read as a whole is refused, and the message says what is wrong; nothing that a model wrote is run as code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlanything_envs.osworld.actions import Action
from rlanything_envs.osworld.coordinates import Scale
from rlanything_envs.osworld.readers import anthropic, computer_use, openai, ui_tars

__all__ = ["READERS", "Reader"]


@dataclass(frozen=True, slots=True)
class Reader:
    """One action space.

    Attributes:
        read: The action of an answer, from the answer, the screen in pixels, and the scale of coordinates; raises
            `Unreadable`.
        scale: Coordinate of the far edge of the screen, as its models write it; 0 for pixels.
        manual: How to write an action.
    """

    read: Callable[[str, tuple[int, int], Scale], Action]
    scale: float
    manual: str


READERS: Mapping[str, Reader] = {
    "computer_use": Reader(computer_use.read, 1000.0, computer_use.MANUAL),
    "ui_tars": Reader(ui_tars.read, 1000.0, ui_tars.MANUAL),
    "openai": Reader(openai.read, 0.0, openai.MANUAL),
    "anthropic": Reader(anthropic.read, 0.0, anthropic.MANUAL),
}
"""Action spaces by name."""
