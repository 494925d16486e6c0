"""Keys for the text editor."""

from collections.abc import Sequence

from rlanything_task_pools.osworld.kinds.base import pressed, typed

__all__ = ["SAVE", "appended", "retyped", "with_line", "without_line"]

SAVE = pressed("ctrl+s")


def retyped(text: str) -> list[str]:
    """The lines that replace everything by another text."""
    return [pressed("ctrl+a") + "; " + typed(text)]


def with_line(number: int, line: str) -> list[str]:
    """The lines that replace the line of a number, from 0, by another."""
    return [f"{pressed('ctrl+home', f'down*{number}', 'home', 'shift+end')}; {typed(line)}"]


def without_line(number: int) -> list[str]:
    """The lines that remove the line of a number, from 0, with its end."""
    return [pressed("ctrl+home", f"down*{number}", "home", "shift+down", "delete")]


def appended(lines: Sequence[str]) -> list[str]:
    """The lines that append lines to a text whose last line has an end."""
    return [f"{pressed('ctrl+end')}; {typed(''.join(line + chr(10) for line in lines))}"]
