"""Typed answers: from a terminal with completion and history, or from the lines of a script; when one is complete."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

__all__ = [
    "Answers",
    "Complete",
    "Lines",
    "Terminal",
    "completions",
    "joined",
    "known_words",
    "standard_answers",
    "unfinished",
]

_OPENING = re.compile(r"(`{3,}|~{3,})[^`]*\Z")
_LISTED = re.compile(r"^\s*- ([^:\n]+):", re.MULTILINE)
_ACTION_WORD = re.compile(r"\b[A-Z][A-Z_]+\b")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_BEGUN = re.compile(r"[A-Za-z_:][A-Za-z0-9_.]*\Z")

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
    """

    echo = False

    def __init__(self, complete: Complete) -> None:
        self._session = _session(complete)

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


def standard_answers(complete: Complete) -> Answers:
    """The terminal where input and output are one, else the lines of standard input."""
    return Terminal(complete) if sys.stdin.isatty() and sys.stdout.isatty() else Lines(sys.stdin)


def unfinished(text: str) -> bool:
    """Whether an answer continues on the next line: a fence is open, or a line outside of fences ends in a backslash.

    ```python
    assert unfinished("SUBMIT ```python")
    assert not unfinished("SUBMIT ```python\\nprint(1)\\n```")
    ```
    """
    fence: str | None = None
    going_on = False
    for line in text.split("\n"):
        fence, going_on = _after(line, fence)
    return fence is not None or going_on


def joined(text: str) -> str:
    """The answer without the backslashes that continue lines."""
    fence: str | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        fence, going_on = _after(line, fence)
        lines.append(line.rstrip()[:-1].rstrip() if going_on else line)
    return "\n".join(lines)


def _after(line: str, fence: str | None) -> tuple[str | None, bool]:
    """The fence that is open after a line, and whether a backslash continues the line."""
    bare = line.rstrip().removesuffix("\\").strip()
    going_on = line.rstrip().endswith("\\")
    if fence is not None:
        closes = len(bare) >= len(fence) and set(bare) == {fence[0]}
        return (None, going_on) if closes else (fence, False)
    opening = _OPENING.search(line)
    return (opening[1], False) if opening else (None, going_on)


def known_words(text: str) -> list[str]:
    """Words for completion in an environment without a list of commands: those that the manual in a message lists.

    They are the action words before the colon of a list's item, and the names of functions in it.
    """
    words = dict.fromkeys(word for item in _LISTED.findall(text) for word in _ACTION_WORD.findall(item))
    for line in text.splitlines():
        words.update(dict.fromkeys(_functions(line)))
    words.update(dict.fromkeys(name for name in _NAME.findall(text) if "." in name))
    return list(words)


def _functions(line: str) -> Iterator[str]:
    """``- box has open, shut and others.`` names ``box.open`` and ``box.shut``."""
    owner, has, names = line.strip().removeprefix("- ").partition(" has ")
    if line.lstrip().startswith("- ") and has and owner.isidentifier():
        yield from (f"{owner}.{name}" for name in re.findall(r"[a-zA-Z_]\w*", names) if name not in ("and", "others"))


def completions(text: str, commands: Sequence[str] | None, words: Sequence[str]) -> list[tuple[str, int]]:
    """Completions of a line, each with the number of last characters of the line that it replaces.

    Args:
        text: The line up to the cursor.
        commands: Admissible commands, where the environment lists them; they complete the whole line.
        words: Known words, which complete the last word where there are no commands.
    """
    typed = text.lstrip()
    if commands is not None:
        return [(command, len(typed)) for command in commands if command.lower().startswith(typed.lower())]
    match = _BEGUN.search(text)
    begun = match[0] if match else ""
    return [(word, len(begun)) for word in words if word.lower().startswith(begun.lower()) and word != begun]
