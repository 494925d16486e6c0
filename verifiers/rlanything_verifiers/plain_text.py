"""Escaping of untrusted text for terminals and prompts."""

__all__ = ["printable", "printable_lines"]


def printable(text: str, limit: int = 2000) -> str:
    """The text on one line, with all characters escaped that could move the cursor, colour or reorder it.

    Escape sequences, line ends, bidirectional overrides and invisible characters become ``\\x1b``, ``\\n``,
    ``\\u202e``, ...; a text longer than ``limit`` characters is cut with an ellipsis.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(map(_spelled, text))


def printable_lines(text: str) -> str:
    """The text of any length with the same characters escaped, except for line ends and tabs."""
    plain = text.replace("\r\n", "\n")
    if plain.replace("\n", "").replace("\t", "").isprintable():
        return plain
    return "".join(c if c in "\n\t" else _spelled(c) for c in plain)


def _spelled(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
