"""Typed answers: when one is complete, how its lines are joined, and how a line can be completed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["completions", "joined", "known_words", "unfinished"]

_OPENING = re.compile(r"(`{3,}|~{3,})[^`]*\Z")
_LISTED = re.compile(r"^\s*- ([^:\n]+):", re.MULTILINE)
_ACTION_WORD = re.compile(r"\b[A-Z][A-Z_]+\b")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_BEGUN = re.compile(r"[A-Za-z_:][A-Za-z0-9_.]*\Z")


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
