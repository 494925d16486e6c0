"""Chat messages with screenshots: what a vision-language model reads to act, and to judge a step.

Content parts are those of ``transformers`` processors: ``{"type": "image", "image": array}`` and
``{"type": "text", "text": str}``. What a task, a model or a desktop wrote is quoted so that nothing in it can pass for
a chat turn or an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_envs.curriculum.prompting import plain, plain_lines, render
from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["Message", "Shot", "VisualEpisode", "judge_messages", "policy_messages"]

Message = dict[str, Any]
"""A role, and content: a text, or a list of parts."""

_PROMPTS = Path(__file__).parent / "prompts"
MAX_TASK = 10_000
MAX_SAID = 2_000
"""Characters of a response and of a message that are quoted."""
MAX_EARLIER = 300
"""Characters of an earlier response that a judge reads."""
HISTORY = 8
"""Earlier steps that a judge reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One turn on a desktop.

    Attributes:
        screenshot: The screen before the action: uint8 of shape (height, width, 3).
        response: What the agent wrote: thought and action.
        message: What the desktop answered; mostly nothing.
    """

    screenshot: Pixels
    response: str
    message: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class VisualEpisode:
    """An episode as it was seen.

    Attributes:
        instruction: What was to be done.
        shots: The turns.
        end: The screen after the last action.
        outcome: 1, -1, or None when the infrastructure failed.
        score: The evaluator's, 0 to 1.
    """

    instruction: str
    shots: tuple[Shot, ...]
    end: Pixels
    outcome: int | None = None
    score: float = 0.0

    def after(self, step: int) -> Pixels:
        """The screen after a step, counted from 0."""
        return self.shots[step + 1].screenshot if step + 1 < len(self.shots) else self.end


def policy_messages(instruction: str, shots: Sequence[Shot], screenshot: Pixels, *, scale: float = 0) -> list[Message]:
    """The chat up to the agent's next turn; that of a later turn begins with that of an earlier one.

    Args:
        instruction: What is to be done.
        shots: The turns so far.
        screenshot: The screen now: uint8 of shape (height, width, 3).
        scale: What stands for the whole width or height in coordinates; 0 for pixels.
    """
    height, width = screenshot.shape[:2]
    x, y = (f"{scale / 4:g}", f"{scale / 2:g}") if scale else (width // 4, height // 2)
    system = render(_PROMPTS / "policy.j2", width=width, height=height, scale=f"{scale:g}" if scale else "", x=x, y=y)
    messages: list[Message] = [{"role": "system", "content": system}]
    told = f"Task: {plain_lines(instruction, MAX_TASK)}"
    for shot in shots:
        messages += [_seen(shot.screenshot, told), {"role": "assistant", "content": shot.response}]
        told = plain_lines(shot.message, MAX_SAID) or "The screen now."
    return [*messages, _seen(screenshot, told)]


def judge_messages(episode: VisualEpisode, step: int) -> list[Message]:
    """What a reward model reads to judge a step: task, what went before, the step, and the screen before and after.

    Args:
        episode: The step is one of its.
        step: Counted from 0; nothing of later steps but the screen after this one is shown.
    """
    shot, first = episode.shots[step], max(0, step - HISTORY)
    text = render(
        _PROMPTS / "judge.j2",
        task=plain_lines(episode.instruction, MAX_TASK),
        first=first + 1,
        earlier=[plain(shot.response, MAX_EARLIER) for shot in episode.shots[first:step]],
        number=step + 1,
        step=plain_lines(shot.response, MAX_SAID),
        message=plain(shot.message, MAX_SAID),
    )
    parts = [_image(shot.screenshot), _image(episode.after(step)), {"type": "text", "text": text}]
    return [{"role": "user", "content": parts}]


def _image(pixels: Pixels) -> dict[str, Any]:
    return {"type": "image", "image": pixels}


def _seen(pixels: Pixels, text: str) -> Message:
    return {"role": "user", "content": [_image(pixels), {"type": "text", "text": text}]}
