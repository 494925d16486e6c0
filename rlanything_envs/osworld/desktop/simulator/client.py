"""The simulated desktop as the client of a real one."""

from __future__ import annotations

import io
import shlex
from collections.abc import Sequence
from typing import Any

from rlanything_envs.osworld.desktop.errors import DesktopError, GuestRefusal
from rlanything_envs.osworld.desktop.observation import GuestOutput, Health, Observation, Pixels
from rlanything_envs.osworld.desktop.simulator import interpreter
from rlanything_envs.osworld.desktop.simulator.files import HOME, DiskError
from rlanything_envs.osworld.desktop.simulator.screen import NotSimulated, ProgramError, Screen
from rlanything_envs.osworld.desktop.simulator.shell import Shell
from rlanything_envs.osworld.desktop.simulator.tree import tree_xml

__all__ = ["SimulatorClient"]

_PYTHON = ("python", "python3")
_SHELLS = ("bash", "sh", "/bin/bash", "/bin/sh")
_REMEDY = "play the task on a real desktop, with backend='bwrap' or backend='docker'"


class SimulatorClient:
    """`Client` for a `Screen`.

    What an agent does wrong is in what is returned. What a task asks for and the simulator has not (a program, the
    network) is a `DesktopError`, a file that is not there a `GuestRefusal`: they say nothing about the agent.

    Args:
        screen: the screen.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    # --- looking ---

    def health(self) -> Health:
        """A simulator answers."""
        return Health("rlanything-simulator", 1, self._screen.size)

    def screenshot(self) -> bytes:
        """The screen as PNG."""
        data = io.BytesIO()
        self._screen.draw().image.save(data, "PNG", compress_level=1)
        return data.getvalue()

    def screenshot_array(self) -> Pixels:
        """The screen as uint8, shape (height, width, 3)."""
        return self._screen.draw().pixels()

    def accessibility_tree(self) -> str:
        """The accessibility tree as XML, in the guest's form."""
        return tree_xml(self._screen.scene())

    def terminal_output(self) -> str | None:
        """The text of the terminal in the active window; None where there is none."""
        window = self._screen.active
        text = window.terminal_text() if window is not None else None
        return None if text is None else text.rstrip()

    def observe(self, screenshot: bool = True, accessibility: bool = False, terminal: bool = False) -> Observation:
        """Several looks at once."""
        return Observation(
            self.screenshot_array() if screenshot else None,
            self.accessibility_tree() if accessibility else None,
            self.terminal_output() if terminal else None,
        )

    def screen_size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return self._screen.size

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        """Width and height of the first window of a class, without its title bar; None where there is none."""
        window = self._screen.find(app_class_name, by_class=True)
        return None if window is None else (self._screen.size[0], self._screen.size[1] - window.area.y + 25)

    def cursor_position(self) -> tuple[int, int]:
        """Where the pointer is."""
        return self._screen.pointer

    def platform(self) -> str:
        """The operating system it pretends to be."""
        return "Linux"

    def desktop_path(self) -> str:
        """The user's desktop folder."""
        return f"{HOME}/Desktop"

    # --- acting ---

    def act(self, code: str) -> GuestOutput:
        """Run PyAutoGUI code, once; what it may say is in `interpreter`."""
        return interpreter.run(code, self._screen)

    def execute(
        self, command: Sequence[str] | str, *, shell: bool = False, timeout: float = 120.0, setup: bool = False
    ) -> GuestOutput:
        """Run a command of the simulated shell; 127 for what it has not. ``timeout`` and ``setup`` change nothing."""
        if isinstance(command, str) and shell:
            return self._changed(self._shell().run(command))
        try:
            words = _words(command)
        except ValueError as error:
            return GuestOutput("", str(error), 127)
        if len(words) == 3 and words[0] in _PYTHON and words[1] == "-c":
            return self.act(words[2])
        if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc"):
            return self._changed(self._shell().run(words[2]))
        done = self._shell().run_words(words)
        if done.returncode == 127:
            message = f"[Errno 2] No such file or directory: {words[0]!r} (the simulated desktop has no such program)"
            return GuestOutput("", message, 127)
        return self._changed(done)

    def run_python(self, code: str) -> GuestOutput:
        """Run PyAutoGUI code; other Python fails."""
        return self.act(code)

    def run_bash_script(self, script: str, timeout: float = 100.0, working_dir: str | None = None) -> GuestOutput:
        """Run lines of the simulated shell; both streams come back in ``output``."""
        shell = self._shell()
        if working_dir:
            folder = self._screen.disk.absolute(working_dir)
            if not self._screen.disk.is_folder(folder):
                return GuestOutput("", f"[Errno 2] No such file or directory: {working_dir!r}", 127)
            shell.folder = folder
        done = self._changed(shell.run(script, merge=True))
        return GuestOutput(done.output + done.error, "", done.returncode)

    def launch(self, command: Sequence[str] | str, shell: bool = False) -> None:
        """Start a program."""
        if isinstance(command, str) and shell:
            self._changed(self._shell().run(command))
            return
        try:
            words = _words(command)
            if self._shell().knows(words[0]) or words[0] in (*_PYTHON, *_SHELLS):
                self.execute(words)
            else:
                self._screen.start(words)
        except NotSimulated as error:
            raise DesktopError(f"launch: {error}; {_REMEDY}") from error
        except (ProgramError, ValueError) as error:
            raise GuestRefusal(f"launch: {error}") from error

    def open_file(self, path: str) -> None:
        """Open a file with its program, or start a program."""
        full = self._screen.disk.absolute(path)
        exists = self._screen.disk.find(full) is not None
        if not exists and ("/" in path or "." in path):
            raise GuestRefusal(f"open_file: no such file: {path}")
        try:
            self._screen.start(["xdg-open", full] if exists else [path])
        except NotSimulated as error:
            raise DesktopError(f"open_file: {error}; {_REMEDY}") from error
        except ProgramError as error:
            raise GuestRefusal(f"open_file: {error}") from error

    def activate_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Raise a window, if there is one of this name."""
        window = self._screen.find(name, strict, by_class)
        if window is not None:
            self._screen.raise_window(window)

    def close_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Close a window, if there is one of this name; one with unsaved changes opens a dialog."""
        window = self._screen.find(name, strict, by_class)
        if window is not None:
            window.ask_close()
            self._screen.changed()

    # --- files ---

    def read_file(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""
        full = self._screen.disk.absolute(path)
        return self._screen.disk.read(full) if self._screen.disk.is_file(full) else None

    def upload(self, path: str, data: bytes) -> None:
        """Store a file, with the folders above it."""
        try:
            self._screen.disk.write(self._screen.disk.absolute(path), data, parents=True)
        except DiskError as error:
            raise GuestRefusal(f"upload: {error}") from error
        self._screen.changed()

    def list_directory(self, path: str) -> dict[str, Any] | None:
        """A folder and everything below it; None where there is none."""
        full = self._screen.disk.absolute(path)
        return self._screen.disk.tree(full) if self._screen.disk.is_folder(full) else None

    def download_file(self, url: str, path: str) -> None:
        """There is no network."""
        raise DesktopError(f"the simulated desktop has no network: {url}; fetch it outside and upload it")

    def wallpaper(self) -> bytes | None:
        """The picture behind the windows; None where none was chosen."""
        return self.read_file(self._screen.wallpaper) if self._screen.wallpaper else None

    def change_wallpaper(self, path: str) -> None:
        """Choose the picture behind the windows; it is not drawn."""
        full = self._screen.disk.absolute(path)
        if not self._screen.disk.is_file(full):
            raise GuestRefusal(f"change_wallpaper: no such file: {path}")
        self._screen.wallpaper = full

    def _shell(self) -> Shell:
        return Shell(self._screen.disk, self._screen.start)

    def _changed(self, done: GuestOutput) -> GuestOutput:
        self._screen.changed()
        return done


def _words(command: Sequence[str] | str) -> list[str]:
    """A command as the guest reads it: a text is split, ``~/`` is the home."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise ValueError("the command is empty")
    return [f"{HOME}/{word[2:]}" if word.startswith("~/") else word for word in words]
