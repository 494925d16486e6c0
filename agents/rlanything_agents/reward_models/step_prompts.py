"""Prompts and answers of a step judge: the short texts of a domain's short view, or a chat about the full messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.curriculum.prompting import plain, plain_lines, render
from rlanything_envs.llm.choices import Form, OneOf, Prose, Then
from rlanything_envs.llm.generator import SeenPrompt
from rlanything_envs.message import Image, Part, images_of
from rlanything_envs.thoughts import split_thought

__all__ = ["FullStepPrompts", "Judgement", "ShortStepPrompts", "StepPrompts", "boxes_of", "quoted"]

PROMPT = Path(__file__).parent / "prompts" / "step.j2"
MAX_OPENING = 20_000
MAX_WRITTEN = 2_000
"""Maximum characters of the thought, of the action and of the message of the judged step in a prompt."""
MAX_EARLIER = 300
"""Maximum characters of an earlier action, and of an earlier message, in a prompt."""
JUDGEMENT = Then((Prose(MAX_WRITTEN), OneOf((r" \boxed{1}", r" \boxed{-1}"))))
"""Form of a judgement: a reason on one line, and its score."""
BEFORE, AFTER = "The screen before the step:\n", "\nThe screen after the step:\n"
"""Headings of the screens in a prompt; the text about the step follows them."""
HISTORY = 24
"""Maximum earlier steps in a prompt; fewer where they do not fit into the context."""
_BOX = re.compile(r"\\boxed\s{0,4}\{([^{}]{0,16})(\}?)")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A reason in words, and a score of 1 or -1."""

    reason: str
    score: int


PLAIN = {
    "progress": "The step brings the task nearer to its end",
    "discovery": "The step finds out something that the task needs",
    "useless": "The step does not help with the task",
    "repeated": "The step repeats an earlier one",
    "refused": "The environment refused the step, so it changes nothing",
}
"""Reasons of the short view as sentences, for answers in the full view; any other reason is a sentence already."""


class StepPrompts(Protocol):
    """Prompts of a step judge, and the form of its answers."""

    form: Form | None
    """Form of the answers; None where any text is allowed. Free text in it is cut to the most tokens of an answer."""

    def prompts(self, trajectory: Trajectory) -> Sequence[list[int] | SeenPrompt]:
        """One prompt per step; a step's prompt does not depend on later steps."""
        ...

    def judgement(self, judgement: Judgement) -> str:
        """Write a judgement as an answer, for demonstrations."""
        ...


class FullStepPrompts:
    """Prompts for any domain, with the environment's full messages; see ``prompts/step.j2``. A model that sees gets the
    screen before the step and the one after it, where there are screens.

    Args:
        template: Chat template of the model.
        config: Checkpoint settings, of which ``max_tokens``, ``context`` and ``thinking`` are used.
        constrained: Whether the answers have a form; those of a model that thinks have none.
    """

    def __init__(self, template: ChatTemplate, config: CheckpointConfig, constrained: bool = True) -> None:
        self._template, self._config = template, config
        self.form: Form | None = JUDGEMENT if constrained and config.thinking is None else None

    def prompts(self, trajectory: Trajectory) -> list[list[int] | SeenPrompt]:
        """A chat for each step, with as many of the earlier steps as fit into the context.

        Raises:
            ValueError: A step does not fit even without earlier steps.
        """
        opening, steps = trajectory.full_opening, trajectory.steps
        before = [trajectory.screen, *(step.screen for step in steps)]
        return [self._prompt(opening, steps[: number + 1], before[number]) for number in range(len(steps))]

    def judgement(self, judgement: Judgement) -> str:
        """A reason, and the score in its box."""
        return f"{PLAIN.get(judgement.reason, judgement.reason)}. \\boxed{{{judgement.score}}}"

    def _prompt(self, opening: str, steps: Sequence[Step], before: Image | None) -> list[int] | SeenPrompt:
        limit, context = self._config.max_tokens, self._config.context
        history = min(HISTORY, len(steps) - 1)
        screens = self._screens(before, steps[-1].screen)
        while True:
            content = (
                (*screens, _described(opening, steps, history)) if screens else _described(opening, steps, history)
            )
            prompt = self._template.prompt([{"role": "user", "content": content}])
            if len(prompt) + limit <= context:
                return SeenPrompt.of(prompt, images_of(screens))
            if not history:
                raise ValueError(
                    f"reward_model: a prompt of {len(prompt)} tokens and a judgement of {limit} do not fit into a "
                    f"context of {context}: raise reward_model.context, or lower its max_tokens"
                )
            history //= 2

    def _screens(self, before: Image | None, after: Image | None) -> tuple[Part, ...]:
        """Screens around a step, each under its heading; none for a model that reads text alone."""
        if self._template.images is None:
            return ()
        pairs = ((BEFORE, before), (AFTER, after))
        return tuple(part for heading, screen in pairs if screen is not None for part in (heading, screen))


class ShortStepPrompts:
    """Prompts of a domain's short view.

    Args:
        template: Chat template of the model.
        texts: Function from an episode to one short text per step.
        form: Form of the answers; None where any text is allowed.
    """

    def __init__(self, template: ChatTemplate, texts: Callable[[Trajectory], Sequence[str]], form: Form | None) -> None:
        self._template, self._texts = template, texts
        self.form = form

    def prompts(self, trajectory: Trajectory) -> list[list[int]]:
        """A chat for each step."""
        return self._template.prompts([[{"role": "user", "content": text}] for text in self._texts(trajectory)])

    def judgement(self, judgement: Judgement) -> str:
        r"""For example ``progress \boxed{1}``."""
        return f"{judgement.reason} \\boxed{{{judgement.score}}}"


def _described(opening: str, steps: Sequence[Step], history: int) -> str:
    """Render the last of these steps, and ``history`` earlier ones, with all untrusted text quoted."""
    *before, step = steps
    first = len(before) - history
    earlier = [{"action": plain(s.action, MAX_EARLIER), "observation": plain(s.full, MAX_EARLIER)} for s in before]
    return render(
        PROMPT,
        opening=quoted(opening, MAX_OPENING),
        left_out=first,
        first=first + 1,
        earlier=earlier[first:],
        number=len(steps),
        thought=quoted(step.thought, MAX_WRITTEN),
        action=quoted(step.action, MAX_WRITTEN),
        observation=quoted(step.full, MAX_WRITTEN),
    )


def quoted(text: str, limit: int) -> str:
    """Lines of text that cannot pass for lines of the template: all but the first have a mark before them."""
    return plain_lines(text, limit).replace("\n", "\n| ")


def boxes_of(answer: str) -> set[str]:
    """Different contents of the boxes of an answer after its thought; empty text for one that is cut off."""
    return {inside.strip() if closed else "" for inside, closed in _BOX.findall(split_thought(answer)[1])}
