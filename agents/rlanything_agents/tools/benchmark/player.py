"""Players: an agent in one episode, and the common part of those that answer a chat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rlanything_envs.conversation import Turn
    from rlanything_envs.llm.budget import Usage
    from rlanything_envs.llm.choices import Form

__all__ = ["ChatPlayer", "History", "Message", "Player", "Response"]

Message = dict[str, str]
"""``role`` and ``content``."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of an agent, with the tokens read and written for it, where they are known."""

    text: str
    usage: Usage | None = None


class Player(Protocol):
    """An agent in one episode."""

    @property
    def counts(self) -> bool:
        """Whether the agent counts its tokens."""
        ...

    def act(self, turn: Turn) -> Response:
        """Answer a message of the environment; the first message opens the episode.

        Raises:
            InfrastructureError: Infrastructure of the agent failed; the episode is masked.
            Outgrown: The agent has written too much; the episode has failed.
            BenchmarkError: The agent is broken, and would fail in every other episode too.
        """
        ...


class History:
    """Chat of an episode, cut to the part that the agent reads.

    Args:
        exchanges: Exchanges read before the latest message, besides the first message; None for all.
    """

    def __init__(self, exchanges: int | None = None) -> None:
        self._exchanges = exchanges
        self._messages: list[Message] = []

    def read(self, turn: Turn) -> list[Message]:
        """Append a message of the environment; returns the chat that ends with it."""
        self._messages.append({"role": "user", "content": turn.text})
        first, rest = self._messages[0], self._messages[1:]
        if self._exchanges is None or len(rest) <= 2 * self._exchanges:
            return [dict(message) for message in self._messages]
        # The kept part begins with a message of the environment, merged into the first one, so that roles alternate.
        kept = rest[-(2 * self._exchanges + 1) :]
        left_out = (len(rest) - len(kept) + 1) // 2
        merged = f"{first['content']}\n\n({left_out} of your turns are left out here.)\n\n{kept[0]['content']}"
        return [{"role": "user", "content": merged}, *(dict(message) for message in kept[1:])]

    def wrote(self, text: str) -> None:
        """Append an answer of the agent."""
        self._messages.append({"role": "assistant", "content": text})


class ChatPlayer(ABC):
    """A player that answers a chat.

    Args:
        history: Exchanges that it reads, see `History`.

    Attributes:
        form: Form of the next answer, where the environment offers one.
    """

    counts = True
    form: Form | None = None

    def __init__(self, history: int | None = None) -> None:
        self._history = History(history)

    def act(self, turn: Turn) -> Response:
        """Answer a message."""
        self.form = turn.info.get("choices")
        response = self.reply(self._history.read(turn))
        self._history.wrote(response.text)
        return response

    @abstractmethod
    def reply(self, messages: list[Message]) -> Response:
        """Answer a chat, whose last message is the environment's."""
