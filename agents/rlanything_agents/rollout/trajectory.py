"""One episode as it was played: its text for readers and judges, its tokens for training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rlanything_agents.rollout.dialect import Step
from rlanything_agents.training.samples import Sample, spread_steps

__all__ = ["Trajectory", "WrittenTurn", "outcome_of"]


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """A turn whose prompt is no beginning of the next one's.

    Attributes:
        prompt_ids: What was read.
        token_ids: What was sampled.
        logprobs: Natural-log probability of each sampled token at temperature 1.
    """

    prompt_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode of one agent on one task.

    The lists from ``completion_ids`` on have one entry per token after the prompt.

    Attributes:
        task_id: Id of the task.
        tag: Whatever the caller uses to know the lane by, such as a slot and a role.
        opening: The first message of the environment.
        steps: The turns as text.
        outcome: 1 for success, -1 for failure (running out of steps included), None when the infrastructure
            failed: then the episode is neither, and must be masked.
        error: What failed, where ``outcome`` is None.
        score: The environment's score at the end: its last reward, 0 if it never came to one.
        prompt_ids: Tokens up to the agent's first turn.
        completion_ids: Everything after, messages of the environment included.
        step_of_token: The step a sampled token belongs to; None for messages and forced tokens.
        logprobs: Natural-log probability of a sampled token at temperature 1, over the allowed tokens where
            decoding was constrained, whatever temperature it was sampled at; 0 for other tokens.
        allowed: The ids a sampled token was chosen from; None for other tokens and free decoding.
        turns: Each turn with the prompt it answered, where prompts are rendered anew for every turn. The lists above
            then hold what was read and written once each, in order; no model has read them so.
    """

    task_id: str
    tag: str
    opening: str
    steps: tuple[Step, ...]
    outcome: int | None
    error: str
    score: float
    prompt_ids: list[int]
    completion_ids: list[int]
    step_of_token: list[int | None]
    logprobs: list[float]
    allowed: list[tuple[int, ...] | None]
    turns: tuple[WrittenTurn, ...] = ()

    @property
    def success(self) -> bool | None:
        """Whether the episode was won; None when the infrastructure failed."""
        return None if self.outcome is None else self.outcome == 1

    def samples(self, advantages: Sequence[float]) -> list[Sample]:
        """The episode as training data: one row, or one for each turn where each has a prompt of its own.

        Args:
            advantages: One per step; steps of advantage 0 are left out of the update.
        """
        if not self.turns:
            return [self.sample(advantages)]
        return [
            Sample(
                prompt_ids=turn.prompt_ids,
                completion_ids=turn.token_ids,
                weights=[1.0 / len(turn.token_ids)] * len(turn.token_ids),
                advantages=[float(advantage)] * len(turn.token_ids),
                logprobs=turn.logprobs,
            )
            for turn, advantage in zip(self.turns, advantages, strict=True)
            if advantage
        ]

    def sample(self, advantages: Sequence[float]) -> Sample:
        """The transcript as one row of training data.

        Args:
            advantages: One per step; steps of advantage 0 are left out of the update.
        """
        weights, token_advantages = spread_steps(self.step_of_token, advantages)
        constrained = any(choice is not None for choice in self.allowed)
        return Sample(
            prompt_ids=self.prompt_ids,
            completion_ids=self.completion_ids,
            weights=weights,
            advantages=token_advantages,
            logprobs=self.logprobs,
            allowed=list(self.allowed) if constrained else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The readable part, ready for JSON; tokens are left out."""
        return {
            "task_id": self.task_id,
            "tag": self.tag,
            "outcome": self.outcome,
            "error": self.error,
            "score": self.score,
            "opening": self.opening,
            "steps": [asdict(step) for step in self.steps],
        }


def outcome_of(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """Outcome and error of an episode from the last ``info`` of its environment."""
    outcome = info.get("outcome")
    if outcome == "error":
        return None, str(info.get("error", "the environment reported an infrastructure error"))
    return (1 if outcome == 1 else -1), ""
