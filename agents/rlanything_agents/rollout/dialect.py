"""How one domain's text becomes the tokens of a small model, and back.

A pretrained language model reads an environment's messages as they are. A model of a million parameters
trained from nothing needs them short and in few words. A `Dialect` is that translation for one domain. It
lives beside the other parts of its domain (``rlanything_agents.domains.alfworld``) under the name ``DIALECT``, so
that rollouts, warm start and reward model never name a domain. Pretrained models chat: `domains.chat` has a dialect
for them that is made of a domain's small one, its environment and a model's chat template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import gymnasium as gym
from transformers import PreTrainedTokenizerFast

from rlanything_agents.rollout.constraint import Constraint

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.lessons import Lessons
    from rlanything_agents.reward_models.reviewer import Reviewer
    from rlanything_agents.runs.learners import Learners

__all__ = [
    "Dialect",
    "Expert",
    "Judgement",
    "Move",
    "Step",
    "StepDialect",
    "TurnDialect",
    "UnknownDialect",
    "get_dialect",
    "step_dialect",
]


class UnknownDialect(LookupError):
    """No small-model dialect exists for the domain."""


@dataclass(frozen=True, slots=True)
class Step:
    """One turn as text: what the agent thought and did, and the message it got back.

    ``command`` is what became of the action, ``info["command"]``; empty where the environment does not say it.
    """

    thought: str
    action: str
    observation: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """What a demonstrator does: a thought, a command, and whether it is worth imitating."""

    thought: str
    action: str
    exemplary: bool = True
    """False for a deliberate mistake, made to show how to recover from it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One opinion on one step: a reason in words and a score of 1 or -1."""

    reason: str
    score: int


class Expert(Protocol):
    """A scripted player that sees what the agent sees and nothing more."""

    def act(self, observation: str, admissible: Sequence[str]) -> Move:
        """The next move after a message; the first message opens the episode."""
        ...


class Dialect(Protocol):
    """The translation of one domain, and what its small models are taught with. Ids are those of `tokenizer`."""

    @property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """One vocabulary for policy and judge."""
        ...

    @property
    def end_id(self) -> int:
        """The id that closes a turn of the agent."""
        ...

    @property
    def turn_limit(self) -> int:
        """Most tokens of a freely decoded turn."""
        ...

    @property
    def environment(self) -> Mapping[str, Any]:
        """Arguments of the environment that a small model plays in, where they are not its defaults."""
        ...

    def wrapped(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        """The environment as small models play in it: one whose observations and actions are texts of this dialect."""
        ...

    def opening(self, observation: str) -> list[int]:
        """Tokens up to the agent's first turn: the task and the first message."""
        ...

    def message(self, observation: str) -> list[int]:
        """Tokens between two turns of the agent: a later message, and the mark that it is the agent's turn."""
        ...

    def constraint(self, info: Mapping[str, Any]) -> Constraint:
        """What the agent's next turn may be, given the environment's ``info``."""
        ...

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """Thought and command of a turn the model wrote, well-formed or not."""
        ...

    @property
    def lessons(self) -> Lessons:
        """What the models are warmed up with."""
        ...

    def reviewer(self, config: RunConfig, learners: Learners) -> Reviewer[Any]:
        """The domain's kind of reward model.

        Raises:
            ValueError: The configuration asks for what this kind does not have.
        """
        ...


@runtime_checkable
class TurnDialect(Dialect, Protocol):
    """A dialect whose turns are written whole, by a source of text."""

    @property
    def context(self) -> int:
        """Most tokens of an episode: its last prompt and the response to it."""
        ...

    @property
    def anew(self) -> bool:
        """Whether the prompt of each turn is rendered anew by `chat`, instead of being the transcript so far."""
        ...

    def chat(self, opening: str, turns: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """Tokens up to the next turn.

        Args:
            opening: The first message.
            turns: Of each turn so far its tokens, and the message that answered it.
        """
        ...


@runtime_checkable
class StepDialect(Dialect, Protocol):
    """A dialect whose reward model judges steps, and whose policy imitates an expert's thoughts and commands."""

    @property
    def thought_slots(self) -> tuple[tuple[int, ...], ...]:
        """For each token of a thought the ids it may take; empty where the domain thinks in free text or not at all."""
        ...

    def thought(self, thought: str) -> tuple[int, ...]:
        """Tokens of a thought."""
        ...

    def command(self, action: str) -> tuple[int, ...]:
        """Tokens of a command, `end_id` included."""
        ...

    def expert(self, seed: int) -> Expert:
        """A fresh demonstrator for one episode."""
        ...

    def judge_prompts(self, opening: str, steps: Sequence[Step]) -> list[list[int]]:
        """What the judge reads before it judges each step; that of a step does not depend on later ones."""
        ...

    def judgement(self, judgement: Judgement) -> list[int]:
        """Tokens of a judge's response, end of sequence included."""
        ...

    def opinions(self, opening: str, steps: Sequence[Step]) -> list[Judgement]:
        """A rule of thumb on every step, from the text alone: what a judge is warmed up with."""
        ...

    def true_labels(self, payload: Mapping[str, Any], steps: Sequence[Step]) -> list[int]:
        """Ground truth, 1 or -1 per step, from the state of the world. For evaluation only, never for training."""
        ...


def get_dialect(domain: str) -> Dialect:
    """The dialect of a domain.

    Raises:
        UnknownDialect: There is none.
    """
    place = f"rlanything_agents.domains.{domain}.dialect"
    try:
        dialect: Dialect = import_module(place).DIALECT
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in (place, place.rpartition(".")[0]):
            raise
        raise UnknownDialect(f"no small-model dialect for domain {domain!r}: {place} has no DIALECT") from error
    return dialect


def step_dialect(dialect: Dialect) -> StepDialect:
    """The same dialect, known to be of the kind that judges steps.

    Raises:
        UnknownDialect: It is not.
    """
    if not isinstance(dialect, StepDialect):
        raise UnknownDialect(f"{type(dialect).__name__}: the reward model of this domain does not judge steps")
    return dialect
