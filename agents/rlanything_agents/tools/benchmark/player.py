"""Players: an agent in one episode, and the common part of those that answer a chat."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rlanything_envs.message import Part, content_of, images_of, text_of
from rlanything_envs.osworld.actions import labelled_action, without_thoughts

if TYPE_CHECKING:
    from rlanything_envs.conversation import Turn
    from rlanything_envs.llm.budget import Usage
    from rlanything_envs.llm.choices import Form

__all__ = ["ChatPlayer", "History", "Message", "Player", "Response", "line_of"]

Message = dict[str, Any]
"""``role`` and ``content``, a text or, with a screen, a tuple of images and texts."""


_LINE = 200
"""Characters of a line that stands for a turn."""


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

    Once there are screens, the chat has the last of them with the answers to them, and of each earlier turn a line of
    text, as the published agents for desktops have it.

    Args:
        exchanges: Exchanges read before the latest message, besides the first message; None for all.
        images: Screens in the chat, the present one counted.
        grid: Factor of the sides of the screens (`rlanything_envs.message.grid_size`); 0 leaves them as they are.

    Attributes:
        system: Text of a system message; empty for none.
    """

    system = ""

    def __init__(self, exchanges: int | None = None, images: int = 3, grid: int = 0) -> None:
        self._exchanges, self._images, self._grid = exchanges, images, grid
        self._messages: list[Message] = []
        self._sees = False

    def read(self, turn: Turn) -> list[Message]:
        """Append a message of the environment; returns the chat that ends with it."""
        self._messages.append({"role": "user", "content": content_of(self._parts(turn, first=not self._messages))})
        exchanges = self._exchanges
        if self._sees:
            exchanges = self._images - 1 if exchanges is None else min(exchanges, self._images - 1)
        kept = self._messages if exchanges is None else self._messages[-(2 * exchanges + 1) :]
        past = [message["content"] for message in self._messages[: -len(kept)] if message["role"] == "assistant"]
        head, text = kept[0]["content"], self.opening(text_of(self._messages[0]["content"]), past)
        later = text_of(head) if past else ""
        for message in self._messages[: -len(kept)]:
            message["content"] = text_of(message["content"])  # screens that have left the window are not kept
        first = {"role": "user", "content": content_of((*images_of(head), _paragraphs(text, later)))}
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, first, *(dict(message) for message in kept[1:])]

    def opening(self, text: str, past: list[str]) -> str:
        """Beginning of the chat: the first message, and what stands for the answers that are left out."""
        if self._sees:
            return _paragraphs(text, "Previous actions:\n" + numbered(past) if past else "")
        return _paragraphs(text, f"({len(past)} of your turns are left out here.)" if past else "")

    def wrote(self, text: str) -> None:
        """Append an answer of the agent."""
        self._messages.append({"role": "assistant", "content": text})

    def _parts(self, turn: Turn, first: bool) -> tuple[Part, ...]:
        if turn.screen is None:
            return (turn.text,)
        self._sees = True
        return (turn.screen.on_grid(self._grid) if self._grid else turn.screen, turn.text)


def numbered(past: list[str]) -> str:
    """A numbered line for each of some answers."""
    return "\n".join(f"Step {number}: {line_of(answer)}" for number, answer in enumerate(past, 1))


def line_of(answer: str) -> str:
    """A line for a turn that has left the window: what the answer calls its action, else its beginning."""
    return labelled_action(answer) or " ".join(without_thoughts(answer).split())[:_LINE]


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


class ChatPlayer(ABC):
    """A player that answers a chat.

    Args:
        history: The chat that it reads.

    Attributes:
        form: Form of the next answer, where the environment offers one.
    """

    counts = True
    form: Form | None = None

    def __init__(self, history: History) -> None:
        self._history = history

    def act(self, turn: Turn) -> Response:
        """Answer a message."""
        self.form = turn.info.get("choices")
        response = self.reply(self._history.read(turn))
        self._history.wrote(response.text)
        return response

    @abstractmethod
    def reply(self, messages: list[Message]) -> Response:
        """Answer a chat, whose last message is the environment's."""
