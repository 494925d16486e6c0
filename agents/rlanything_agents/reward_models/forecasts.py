r"""Prompts and answers of a reward model that forecasts: one transcript of an episode, after each turn a chance.

The prompt after a turn is that after the turn before, with one turn more: engines read what prompts have in common
once. An answer is a short reason and one of ten bins, ``\boxed{7}`` for 70 to 80 percent; in short views it is the
digit alone. The chance is read from the probabilities of all ten digits where the engine reports them, else it is that
of the digit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rlanything_agents.config import CheckpointConfig
from rlanything_agents.engines.choices import literal_encoder
from rlanything_agents.feedback.forecast import BINS, mean_chance
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.reward_models.step_prompts import MAX_OPENING, MAX_WRITTEN, PLAIN, Judgement, boxes_of, quoted
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_envs.curriculum.prompting import plain, render
from rlanything_envs.llm.choices import Form, OneOf, Prose, Then
from rlanything_envs.llm.generator import Completion
from rlanything_envs.thoughts import split_thought

__all__ = ["ForecastPrompts", "read_bin"]

PROMPT = Path(__file__).parent / "prompts" / "forecast.j2"
DIGITS = tuple(str(number) for number in range(len(BINS)))
FULL, SHORT = Then((Prose(300), " \\boxed{", OneOf(DIGITS), "}")), OneOf(DIGITS)
"""Forms of an answer: a reason on one line and the digit in its box, or in short views the digit alone."""


def read_bin(text: str) -> int | None:
    r"""Bin of an answer: the digit in its box, or the whole answer; None without one, or where boxes differ."""
    boxes = boxes_of(text) or {split_thought(text)[1].strip()}
    digit = boxes.pop()
    return int(digit) if not boxes and digit in DIGITS else None


class ForecastPrompts:
    """Prompts and answers of a reward model that forecasts; see `step_prompts.StepPrompts`.

    Args:
        template: Chat template of the model.
        config: Checkpoint settings, of which ``max_tokens``, ``context`` and ``thinking`` are used.
        limit: Maximum turns of an episode.
        texts: Function from an episode to one short text per step, in a short view; None in the full view.
        constrained: Whether the answers have a form; those of a model that thinks have none.
    """

    def __init__(
        self,
        template: ChatTemplate,
        config: CheckpointConfig,
        limit: int,
        texts: Callable[[Trajectory], Sequence[str]] | None = None,
        constrained: bool = True,
    ) -> None:
        self._template, self._config, self._limit, self._texts = template, config, limit, texts
        form = FULL if texts is None else SHORT
        self.form: Form | None = form if constrained and config.thinking is None else None
        encode = literal_encoder(template.tokenizer)
        self._bins = {encode(digit)[-1]: place for place, digit in enumerate(DIGITS)}

    def prompts(self, trajectory: Trajectory) -> list[list[int]]:
        """A chat after each step. In a short view its text follows the number of steps that remain, at most 9.

        Raises:
            ValueError: A step does not fit even without earlier steps.
        """
        steps = trajectory.steps
        if self._texts is None:
            return [self._prompt(trajectory.full_opening, steps[: number + 1]) for number in range(len(steps))]
        left = [str(max(0, min(9, self._limit - number - 1))) for number in range(len(steps))]
        texts = [f"{rest} {text}" for rest, text in zip(left, self._texts(trajectory), strict=True)]
        return self._template.prompts([[{"role": "user", "content": text}] for text in texts])

    def judgement(self, judgement: Judgement) -> str:
        """A reason and the highest or the lowest chance, for demonstrations of how an episode ended."""
        digit = DIGITS[-1] if judgement.score > 0 else DIGITS[0]
        return (
            digit if self._texts is not None else f"{PLAIN.get(judgement.reason, judgement.reason)}. \\boxed{{{digit}}}"
        )

    def read(self, completion: Completion) -> tuple[float | None, float | None]:
        """Chance c by the probabilities of all bins, as the score 2c - 1, and the chance of the bin in the text.

        Both None where the text has no bin.
        """
        if (place := read_bin(completion.text)) is None:
            return None, None
        sampled = float(BINS[place])
        for at, odds in (completion.odds or {}).items():
            ids = (completion.allowed or [])[at] or ()
            if set(ids) == set(self._bins):
                probabilities = np.zeros(len(BINS))
                probabilities[[self._bins[token] for token in ids]] = odds
                return 2 * mean_chance(probabilities) - 1, sampled
        return 2 * sampled - 1, sampled

    def _prompt(self, opening: str, steps: Sequence[Step]) -> list[int]:
        room, left_out = self._config.context - self._config.max_tokens, 0
        while True:
            shown = [{"action": plain(s.action, MAX_WRITTEN), "observation": plain(s.full, MAX_WRITTEN)} for s in steps]
            text = render(
                PROMPT,
                opening=quoted(opening, MAX_OPENING),
                limit=self._limit,
                left_out=left_out,
                steps=shown[left_out:],
            )
            prompt = self._template.prompt([{"role": "user", "content": text}])
            if len(prompt) <= room:
                return prompt
            if left_out == len(steps) - 1:
                raise ValueError(
                    f"reward_model: a transcript of {len(prompt)} tokens with one turn does not fit into a context of "
                    f"{self._config.context} with an answer: raise reward_model.context, or lower its max_tokens"
                )
            left_out += (len(steps) - left_out) // 2 or 1
