"""Text that models, programs and task files wrote, made safe to print on a terminal or to put into a prompt."""

__all__ = ["printable", "printable_lines"]


def printable(text: str, limit: int = 2000) -> str:
    """The text on one line, with everything that could move the cursor, colour or reorder it spelled out.

    Escape sequences, line ends, bidirectional overrides and invisible characters become ``\\x1b``, ``\\n``,
    ``\\u202e``, ...; what is longer than ``limit`` characters is cut with an ellipsis.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(map(_spelled, text))


def printable_lines(text: str) -> str:
    """The text with the same characters spelled out, except for line ends and tabs, which stay; of any length."""
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "").replace("\t", "").isprintable():
        return plain
    return "".join(c if c in "\n\t" else _spelled(c) for c in plain)


def _spelled(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
