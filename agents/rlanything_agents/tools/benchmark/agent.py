"""What a benchmark asks of an agent, and chat agents in general."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode, Result, World
    from rlanything_envs.conversation import Turn
    from rlanything_envs.llm.budget import Usage

__all__ = ["Agent", "ChatPlayer", "History", "Lockstep", "Message", "Player", "Said", "Solo"]

Message = dict[str, str]
"""``role`` and ``content``."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent answered, and the tokens it read and wrote for it, where they are known."""

    text: str
    usage: Usage | None = None


class Player(Protocol):
    """An agent in one episode."""

    @property
    def counts(self) -> bool:
        """Whether it counts its tokens."""
        ...

    def act(self, turn: Turn) -> Said:
        """The answer to what the environment said; the first message opens the episode.

        Raises:
            InfrastructureError: The machinery of the agent failed; the episode counts for nothing.
            AgentError: The agent is broken; so would be every other episode.
        """
        ...


class Agent(Protocol):
    """Somebody who plays."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    @property
    def lanes(self) -> int:
        """How many episodes to play side by side where nobody says."""
        ...

    def check(self, episodes: Sequence[Episode]) -> None:
        """Look at what is to be played, before anything is.

        Raises:
            AgentError: It cannot play this.
        """
        ...

    def close(self) -> None:
        """Free what it holds; calls under way end."""
        ...


class Solo(Agent, Protocol):
    """An agent that plays each episode by itself."""

    @property
    def beside(self) -> Literal["threads", "processes"]:
        """What episodes side by side run in. Processes are for agents that wait for nobody, and are pickled."""
        ...

    def player(self, episode: Episode) -> Player:
        """A player for an episode."""
        ...


class Lockstep(Agent, Protocol):
    """An agent that plays many episodes at once, because its model is faster so."""

    def play(self, world: World, episodes: Sequence[Episode], lanes: int) -> Generator[Result, None, None]:
        """Play the episodes, so many at once; results come as they are known, in any order."""
        ...


class History:
    """The chat of an episode as an agent reads it.

    Args:
        exchanges: How many exchanges before the latest message are read, besides the first message; None for all.
    """

    def __init__(self, exchanges: int | None = None) -> None:
        self._exchanges = exchanges
        self._messages: list[Message] = []

    def read(self, turn: Turn) -> list[Message]:
        """Take in a message; the chat to be answered now, whose last message it is."""
        self._messages.append({"role": "user", "content": turn.text})
        first, rest = self._messages[0], self._messages[1:]
        if self._exchanges is None or len(rest) <= 2 * self._exchanges:
            return [dict(message) for message in self._messages]
        # What is kept begins with a message of the environment; it joins the first one, so that roles take turns.
        kept = rest[-(2 * self._exchanges + 1) :]
        left_out = (len(rest) - len(kept) + 1) // 2
        told = f"{first['content']}\n\n({left_out} of your turns are left out here.)\n\n{kept[0]['content']}"
        return [{"role": "user", "content": told}, *(dict(message) for message in kept[1:])]

    def wrote(self, text: str) -> None:
        """Take in the agent's own answer."""
        self._messages.append({"role": "assistant", "content": text})


class ChatPlayer(ABC):
    """A player that reads the conversation so far.

    Args:
        history: How much of it, see `History`.
    """

    counts = True

    def __init__(self, history: int | None = None) -> None:
        self._history = History(history)

    def act(self, turn: Turn) -> Said:
        """The answer to a message."""
        said = self.reply(self._history.read(turn))
        self._history.wrote(said.text)
        return said

    @abstractmethod
    def reply(self, messages: list[Message]) -> Said:
        """The answer to a chat, whose last message is the environment's."""
