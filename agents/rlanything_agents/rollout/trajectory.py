"""One episode as it was played: its text for readers and judges, its tokens for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Step", "Trajectory", "WrittenTurn", "outcome_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """One turn as text: what the agent thought and did, and the message it got back.

    Attributes:
        thought: What it wrote before its action.
        action: What the environment was given.
        observation: The message that it read.
        command: What became of the action, ``info["command"]``; empty where the environment does not say it.
        message: The environment's own message, where a short view made another of it.
    """

    thought: str
    action: str
    observation: str
    command: str = ""
    message: str = ""

    @property
    def full(self) -> str:
        """The environment's own message."""
        return self.message or self.observation


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """A turn whose prompt is no beginning of the next one's.

    Attributes:
        prompt_ids: What was read.
        token_ids: What was sampled.
        logprobs: Natural-log probability of each sampled token at temperature 1.
        allowed: See `rlanything_envs.llm.generator.Completion`.
    """

    prompt_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    allowed: list[tuple[int, ...] | None] | None = None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode of one agent on one task.

    The lists from ``completion_ids`` on have one entry per token after the prompt.

    Attributes:
        task_id: Id of the task.
        tag: Whatever the caller uses to know the episode by, such as a slot and a role.
        opening: The first message that the policy read.
        message: The environment's own first message, where a short view made another of it.
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
    message: str = ""

    @property
    def success(self) -> bool | None:
        """Whether the task was solved; None when the infrastructure failed."""
        return None if self.outcome is None else self.outcome == 1

    @property
    def full_opening(self) -> str:
        """The environment's own first message."""
        return self.message or self.opening

    def to_dict(self) -> dict[str, Any]:
        """The readable part, ready for JSON; tokens are left out."""
        return {
            "task_id": self.task_id,
            "tag": self.tag,
            "outcome": self.outcome,
            "error": self.error,
            "score": self.score,
            "opening": self.opening,
            **({"message": self.message} if self.message else {}),
            "steps": [_named(step) for step in self.steps],
        }


def _named(step: Step) -> dict[str, str]:
    """The step as plain data; without a message that is the observation."""
    named = asdict(step)
    if not step.message:
        del named["message"]
    return named


def outcome_of(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """Outcome and error of an episode from the last ``info`` of its environment."""
    outcome = info.get("outcome")
    if outcome == "error":
        return None, str(info.get("error", "the environment reported an infrastructure error"))
    return (1 if outcome == 1 else -1), ""
