"""Where answers come from: a terminal with completion and history, or lines of a script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TextIO

from rlanything_agents.tools.play.typing import joined, unfinished
from rlanything_task_pools import MissingExtra

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

__all__ = ["Answers", "Complete", "Lines", "Terminal", "standard_answers"]

Complete = Callable[[str], list[tuple[str, int]]]
"""From what stands before the cursor to what could follow; see `completions`."""


class Answers(Protocol):
    """A source of answers."""

    echo: bool
    """Whether what was typed is not on the screen yet."""

    def read(self, prompt: str) -> str:
        """The next answer, complete.

        Raises:
            EOFError: There are no more.
            KeyboardInterrupt: The player wants to stop.
        """
        ...


class Lines:
    """Answers from lines, as a script sends them.

    Args:
        lines: Such as standard input.
    """

    echo = True

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: Iterator[str] = iter(lines)

    def read(self, prompt: str) -> str:
        """The next answer; one that the input ends in the middle of is given as it is."""
        text: str | None = None
        for line in self._lines:
            line = line.rstrip("\r\n")
            text = line if text is None else f"{text}\n{line}"
            if not unfinished(text):
                break
        if text is None:
            raise EOFError
        return joined(text)


class Terminal:
    """Answers typed on a terminal: Tab completes, the arrow keys go through what was typed before.

    Args:
        complete: What could follow.

    Raises:
        MissingExtra: prompt_toolkit is not installed.
    """

    echo = False

    def __init__(self, complete: Complete) -> None:
        try:
            self._session = _session(complete)
        except ImportError as error:
            raise MissingExtra(
                "playing on a terminal needs the package prompt_toolkit: pip install 'rlanything-envs[train]'; "
                "a script can send lines instead"
            ) from error

    def read(self, prompt: str) -> str:
        """The next answer; Enter in an open fence begins a new line."""
        return joined(self._session.prompt(prompt))


def _session(complete: Complete) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.shortcuts import CompleteStyle

    class Known(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            for text, replaced in complete(document.current_line_before_cursor):
                yield Completion(text, -replaced)

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None  # Enter takes what is chosen in the menu, another one sends it
        elif unfinished(buffer.text):
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return PromptSession(
        completer=Known(),
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
        history=InMemoryHistory(),
        key_bindings=keys,
        multiline=True,
        prompt_continuation=lambda width, number, wrapped: "." * (width - 1) + " ",
    )


def standard_answers(complete: Complete, stream: TextIO | None = None) -> Answers:
    """The terminal where there is one on both ends, else the lines of standard input."""
    stream = stream or sys.stdin
    return Terminal(complete) if stream.isatty() and sys.stdout.isatty() else Lines(stream)
