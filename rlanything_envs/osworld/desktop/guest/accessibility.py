"""The accessibility tree and the terminal's text, each read by its own process.

A new process queries each application again, while a permanent one would have to follow all their changes; it can be
ended when an application hangs; and a crash of the accessibility library is not one of the server.
"""

from __future__ import annotations

import time

from .interior import InteriorError
from .processes import Processes
from .storage import Refusal

__all__ = ["AccessibilityReader"]

_SECONDS = 170.0
"""Less than a client waits; an application that does not answer is left out long before, but one that shares two
processors with thirty other programs can take more than a minute."""
_FREE_SECONDS = 15.0
"""Without that time: a tree takes one or two, unless a program of the desktop makes it long."""
_READINGS = 3
"""libatspi 2.46 reads through a null pointer where an application ends just before it is connected to."""


class AccessibilityReader:
    """Runs `guest.tree` in copies of a process that has loaded it."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    def tree(self) -> str:
        """The tree as XML text.

        Raises:
            InteriorError: it took too long, or there is no accessibility bus.
        """
        return self._read("tree")

    def terminal(self) -> str | None:
        """The text of the terminal in the active window; None where there is none.

        Raises:
            InteriorError: it took too long, or there is no accessibility bus.
        """
        return self._read("terminal")[1:] or None

    def _read(self, what: str) -> str:
        command = ["python", "-c", f"from guest.tree import main; main({what!r})"]
        end = time.monotonic() + _SECONDS
        for _ in range(_READINGS):
            left = max(0.0, end - time.monotonic())
            try:
                done = self._processes.run(command, timeout=left, module="guest.tree", free=_FREE_SECONDS, cwd="/")
            except (OSError, Refusal, InteriorError) as error:
                raise InteriorError(f"the accessibility tree: {error}") from error
            if done.returncode >= 0:
                break
        if done.returncode != 0:
            last = done.error.strip().splitlines()[-1:] or ["no message"]
            raise InteriorError(f"the accessibility tree: exit status {done.returncode}: {last[0]}")
        return done.output
