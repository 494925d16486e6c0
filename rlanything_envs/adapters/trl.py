"""TRL: environments for `GRPOTrainer(environment_factory=...)`.

The trainer resets an environment with each row of the dataset, appends the opening message to the prompt, offers the
model the environment's tools, and reads the reward when the model stops calling them. `tool_environment` offers one
typed tool for each kind of action (`go_to`, `take`, ...); `text_environment` one tool, `act`, for any text.

```python
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from rlanything_envs.adapters.rows import generated_rows
from rlanything_envs.adapters.trl import tool_environment
trainer = GRPOTrainer(
    model=...,  # any model whose chat template has tools
    args=GRPOConfig(max_tool_calling_iterations=30, max_completion_length=4096),
    train_dataset=Dataset.from_list(generated_rows("alfworld", 512, kinds=["simple"])),
    environment_factory=tool_environment("RLAnything/AlfWorld-v0", max_episode_steps=30),
)
```

With a `CurriculumSource` the tasks adapt while it trains:

```python
source = CurriculumSource("pool.sqlite", rollouts=8)  # GRPOConfig(num_generations=8)
train_dataset = IterableDataset.from_generator(group_rows)
environment_factory = text_environment("RLAnything/AlfWorld-v0", source=source, max_episode_steps=30)
log_curriculum(trainer, source)  # its numbers in the trainer's log
```
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import Any, cast

import gymnasium as gym

from rlanything_envs.conversation import Conversation, ToolConversation, Turn
from rlanything_envs.curriculum import CurriculumSource, Group
from rlanything_envs.errors import InfrastructureError, InvalidAction, SettingError
from rlanything_envs.tools import Tool, Toolset
from rlanything_task_pools import Task

__all__ = ["OVER", "EnvironmentFactory", "Episodes", "TextEnvironment", "ToolEnvironment"]
__all__ += ["log_curriculum", "text_environment", "tool_class", "tool_environment"]

OVER = "The episode is over. Answer without a call."
"""End of the last message: TRL goes on until the model calls no tool, and has no signal for a finished episode."""
_FAILED = "The environment failed; this episode does not count. Answer without a call."

_log = logging.getLogger(__name__)

Message = str | list[dict[str, Any]]
"""A text, or where observations have a screen the content of a message: an image and a text."""


class Episodes:
    """Episodes of one environment for TRL: public methods other than `reset` and `get_reward` are tools of the model.

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

    def reset(
        self, task: str | None = None, seed: int | None = None, group: str | None = None, **columns: Any
    ) -> Message:
        """Begin an episode on a row of the dataset, whose other columns are ignored; return the opening message.

        Args:
            task: A task as JSON text, or the id of one that the environment knows; None to draw one.
            seed: Seed of the draw.
            group: Name of a group, whose task the source deals.

        Raises:
            UnknownTask, TaskFormatError: The row's task does not exist or is malformed.
            SettingError: The row has a group, and there is no source.
        """
        self._group, self._steps = None, 0
        chosen: Task | str | None = task
        if group is not None:
            if self._source is None:
                raise SettingError(f"the row has the group {group!r}: give text_environment a source")
            self._group = self._source.join(group)
            chosen = self._group.task
        try:
            return self._take(self._conversation.start(chosen, seed=seed))
        except InfrastructureError as error:
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

    def _play(self, play: Callable[[], Turn]) -> Message:
        if self.turn is None:
            return _FAILED
        if self.turn.done:
            return OVER
        self._steps += 1
        try:
            return self._take(play())
        except Exception as error:  # TRL would show it to the model and go on to a reward of 0
            return self._fail(error)

    def _take(self, turn: Turn) -> Message:
        self.turn, self.failure = turn, None
        text = f"{turn.text}\n\n{OVER}".lstrip() if turn.done else turn.text
        if turn.screen is None:
            return text
        image = {"type": "image", "image": turn.screen.pillow}
        return [image, {"type": "text", "text": text}] if text else [image]

    def _fail(self, error: Exception) -> str:
        self.turn, self.failure = None, str(error) or type(error).__name__
        _log.warning("an episode is masked: %s", self.failure)
        return _FAILED


class TextEnvironment(Episodes):
    """Episodes whose model writes text actions: `act` is its one tool."""

    def act(self, action: str) -> Message:
        """Act in the environment and read its answer.

        Args:
            action: What to do, as the first message explains it.

        Returns:
            What the environment says.
        """
        if not isinstance(action, str):  # TRL shows the model what is raised here
            raise InvalidAction(f"an action is a text, got {type(action).__name__}")
        return self._play(lambda: self._conversation.answer(action))


