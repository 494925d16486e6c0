"""Client of OSWorld's guest protocol, for any server: this package's guest, a virtual machine, a container."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from PIL import Image

from rlanything_envs.osworld.desktop.errors import DesktopError, DesktopWrecked, GuestRefusal
from rlanything_envs.osworld.desktop.guest.framebuffer import Framebuffer
from rlanything_envs.osworld.desktop.observation import GuestOutput, Health, Observation, Pixels
from rlanything_envs.osworld.desktop.transport import Response, Transport, json_of

__all__ = ["GuestClient"]

#: Seconds. Those of `_RUN`, `_PYTHON` and `_SCRIPT` are the limits upstream's server sets; what is added to them is for
#: the answer to arrive. Looking at a virtual machine's accessibility tree can take minutes.
_LOOK, _RUN, _PYTHON, _SCRIPT, _SETUP, _OPEN, _TREE, _SLACK = 30.0, 120.0, 30.0, 100.0, 120.0, 190.0, 180.0, 10.0

_REFUSALS = (400, 404, 500)
"""Statuses with which a working guest refuses a request: no such file, or an unreadable one."""
_ENDLESS = 413
"""Status of our guest where content was asked for that is a device, a pipe, or has no end."""

_ACTION_SECONDS = 90.0
"""Limit of one action, as upstream's controller has it."""

_WIDEST = 32_767
"""Pixels of a side of a screen or window, as the X protocol counts them."""
_MOST_PIXELS = 40_000_000

_PRELUDE = "import pyautogui\nimport time\npyautogui.FAILSAFE = False\n"
"""Code before that of each action, with the names of OSWorld's controller."""

_FOREIGN_PRELUDE = """\
import pyautogui
import time
pyautogui.FAILSAFE = False
pyautogui.PAUSE = max(pyautogui.PAUSE, 0.02)
try:
    from pyautogui import _pyautogui_x11 as _x11
    _x11.keyboardMapping["<"] = _x11._display.keysym_to_keycode(0x2C)  # PyAutoGUI types '>' where '<' was asked for
except Exception:
    pass
"""
"""The same for a guest with the real PyAutoGUI."""


