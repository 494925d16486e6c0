"""`Conversation`: the messages and answers of an episode, the same for every domain.

Every adapter to another trainer goes through this class. The first message holds everything that the agent needs to
act, an answer may hold prose around its action, and an infrastructure failure is always an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import gymnasium as gym
from pydantic import Field

from rlanything_envs.errors import InfrastructureError
from rlanything_envs.message import Content, Image, Part, content_of, images_of, parts_of, text_of
from rlanything_envs.registration import text_arguments, tool_arguments
from rlanything_envs.tools import ToolCallError, Toolset
from rlanything_envs.verdict import settle
from rlanything_task_pools import Task

__all__ = ["ACT", "UNREADABLE", "Conversation", "ToolConversation", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the environment.

    Attributes:
        text: The text of the message; empty where there is a screen alone.
        reward: 0 until the end of the episode, then the verifier's score.
        terminated: Whether the task itself ended the episode.
        truncated: Whether a limit cut it off.
        info: Gymnasium's ``info``; ``outcome`` is 1 or -1 once the episode is over, also where the time limit ended it.
        screen: The picture of the screen, where observations have a ``screenshot``; else None.
    """

    text: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]
    screen: Image | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The message for an agent that sees: the screen, and then the text."""
        return tuple(part for part in (self.screen, self.text) if part)

    @property
    def content(self) -> Content:
        """The message as the content of a chat: its text alone where there is no screen."""
        return content_of(self.parts)

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated

    @property
    def won(self) -> bool:
        """Whether the episode is over and its task solved."""
        return self.info.get("outcome") == 1

    @property
    def commands(self) -> list[str] | None:
        """Commands that are possible now; None where the environment does not list them."""
        return self.info.get("admissible_commands")


class Conversation:
    """Episodes of one environment, as messages and answers.

    Args:
        env: A text environment, which `close` closes too; or the id of a registered one, which is made with text
            observations.
        arguments: Arguments of `gymnasium.make`, where `env` is an id.

    ```python
    from rlanything_envs import Conversation

    conversation = Conversation("RLAnything/AlfWorld-v0")
    turn = conversation.start(seed=0)
    while not turn.done:
        turn = conversation.answer("I look around first.\\nAction: look")
    ```
    """

    def __init__(self, env: gym.Env[Any, Any] | str, **arguments: Any) -> None:
        if isinstance(env, str):
            env = gym.make(env, **{**text_arguments(env), **arguments})
        self.env = env

    @property
    def manual(self) -> str:
        """Instructions for the agent; empty where the first observation holds them."""
        return str(getattr(self.env.unwrapped, "manual", ""))

    def start(self, task: Task | Mapping[str, Any] | str | None = None, *, seed: int | None = None) -> Turn:
        """Begin an episode; the first message has the manual in front.

        Args:
            task: A `Task`, its JSON as a mapping or as text, or the id of a task that the environment knows; None draws
                one.
            seed: Seed of the draw.

        Raises:
            InfrastructureError: The machinery failed.
            UnknownTask, TaskFormatError: The task does not exist or is malformed.
        """
        if isinstance(task, str) and task.lstrip().startswith("{"):
            task = Task.from_json(task)
        observation, info = self.env.reset(seed=seed, options=None if task is None else {"task": task})
        turn = self._turn(observation, 0.0, False, False, info, first=True)
        return replace(turn, text=f"{self.manual}\n\n{turn.text}".rstrip()) if self.manual else turn

    def answer(self, text: str) -> Turn:
        """Send the agent's answer and return the next message.

        Raises:
            InfrastructureError: The machinery failed. The episode is over and counts for nothing; it is no reward.
            InvalidAction: The answer is not a string.
            EpisodeOver: No episode is running.
        """
        read = getattr(self.env.unwrapped, "read_answer", None)
        return self._turn(*self.env.step(read(text) if read and isinstance(text, str) else text))

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _turn(
        self,
        observation: Any,
        reward: Any,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
        *,
        first: bool = False,
    ) -> Turn:
        if info.get("outcome") == "error":
            reason = info.get("error") or "the environment does not say what failed"
            raise InfrastructureError(f"{info.get('task_id')}: {reason}; the episode counts for nothing, play it again")
        settle(info, truncated=truncated)
        parts = parts_of(observation, first)
        screen = next(iter(images_of(parts)), None)
        return Turn(text_of(parts), float(reward), terminated, truncated, info, screen)


UNREADABLE = "\0"
"""A text that no environment reads as an action; a malformed call takes a turn with it."""

_REFUSED = "No action was taken: "
"""Beginning of the line in which an environment explains why a text is no action."""


def _act(action: Annotated[str, Field(description="What to do, as the first message explains it.")]) -> str:
    """Act in the environment and read its answer."""
    return action


_act.__name__ = "act"

ACT = Toolset(_act)
"""The one tool of an environment that declares none: its text action."""


class ToolConversation(Conversation):
    """Episodes of one environment, as messages and tool calls.

    The environment is the same, and so are its messages, but for the instructions on how to write an action, which the
    tools' descriptions replace. A call is one step. A malformed call is a step with an unreadable action: it counts as
    the environment counts one, and the message says what to call instead.

    Args:
        env: As of `Conversation`.
        arguments: Arguments of `gymnasium.make`, where `env` is an id.

    ```python
    from rlanything_envs import ToolConversation

    conversation = ToolConversation("RLAnything/AlfWorld-v0")
    turn = conversation.start(seed=0)
    print(conversation.tools.schemas()[0]["function"]["name"])
    turn = conversation.call("go_to", {"receptacle": "fridge 1"})
    ```
    """

    def __init__(self, env: gym.Env[Any, Any] | str, **arguments: Any) -> None:
        if isinstance(env, str):
            arguments = {**tool_arguments(env), **arguments}
        super().__init__(env, **arguments)
        self.tools: Toolset = getattr(self.env.unwrapped, "tools", ACT)

    @property
    def manual(self) -> str:
        """Instructions for the agent: none where the tools' descriptions replace them."""
        return super().manual if self.tools is ACT else ""

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Turn:
        """Call a tool and return the next message; ``info["call_error"]`` is the fault of a malformed call, else None.

        Args:
            name: Name of the tool.
            arguments: A mapping, or a JSON object as text, as models write it.

        Raises:
            InfrastructureError: The machinery failed.
            EpisodeOver: No episode is running.
        """
        try:
            action = self.tools.action(name, arguments)
        except ToolCallError as error:
            turn = self._turn(*self.env.step(UNREADABLE))
            first, _, rest = turn.text.partition("\n")
            message = rest if first.startswith(_REFUSED) else turn.text
            return replace(turn, text=f"{_REFUSED}{error}.\n{message}", info={**turn.info, "call_error": error})
        turn = self.answer(action) if self.tools is ACT else self._turn(*self.env.step(action))
        return replace(turn, info={**turn.info, "call_error": None})
