"""The windows on the screen, through wmctrl."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import PurePosixPath

from .processes import Processes
from .requests import RequestError

__all__ = ["Window", "activate", "close", "open_file", "windows"]

_OPEN_PATIENCE = 180.0
"""Seconds until a file's window must be there, on however loaded a machine; upstream waits half an hour."""
_TIMEOUT = 10.0


@dataclass(frozen=True, slots=True)
class Window:
    """One line of ``wmctrl -lGx``."""

    id: str
    width: int
    height: int
    application: str
    title: str


def windows(processes: Processes) -> list[Window]:
    """All windows the window manager knows."""
    found = []
    for line in processes.run(["wmctrl", "-lGx"], timeout=_TIMEOUT).output.splitlines():
        fields = line.split(None, 8)
        if len(fields) >= 8:
            title = fields[8] if len(fields) == 9 else ""
            found.append(Window(fields[0], int(fields[4]), int(fields[5]), fields[6], title))
    return found


def activate(processes: Processes, name: str, strict: bool, by_class: bool) -> None:
    """Raise and focus the first window whose title (or class) contains the name, or is it when ``strict``."""
    processes.run(["wmctrl", f"-{'x' if by_class else ''}{'F' if strict else ''}a", name], timeout=_TIMEOUT)


def close(processes: Processes, name: str, strict: bool, by_class: bool) -> None:
    """Ask the first window whose title (or class) contains the name, or is it when ``strict``, to close."""
    processes.run(["wmctrl", f"-{'x' if by_class else ''}{'F' if strict else ''}c", name], timeout=_TIMEOUT)


def open_file(processes: Processes, path: str) -> None:
    """Open a file with its application, or start a program, and wait for a window with its name.

    Raises:
        RequestError: there is no such file or program, or no window came.
    """
    file = PurePosixPath(path)
    program = not processes.run(["sh", "-c", 'command -v -- "$1"', "sh", path], timeout=_TIMEOUT).returncode
    if not processes.run(["test", "-e", path], timeout=_TIMEOUT).returncode:
        processes.launch(["xdg-open", path])
    elif program:
        processes.launch([path])
    else:
        raise RequestError(f"no such file or program: {path}", 404)
    wanted = {file.name.lower(), file.stem.lower()}
    end = time.monotonic() + _OPEN_PATIENCE
    while time.monotonic() < end:
        for window in windows(processes):
            title = window.title.lower()
            if any(name in title for name in wanted) or (program and file.stem.lower() in window.application.lower()):
                processes.run(["wmctrl", "-ia", window.id], timeout=_TIMEOUT)
                return
        time.sleep(0.1)
    raise RequestError(f"no window for {path} after {_OPEN_PATIENCE:g} seconds", 500)
