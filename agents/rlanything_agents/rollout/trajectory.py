"""Trajectory of a finished episode: its text for readers and judges, its tokens for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_envs.message import Image

__all__ = ["PromptedTurn", "Step", "Trajectory", "is_free", "outcome_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """One turn as text: thought and action of the agent, and the message of the environment after it.

    Attributes:
        thought: Text of the answer before the action.
        action: Action for the environment's ``step``.
        observation: Message of the environment in the agent's view.
        command: Result of the action from ``info["command"]``; empty where the environment does not report it.
        message: The environment's own message, where a short view shortened it; else empty.
        screen: Screen that the message shows, as a PNG; None where it is text alone.
        prompt: Ids that the prompt of this turn adds to the prompt before it and its answer; empty where each turn has
            its own prompt, see `PromptedTurn`.
        answer: Ids of the answer as it was sampled, closed.
    """

    thought: str
    action: str
    observation: str
    command: str = ""
    message: str = ""
    screen: Image | None = None
    prompt: tuple[int, ...] = ()
    answer: tuple[int, ...] = ()

    @property
    def full(self) -> str:
        """The environment's own message."""
        return self.message or self.observation

    def record(self) -> dict[str, Any]:
        """The turn in the record of an episode, without its judgements and raw texts."""
        return {"thought": self.thought, "action": self.action, "observation": self.full, "command": self.command}


@dataclass(frozen=True, slots=True)
class PromptedTurn:
    """Turn with its own prompt, which the prompt of the next turn may or may not continue.

    Attributes:
        prompt_ids: Ids of the prompt.
        token_ids: Ids of the answer.
        logprobs: Natural-log probability of each sampled token at temperature 1.
        allowed: See `rlanything_envs.llm.generator.Completion`.
        images: Images of the prompt.
    """

    prompt_ids: list[int]
    token_ids: list[int]
    logprobs: list[float]
    allowed: list[tuple[int, ...] | None] | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Finished episode of one agent on one task.

    The lists from ``completion_ids`` on have one entry per token after the prompt.

    Attributes:
        task_id: Id of the task.
        tag: Label that the caller attaches to the episode, such as a slot and a role.
        opening: First message in the view of the policy.
        message: The environment's own first message, where a short view shortened it; else empty.
        steps: Turns as text.
        outcome: 1 for success, -1 for failure (running out of steps included), None when the infrastructure
            failed: such an episode counts as neither, and must be masked.
        error: Failure of the infrastructure, where ``outcome`` is None.
        score: The environment's score at the end: its last reward, 0 before the first one.
        prompt_ids: Token ids of the prompt of the first turn.
        completion_ids: All ids after it, up to the last sampled one, messages of the environment included.
        step_of_token: Index of the step of a sampled token; None for messages, for forced tokens, and where it is
            unknown which ids were allowed.
        logprobs: Natural-log probability of a sampled token at temperature 1, over the allowed tokens where
            decoding was constrained, whatever the sampling temperature was; 0 for other tokens.
        allowed: Allowed ids of a sampled token, none where they are unknown; None for other tokens and free decoding.
        turns: Turns with their own prompts, where each turn re-renders its prompt; else empty. The lists above then
            contain each message and answer once, in order, a sequence that no model need have read.
        overlong: Whether the episode was cut off, as failed, because its next turn would have outgrown the context.
        late: Whether the episode was cut off, as failed, because its own steps took too much of its deadline.
        agent_crash: What the policy's actions broke, where that ended the episode as failed; else empty.
        screen: Screen of the first message, as a PNG; None where it is text alone.
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
    turns: tuple[PromptedTurn, ...] = ()
    message: str = ""
    overlong: bool = False
    late: bool = False
    agent_crash: str = ""
    screen: Image | None = None

    @property
    def success(self) -> bool | None:
        """Whether the task was solved; None when the infrastructure failed."""
        return None if self.outcome is None else self.outcome == 1

    @property
    def full_opening(self) -> str:
        """The environment's own first message."""
        return self.message or self.opening

    def to_dict(self) -> dict[str, Any]:
        """Text of the episode as plain data for JSON, without tokens."""
        return {
            "task_id": self.task_id,
            "tag": self.tag,
            "outcome": self.outcome,
            "error": self.error,
            "score": self.score,
            **({"overlong": True} if self.overlong else {}),
            **({"late": True} if self.late else {}),
            **({"agent_crash": self.agent_crash} if self.agent_crash else {}),
            "opening": self.opening,
            **({"message": self.message} if self.message else {}),
            "steps": [_named(step) for step in self.steps],
        }

    def record(self) -> dict[str, Any]:
        """The episode in the records of runs and benchmarks, without its turns."""
        kept = {name: value for name, value in self.to_dict().items() if name not in ("tag", "message", "steps")}
        return {**kept, "opening": self.full_opening}


def _named(step: Step) -> dict[str, str]:
    """Texts of a step; ``message`` is left out where it is empty."""
    names = ["thought", "action", "observation", "command", *(["message"] if step.message else [])]
    return {name: getattr(step, name) for name in names}


def is_free(allowed: tuple[int, ...] | None) -> bool:
    """Whether a token was sampled among several known ones; a forced one has a single allowed id."""
    return allowed is None or len(allowed) > 1


def outcome_of(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """Read outcome (1, -1 or None) and error of an episode from the last ``info`` of its environment."""
    outcome = info.get("outcome")
    if outcome == "error":
        return None, str(info.get("error", "the environment reported an infrastructure error"))
    return (1 if outcome == 1 else -1), ""
