"""Interfaces that verifiers use: a running desktop, and the files of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Files", "Guest", "Printed"]


class Printed(Protocol):
    """Output and exit status of a program in the guest."""

    @property
    def output(self) -> str:
        """Its standard output."""

    @property
    def error(self) -> str:
        """Its standard error."""

    @property
    def returncode(self) -> int:
        """Its exit status."""


class Guest(Protocol):
    """A running desktop, as far as a verifier looks at it.

    An exception means that the desktop is out of order and passes through every verifier; what an agent did wrong is
    in what is returned.
    """

    def read_file(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""

    def execute(self, command: Sequence[str] | str, *, shell: bool = False) -> Printed:
        """Run a command to its end, once."""

    def list_directory(self, path: str) -> dict[str, Any] | None:
        """A directory and everything below it as ``{type, name, children}``; None where there is none."""

    def accessibility_tree(self) -> str:
        """The accessibility tree as XML."""

    def terminal_output(self) -> str | None:
        """The text of the active terminal."""

    def wallpaper(self) -> bytes | None:
        """The picture behind the windows."""

    def screen_size(self) -> tuple[int, int]:
        """Width and height in pixels."""

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        """Width and height of a window."""

    def desktop_path(self) -> str:
        """The user's desktop folder."""


class Files(Protocol):
    """The files that a task brings along, by their URL."""

    def read(self, url: str) -> bytes:
        """The bytes of a file; a special exception where it cannot be read."""
