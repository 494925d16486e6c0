"""Sources of answers: a terminal with completion and history, or the lines of a script."""

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
"""Function from the text before the cursor to its completions; see `completions`."""


class Answers(Protocol):
    """A source of answers."""

    echo: bool
    """Whether answers have to be printed, since they were not typed on the screen."""

    def read(self, prompt: str) -> str:
        """Read the next complete answer.

        Raises:
            EOFError: There are no more answers.
            KeyboardInterrupt: The player interrupts.
        """
        ...


class Lines:
    """Answers from the lines of a script.

    Args:
        lines: The lines, such as standard input.
    """

    echo = True

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: Iterator[str] = iter(lines)

    def read(self, prompt: str) -> str:
        """Read the next answer; one that the end of the input cuts short is returned as it is."""
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
    """Answers typed on a terminal: Tab completes, the arrow keys browse the history.

    Args:
        complete: Function for the completions.

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
        """Read the next answer; Enter in an open fence begins a new line."""
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
            buffer.complete_state = None  # Enter accepts the choice of the menu, a second Enter sends the line
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
    """The terminal where input and output are one, else the lines of standard input."""
    stream = stream or sys.stdin
    return Terminal(complete) if stream.isatty() and sys.stdout.isatty() else Lines(stream)
