"""The interface to every desktop: one object to start, put back and end it, one to look at it and act on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

from rlanything_envs.osworld.desktop.observation import GuestOutput, Health, Observation, Pixels

__all__ = ["Client", "Desktop"]


class Client(Protocol):
    """Operations on a running desktop; `GuestClient` describes each method.

    `DesktopError` means that the desktop is out of order. What an agent or a task did wrong is in what is returned.
    """

    def health(self) -> Health:
        """Identity and state of the guest."""

    def screenshot(self) -> bytes:
        """The screen as PNG."""

    def screenshot_array(self) -> Pixels:
        """The screen as uint8, shape (height, width, 3)."""

    def accessibility_tree(self) -> str:
        """The accessibility tree as XML."""

    def terminal_output(self) -> str | None:
        """The text of the active terminal."""

    def observe(self, screenshot: bool = True, accessibility: bool = False, terminal: bool = False) -> Observation:
        """Several looks at once."""

    def screen_size(self) -> tuple[int, int]:
        """Width and height in pixels."""

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        """Width and height of a window."""

    def cursor_position(self) -> tuple[int, int]:
        """Where the pointer is."""

    def platform(self) -> str:
        """The operating system."""

    def desktop_path(self) -> str:
        """The user's desktop folder."""

    def act(self, code: str) -> GuestOutput:
        """Run PyAutoGUI code, once."""

    def execute(self, command: Sequence[str] | str, *, shell: bool = False, timeout: float = 120.0) -> GuestOutput:
        """Run a command to its end, once."""

    def run_python(self, code: str) -> GuestOutput:
        """Run Python code."""

    def run_bash_script(self, script: str, timeout: float = 100.0, working_dir: str | None = None) -> GuestOutput:
        """Run a Bash script."""

    def launch(self, command: Sequence[str] | str, shell: bool = False) -> None:
        """Start a program and leave it running."""

    def open_file(self, path: str) -> None:
        """Open a file and wait for its window."""

    def activate_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Raise and focus a window."""

    def close_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Ask a window to close."""

    def read_file(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""

    def upload(self, path: str, data: bytes) -> None:
        """Store a file."""

    def list_directory(self, path: str) -> dict[str, Any] | None:
        """A directory and everything below it."""

    def wallpaper(self) -> bytes | None:
        """The picture behind the windows."""

    def change_wallpaper(self, path: str) -> None:
        """Choose the picture behind the windows."""


@runtime_checkable
class Desktop(Protocol):
    """Something with a screen, a keyboard and a mouse that can be started, put back and ended.

    Every method raises `DesktopError` when the desktop is out of order, which says nothing about an agent.
    """

    name: str

    @property
    def client(self) -> Client:
        """The way to the running desktop."""

    def start(self) -> None:
        """Start it, unless it runs; afterwards the client answers."""

    def reset(self) -> None:
        """A pristine home and no application."""

    def intact(self) -> bool:
        """Whether everything outside an agent's reach still runs, so that a failure after an action is the agent's."""

    def close(self) -> None:
        """End it and leave nothing behind; may be called twice."""

    def __enter__(self) -> Self:
        """`start`."""

    def __exit__(self, *_: object) -> None:
        """`close`."""