class ToolEnvironment(Episodes):
    """Episodes whose model calls typed tools: each is a method of the class that `tool_class` makes.

    A call with unknown, missing or wrong arguments counts as the environment counts an unreadable action. One of a tool
    that does not exist never gets here: TRL itself answers it.
    """


@cache
def tool_class(tools: Toolset) -> type[ToolEnvironment]:
    """The class of environments with these tools; TRL takes methods, their signatures and docstrings from it."""
    return type("ToolEnvironment", (ToolEnvironment,), {name: _method(tool) for name, tool in tools.items()})


def _method(tool: Tool) -> Callable[..., Message]:
    def method(self: Any, /, **arguments: Any) -> Message:
        conversation: ToolConversation = self._conversation
        return cast(Message, self._play(lambda: conversation.call(tool.name, arguments)))

    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = tool.signature.parameters
    method.__name__, method.__qualname__ = tool.name, f"ToolEnvironment.{tool.name}"
    method.__doc__ = tool.docstring
    method.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    method.__signature__ = inspect.Signature([itself, *parameters.values()])  # type: ignore[attr-defined]
    return method


class EnvironmentFactory(ExitStack):
    """Makes environments for TRL and closes them at the end of a ``with`` block."""

    def __init__(self, make: Callable[[], Conversation], patience: int, source: CurriculumSource | None = None) -> None:
        super().__init__()
        self._make = make
        self._patience = patience
        self._source = source

    def __call__(self) -> Episodes:
        """Make an environment."""
        conversation = self.enter_context(self._make())
        if isinstance(conversation, ToolConversation):
            return tool_class(conversation.tools)(conversation, self._patience, self._source)
        return TextEnvironment(conversation, self._patience, self._source)


def text_environment(
    env: str | Callable[[], gym.Env[Any, Any]],
    *,
    patience: int = 3,
    source: CurriculumSource | None = None,
    **arguments: Any,
) -> EnvironmentFactory:
    """The ``environment_factory`` of TRL's `GRPOTrainer` with one tool, `act`, that takes a text action.

    Args:
        env: Id of a registered environment, or a function that makes one.
        patience: See `Episodes`.
        source: See `Episodes`; its `rollouts` are the trainer's `num_generations`. It is not closed.
        arguments: Arguments of `gymnasium.make`, where `env` is an id.
    """
    if isinstance(env, str):
        return EnvironmentFactory(lambda: Conversation(env, **arguments), patience, source)
    return EnvironmentFactory(lambda: Conversation(env()), patience, source)


def tool_environment(
    env: str | Callable[[], gym.Env[Any, Any]],
    *,
    patience: int = 3,
    source: CurriculumSource | None = None,
    **arguments: Any,
) -> EnvironmentFactory:
    """The ``environment_factory`` of TRL's `GRPOTrainer` with a typed tool for each kind of action.

    Where observations have a screen (OSWorld with ``observation=["screenshot", "text"]``), a tool returns text and
    image, which needs a model with vision.

    Args:
        env: Id of a registered environment, or a function that makes one.
        patience: See `Episodes`.
        source: See `Episodes`; its `rollouts` are the trainer's `num_generations`. It is not closed.
        arguments: Arguments of `gymnasium.make`, where `env` is an id.

    Raises:
        SettingError: On the first call: the arguments leave the environment without tools.
    """
    if isinstance(env, str):
        return EnvironmentFactory(lambda: ToolConversation(env, **arguments), patience, source)
    return EnvironmentFactory(lambda: ToolConversation(env()), patience, source)


def log_curriculum(trainer: Any, source: CurriculumSource) -> None:
    """Put the curriculum's numbers into a trainer's log, and so into all that the trainer reports to.

    Adds a `TrainerCallback`, before those of W&B, TensorBoard and the like: they report what it adds to an entry, the
    `CurriculumSource.metrics` under ``curriculum/``. Entries of evaluations are left as they are.

    Args:
        trainer: A `GRPOTrainer`, or another trainer of transformers.
        source: What deals the tasks.
    """
    from transformers import TrainerCallback

    class CurriculumCallback(TrainerCallback):  # type: ignore[misc]
        def on_log(self, _args: Any, state: Any, _control: Any, logs: dict[str, Any], **_: Any) -> None:
            if state.is_world_process_zero and "loss" in logs:
                added = {f"curriculum/{name}": number for name, number in source.metrics().items()}
                logs.update(added)
                state.log_history[-1].update(added)  # a copy of the entry, made before

    trainer.add_callback(CurriculumCallback)
    callbacks = trainer.callback_handler.callbacks
    callbacks.insert(0, callbacks.pop())
