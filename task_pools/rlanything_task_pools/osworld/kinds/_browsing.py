"""Keys for the file manager: its list has folders first, then files, each sorted by name."""

from collections.abc import Iterable

from rlanything_task_pools.osworld.kinds.base import pressed

__all__ = ["chosen", "cut_into"]


def chosen(names: Iterable[str], folders: Iterable[str], name: str) -> str:
    """The line that selects a file or folder of the folder shown.

    The first key in a folder puts the cursor on its first row, whatever key it is.
    """
    return pressed("down", "home", f"down*{_row(names, folders, name)}")


def cut_into(names: Iterable[str], folders: Iterable[str], name: str, folder: str) -> list[str]:
    """The lines that move a file into a folder next to it, and come back."""
    names, folders = list(names), list(folders)
    return [
        chosen(names, folders, name) + "; " + pressed("ctrl+x"),
        chosen(names, folders, folder) + "; " + pressed("enter"),
        pressed("ctrl+v"),
        pressed("alt+up"),
    ]


def _row(names: Iterable[str], folders: Iterable[str], name: str) -> int:
    shown = [*sorted(folders, key=str.lower), *sorted(names, key=str.lower)]
    return shown.index(name)