class GuestClient:
    """Everything a program outside can do with a desktop.

    Requests that only look are repeated when no answer comes, all others are sent once: an action must never happen
    twice. What the guest refuses or fails to do is in the returned value; an exception means that the guest is out of
    reach or broken.

    Args:
        url: ``http://host:port`` or ``unix:/path/of/socket``.
        token: the bearer token, for guests that want one.
        framebuffer: the guest's pixels, where this machine has them too: 8 MB less to send.

    Raises:
        SettingError: the address is neither.
        DesktopError: (all methods) no answer, or none that makes sense; `GuestRefusal` where a program or a file that
            is asked for is not there; `DesktopWrecked` where a file or an output has no end.
    """

    def __init__(self, url: str, token: str | None = None, framebuffer: Framebuffer | None = None) -> None:
        self.transport = Transport(url, token)
        self._framebuffer = framebuffer

    @property
    def url(self) -> str:
        """Where the guest is."""
        return self.transport.url

    # --- who is there ---

    def health(self) -> Health:
        """Ask the guest who it is."""
        answer = self.transport.get("/healthz", timeout=_LOOK)
        value = answer.json()
        if answer.status == 401:
            raise DesktopError(f"{self.url}: {answer.reason}")
        if not answer.ok or not isinstance(value, dict) or "server" not in value:
            return Health("unknown")
        with self._reading("/healthz"):
            broken, apart = str(value.get("broken", "")), value.get("apart") is True
            busy, held = int(value.get("busy", 0)), float(value.get("held", 0))
            return Health(str(value["server"]), broken, apart, busy, held)

    @cached_property
    def _own(self) -> bool:
        return self.health().own

    # --- looking ---

    def screenshot(self) -> bytes:
        """The screen as PNG, with the pointer in it."""
        answer = self._good(self.transport.get("/screenshot", timeout=_LOOK), "/screenshot")
        if not answer.body.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")):
            raise DesktopError(f"{self.url}/screenshot: the answer is neither PNG nor JPEG")
        return answer.body

    def screenshot_array(self) -> Pixels:
        """The screen as uint8, shape (height, width, 3), red, green, blue."""
        if self._framebuffer is not None:
            try:
                return _from_bgrx(*self._framebuffer.read())
            except OSError as error:
                raise DesktopError(f"{self.url}: {error}") from error
        if not self._own:
            with self._reading("/screenshot"):
                return _decoded(self.screenshot())
        answer = self._good(self.transport.get("/screenshot", {"format": "raw"}, timeout=_LOOK), "/screenshot")
        with self._reading("/screenshot"):
            return _from_bgrx(_side(answer.headers["X-Width"]), _side(answer.headers["X-Height"]), answer.body)

    def accessibility_tree(self) -> str:
        """The accessibility tree as XML text, in upstream's vocabulary."""
        return self._text(self.transport.get("/accessibility", timeout=_TREE), "/accessibility", "AT")

    def terminal_output(self) -> str | None:
        """The text of the terminal in the active window; None where there is none."""
        answer = self.transport.get("/terminal", timeout=_LOOK)
        value = answer.json()
        if answer.ok and isinstance(value, dict):
            text = value.get("output")
            return text if isinstance(text, str) else None
        return None  # upstream answers 500 where the active window is no terminal

    def observe(self, screenshot: bool = True, accessibility: bool = False, terminal: bool = False) -> Observation:
        """Several looks at once; one request on our own guest, one for each look on others."""
        if self._framebuffer is not None and not (accessibility or terminal):
            return Observation(self.screenshot_array() if screenshot else None)
        if not self._own:
            return Observation(
                self.screenshot_array() if screenshot else None,
                self.accessibility_tree() if accessibility else None,
                self.terminal_output() if terminal else None,
            )
        picture_wanted = screenshot and self._framebuffer is None
        wanted = {
            "screenshot": picture_wanted and "raw",
            "accessibility": accessibility and "1",
            "terminal": terminal and "1",
        }
        query = {name: value for name, value in wanted.items() if value}
        answer = self._good(self.transport.get("/batch", query, timeout=_TREE), "/batch")
        line, _, picture = answer.body.partition(b"\n")
        with self._reading("/batch"):
            value = json_of(line)
            size = value.get("screenshot")
            pixels = _from_bgrx(_side(size["width"]), _side(size["height"]), picture) if size else None
            texts = value.get("accessibility_tree"), value.get("terminal")
            if not all(text is None or isinstance(text, str) for text in texts):
                raise TypeError("the tree and the terminal are texts")
        if screenshot and self._framebuffer is not None:
            pixels = self.screenshot_array()
        return Observation(pixels, *texts)

    def screen_size(self) -> tuple[int, int]:
        """Width and height of the screen in pixels."""
        return self._size(self.transport.post("/screen_size", timeout=_LOOK), "/screen_size")

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        """Width and height of the first window of a class; None where there is none."""
        form = {"app_class_name": app_class_name}
        answer = self.transport.post_form("/window_size", form, timeout=_LOOK)
        return self._size(answer, "/window_size") if answer.ok and answer.json() else None

    def cursor_position(self) -> tuple[int, int]:
        """Where the pointer is, in pixels."""
        value = self._good(self.transport.get("/cursor_position", timeout=_LOOK), "/cursor_position").json()
        with self._reading("/cursor_position"):
            x, y = value
            return int(x), int(y)

    def platform(self) -> str:
        """The name of the operating system."""
        answer = self._good(self.transport.get("/platform", timeout=_LOOK), "/platform")
        return answer.body.decode(errors="replace").strip().strip('"')

    def desktop_path(self) -> str:
        """Where the user's desktop folder is."""
        answer = self.transport.post("/desktop_path", timeout=_LOOK)
        return self._text(answer, "/desktop_path", "desktop_path")

    # --- acting ---

    def act(self, code: str) -> GuestOutput:
        """Run PyAutoGUI code in the guest, once.

        Args:
            code: any Python; ``pyautogui`` and ``time`` are imported.

        Returns:
            What it printed and its exit status; an action that fails is the agent's failure, no exception.
        """
        prelude = _PRELUDE if self._own else _FOREIGN_PRELUDE
        return self.execute(["python", "-c", prelude + code], timeout=_ACTION_SECONDS)

    def execute(self, command: Sequence[str] | str, *, shell: bool = False, timeout: float = _RUN) -> GuestOutput:
        """Run a command to its end, once.

        Args:
            command: a list of words, or one text: split into words, or given to the shell.
            shell: whether the shell reads the command.
            timeout: seconds; a guest that is not our own keeps to its 120.

        Returns:
            What it printed and its exit status: 127 where the guest could not run it or it ran too long.
        """
        value: dict[str, Any] = {"command": command if isinstance(command, str) else list(command), "shell": shell}
        if self._own:
            value["timeout"] = timeout
        answer = self.transport.post("/execute", value, timeout=timeout + _SLACK)
        return self._output(answer, "/execute", "returncode")

    def run_python(self, code: str) -> GuestOutput:
        """Run Python code in the guest, at most 30 seconds."""
        answer = self.transport.post("/run_python", {"code": code}, timeout=_PYTHON + _SLACK)
        return self._output(answer, "/run_python", "return_code")

    def run_bash_script(self, script: str, timeout: float = _SCRIPT, working_dir: str | None = None) -> GuestOutput:
        """Run a Bash script; its two streams come back as one, in ``output``."""
        value = {"script": script, "timeout": timeout, "working_dir": working_dir}
        answer = self.transport.post("/run_bash_script", value, timeout=timeout + _SLACK)
        return self._output(answer, "/run_bash_script", "returncode")

    def launch(self, command: Sequence[str] | str, shell: bool = False) -> None:
        """Start a program and leave it running."""
        value = {"command": command if isinstance(command, str) else list(command), "shell": shell}
        self._done(self.transport.post("/setup/launch", value, timeout=_SETUP), "/setup/launch")

    def open_file(self, path: str) -> None:
        """Open a file with its application, or start a program, and wait for its window."""
        self._done(self.transport.post("/setup/open_file", {"path": path}, timeout=_OPEN), "/setup/open_file")

    def activate_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Raise and focus a window by its title or class."""
        self._window("/setup/activate_window", name, strict, by_class)

    def close_window(self, name: str, strict: bool = False, by_class: bool = False) -> None:
        """Ask a window to close, by its title or class."""
        self._window("/setup/close_window", name, strict, by_class)

    def reset(self) -> None:
        """A new home and no application; our own guests only."""
        self._good(self.transport.post("/reset", timeout=_SETUP), "/reset")

    # --- files ---

    def read_file(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none that could be read."""
        answer = self.transport.post_form("/file", {"file_path": path}, timeout=_RUN)
        return None if answer.status in _REFUSALS else self._good(answer, "/file").body

    def upload(self, path: str, data: bytes) -> None:
        """Store a file, with the directories above it."""
        form = {"file_path": path}
        self._done(self.transport.post_file("/setup/upload", form, "file_data", data, timeout=_SETUP), "/setup/upload")

    def list_directory(self, path: str) -> dict[str, Any] | None:
        """A directory and everything below it as ``{type, name, children}``; None where none could be read."""
        answer = self.transport.post("/list_directory", {"path": path}, timeout=_RUN)
        if answer.status in _REFUSALS:
            return None
        value = self._value(answer, "/list_directory", "directory_tree")
        return value if isinstance(value, dict) else None

    def wallpaper(self) -> bytes | None:
        """The picture behind the windows; None where there is none."""
        answer = self.transport.post("/wallpaper", timeout=_LOOK)
        return answer.body if answer.ok else None

    def change_wallpaper(self, path: str) -> None:
        """Choose the picture behind the windows."""
        answer = self.transport.post("/setup/change_wallpaper", {"path": path}, timeout=_LOOK)
        self._done(answer, "/setup/change_wallpaper")

    # --- reading answers ---

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Treat an unreadable answer as a broken guest: an agent may have replaced it."""
        try:
            yield
        except DesktopError:
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:200]
            raise DesktopError(f"{self.url}{path}: an answer that cannot be read: {said}") from error

    def _good(self, answer: Response, path: str) -> Response:
        if answer.status == _ENDLESS:
            raise DesktopWrecked(f"{path}: {answer.reason}")
        if not answer.ok:
            raise DesktopError(f"{self.url}{path}: HTTP {answer.status}: {answer.reason}")
        return answer

    def _done(self, answer: Response, path: str) -> None:
        if answer.status in _REFUSALS:
            raise GuestRefusal(f"{self.url}{path}: {answer.reason}")
        self._good(answer, path)

    def _value(self, answer: Response, path: str, name: str) -> Any:
        value = self._good(answer, path).json()
        if not isinstance(value, dict) or name not in value:
            raise DesktopError(f"{self.url}{path}: the answer has no {name!r}")
        return value[name]

    def _text(self, answer: Response, path: str, name: str) -> str:
        value = self._value(answer, path, name)
        if not isinstance(value, str):
            raise DesktopError(f"{self.url}{path}: {name!r} is a {type(value).__name__}, expected a text")
        return value

    def _size(self, answer: Response, path: str) -> tuple[int, int]:
        with self._reading(path):
            return _side(self._value(answer, path, "width")), _side(self._value(answer, path, "height"))

    def _window(self, path: str, name: str, strict: bool, by_class: bool) -> None:
        value = {"window_name": name, "strict": strict, "by_class": by_class}
        self._done(self.transport.post(path, value, timeout=_LOOK), path)

    def _output(self, answer: Response, path: str, status: str) -> GuestOutput:
        value = answer.json()
        if not isinstance(value, Mapping) or answer.status not in (200, 400, 500):
            self._good(answer, path)
            raise DesktopError(f"{self.url}{path}: HTTP {answer.status}: {answer.reason}")
        if status in value:
            with self._reading(path):
                return GuestOutput(str(value.get("output") or ""), str(value.get("error") or ""), int(value[status]))
        return GuestOutput("", answer.reason, 127)


def _side(value: Any) -> int:
    """Width or height of a screen or window, in pixels."""
    if not 0 < (side := int(value)) <= _WIDEST:
        raise ValueError(f"{side} pixels")
    return side


def _from_bgrx(width: int, height: int, data: bytes) -> Pixels:
    if len(data) != 4 * width * height:
        raise DesktopError(f"a screenshot of {width} by {height} pixels came with {len(data)} bytes")
    source = np.frombuffer(data, np.uint8).reshape(height, width, 4)
    target = np.empty((height, width, 3), np.uint8)
    for channel in range(3):  # three plain copies take a third of the time of one with a reversed axis
        target[..., channel] = source[..., 2 - channel]
    return target


def _decoded(picture: bytes) -> Pixels:
    with Image.open(io.BytesIO(picture), formats=("PNG", "JPEG")) as image:
        if image.width * image.height > _MOST_PIXELS:
            raise DesktopError(f"a screenshot of {image.width} by {image.height} pixels")
        return np.asarray(image.convert("RGB"))
