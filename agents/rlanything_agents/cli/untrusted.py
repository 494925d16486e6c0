"""Text that models and task files wrote, made safe to print on a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str, limit: int = 2000) -> str:
    """The text on one line, with everything that could move the cursor, colour or reorder it spelled out.

    Escape sequences, line ends, bidirectional overrides and invisible characters become ``\\x1b``, ``\\n``,
    ``\\u202e``, ...; what is longer than ``limit`` characters is cut with an ellipsis.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
