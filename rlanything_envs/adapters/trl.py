"""TRL: text environments for `GRPOTrainer(environment_factory=...)`.

The trainer resets an environment with each row of the dataset, appends the opening message to the prompt, offers the
model the environment's one tool, `act`, and reads the reward when the model stops calling it.

```python
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from rlanything_envs.adapters.rows import generated_rows
from rlanything_envs.adapters.trl import text_environment
trainer = GRPOTrainer(
    model=...,  # any model whose chat template has tools
    args=GRPOConfig(max_tool_calling_iterations=30, max_completion_length=4096),
    train_dataset=Dataset.from_list(generated_rows("alfworld", 512, kinds=["simple"])),
    environment_factory=text_environment("RLAnything/AlfWorld-v0", max_episode_steps=30),
)
```

With a `CurriculumSource` the tasks adapt while it trains:

```python
source = CurriculumSource("pool.sqlite", rollouts=8)  # GRPOConfig(num_generations=8)
train_dataset = IterableDataset.from_generator(group_rows)
environment_factory = text_environment("RLAnything/AlfWorld-v0", source=source, max_episode_steps=30)
```
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import gymnasium as gym

from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import CurriculumError, InfrastructureError, InvalidAction
from rlanything_task_pools import Task

__all__ = ["OVER", "EnvironmentFactory", "TextEnvironment", "text_environment"]

OVER = "The episode is over. Answer without a call."
"""End of the last message: TRL goes on until the model calls no tool, and has no signal for a finished episode."""
_FAILED = "The environment failed; this episode does not count. Answer without a call."

_log = logging.getLogger(__name__)


class TextEnvironment:
    """One environment for TRL: its public methods other than `reset` and `get_reward` are tools of the model.

    A failure of the machinery is no reward: `get_reward` is then None, which TRL leaves out of its group's mean and
    gives no advantage. A reward function of your own must also return None where `failure` is set.

    Args:
        conversation: The environment.
        patience: Consecutive episodes that may fail; one more raises `InfrastructureError` and ends the training.
        source: Deals the tasks of rows with a ``group`` and takes their outcomes.

    Attributes:
        turn: The latest message, with its ``info``; None before the first `reset` and after a failure.
        failure: Error of the infrastructure in this episode, else None.
    """

    def __init__(self, conversation: Conversation, patience: int = 3, source: CurriculumSource | None = None) -> None:
        self.turn: Turn | None = None
        self.failure: str | None = None
        self._conversation = conversation
        self._patience = patience
        self._failures = 0
        self._source = source
        self._group: Group | None = None
        self._steps = 0

    def reset(self, task: str | None = None, seed: int | None = None, group: str | None = None, **columns: Any) -> str:
        """Begin an episode on a row of the dataset, whose other columns are ignored; return the opening message.

        Args:
            task: A task as JSON text, or the id of one that the environment knows; None to draw one.
            seed: Seed of the draw.
            group: Name of a group, whose task the source deals.

        Raises:
            UnknownTask, TaskFormatError: The row's task does not exist or is malformed.
            CurriculumError: The row has a group, and there is no source.
        """
        self._group, self._steps = None, 0
        chosen: Task | str | None = task
        if group is not None:
            if self._source is None:
                raise CurriculumError(f"the row has the group {group!r}: give text_environment a source")
            self._group = self._source.join(group)
            chosen = self._group.task
        try:
            return self._take(self._conversation.start(chosen, seed=seed))
        except InfrastructureError as error:
            return self._fail(error)

    def act(self, action: str) -> str:
        """Act in the environment and read its answer.

        Args:
            action: What to do, as the first message explains it.

        Returns:
            What the environment says.
        """
        if not isinstance(action, str):  # TRL shows the model what is raised here
            raise InvalidAction(f"an action is a text, got {type(action).__name__}")
        if self.turn is None:
            return _FAILED
        if self.turn.done:
            return OVER
        self._steps += 1
        try:
            return self._take(self._conversation.answer(action))
        except Exception as error:  # TRL would show it to the model and go on to a reward of 0
            return self._fail(error)

    def get_reward(self) -> float | None:
        """The verifier's score; 0 for an episode that was left unfinished, None for one that does not count.

        Raises:
            InfrastructureError: More than `patience` episodes in a row failed.
        """
        if self._source is not None and self._group is not None:
            won, score = (self.turn.won, self.turn.reward) if self.turn else (None, None)
            self._source.end(self._group, won, score=score, steps=self._steps)
            self._group = None  # once
        if self.turn is not None:
            self._failures = 0
            return self.turn.reward
        self._failures += 1
        if self._failures > self._patience:
            raise InfrastructureError(f"{self._failures} episodes in a row failed, the last one with: {self.failure}")
        return None

    def _take(self, turn: Turn) -> str:
        self.turn, self.failure = turn, None
        return f"{turn.text}\n\n{OVER}" if turn.done else turn.text

    def _fail(self, error: Exception) -> str:
        self.turn, self.failure = None, str(error) or type(error).__name__
        _log.warning("an episode is masked: %s", self.failure)
        return _FAILED


class EnvironmentFactory(ExitStack):
    """Result of `text_environment`: makes environments for TRL and closes them at the end of a ``with`` block."""

    def __init__(self, make: Callable[[], Conversation], patience: int, source: CurriculumSource | None = None) -> None:
        super().__init__()
        self._make = make
        self._patience = patience
        self._source = source

    def __call__(self) -> TextEnvironment:
        """Make an environment."""
        return TextEnvironment(self.enter_context(self._make()), self._patience, self._source)


def text_environment(
    env: str | Callable[[], gym.Env[Any, Any]],
    *,
    patience: int = 3,
    source: CurriculumSource | None = None,
    **arguments: Any,
) -> EnvironmentFactory:
    """The ``environment_factory`` of TRL's `GRPOTrainer` for a text environment.

    Args:
        env: Id of a registered environment, or a function that makes one.
        patience: See `TextEnvironment`.
        source: See `TextEnvironment`; its `rollouts` are the trainer's `num_generations`. It is not closed.
        arguments: Arguments of `gymnasium.make`, where `env` is an id.
    """
    if isinstance(env, str):
        return EnvironmentFactory(lambda: Conversation(env, **arguments), patience, source)
    return EnvironmentFactory(lambda: Conversation(env()), patience, source)
