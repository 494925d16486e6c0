"""Readers of the actions that trained models for desktops write: ``action_space="computer_use"`` and others.

A reader is a pure function from an answer to an `Action`: code of checked numbers and quoted texts, and a word. What it
cannot read as a whole is refused, and the message says what is wrong; nothing that a model wrote is run as code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlanything_envs.osworld.actions import Action, readable
from rlanything_envs.osworld.coordinates import Scale
from rlanything_envs.osworld.readers import anthropic, computer_use, openai, ui_tars
from rlanything_envs.osworld.readers.calls import Step, run, word_of

__all__ = ["READERS", "Reader"]


@dataclass(frozen=True, slots=True)
class Reader:
    """One action space.

    Attributes:
        steps: The steps of an answer's calls, none where there is no call; raises `Unreadable`.
        example: An answer, for messages.
        scale: Coordinate of the far edge of the screen, as its models write it; 0 for pixels.
        manual: How to write an action.
    """

    steps: Callable[[str], list[Step]]
    example: str
    scale: float
    manual: str

    def read(self, text: str, screen: tuple[int, int], scale: Scale) -> Action:
        """The action of an answer: its calls in their order, or the word in its last line.

        Args:
            text: The answer.
            screen: Width and height in pixels.
            scale: Coordinate of the far edge of the screen; 0 for pixels.

        Raises:
            Unreadable: There is neither, or a call cannot be read.
        """
        said = readable(text)
        steps = self.steps(said)
        return run(steps, screen, scale) if steps else word_of(said, self.example)


READERS: Mapping[str, Reader] = {
    "computer_use": Reader(computer_use.steps, computer_use.EXAMPLE, 1000.0, computer_use.MANUAL),
    "ui_tars": Reader(ui_tars.steps, ui_tars.EXAMPLE, 1000.0, ui_tars.MANUAL),
    "openai": Reader(openai.steps, openai.EXAMPLE, 0.0, openai.MANUAL),
    "anthropic": Reader(anthropic.steps, anthropic.EXAMPLE, 0.0, anthropic.MANUAL),
}
"""Action spaces by name."""
