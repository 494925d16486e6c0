"""A stand-in for a desktop: a text editor and a terminal, in memory. No program runs in it.

It is behind the interface of the real desktops, under the backend ``"scripted"`` (see `SCRIPTED`), for tests of what is
around a desktop. What they prove of desktops is nothing: those tests are in ``tests/envs/osworld``.
"""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from PIL import Image, ImageDraw

from rlanything_envs.osworld.desktop import BACKENDS, DesktopError, GuestOutput, GuestRefusal, Health, Observation
from rlanything_envs.osworld.env import OSWorldEnv  # noqa: F401 (of this module, it knows the backend anywhere)

KINDS = ("edit_config", "edit_csv", "edit_text")
"""Kinds of generated tasks whose solutions it plays."""
SCRIPTED: dict[str, Any] = {"backend": "scripted", "settle": None, "knobs": {"kinds": list(KINDS)}}
"""Arguments of the environment; the screen changes only in calls, so there is nothing to wait for."""

_TITLE = 24
_SHOWN = " ".join(f'st:{state}="true"' for state in ("enabled", "sensitive", "showing", "visible"))
_SPACE = "https://accessibility.ubuntu.example.org/ns"
_MOUSE = ("click", "doubleClick", "rightClick", "moveTo", "dragTo")
_IGNORED = ("scroll", "hscroll", "vscroll", "mouseDown", "mouseUp", "keyDown", "keyUp")


@dataclass
class Window:
    """An editor of a file, or a terminal, which has none: its text, a caret, and where a selection begins."""

    title: str
    program: str
    text: str = ""
    path: str = ""
    caret: int = 0
    anchor: int = 0

    def insert(self, text: str) -> None:
        begin, end = sorted((self.caret, self.anchor))
        self.text = self.text[:begin] + text + self.text[end:]
        self.caret = self.anchor = begin + len(text)

    def move(self, key: str, held: tuple[str, ...]) -> None:
        line = self.text.rfind("\n", 0, self.caret) + 1
        end = (self.text + "\n").find("\n", self.caret)
        places = {
            "home": 0 if "ctrl" in held else line,
            "end": len(self.text) if "ctrl" in held else end,
            "up": self.text.rfind("\n", 0, max(0, line - 1)) + 1,
            "down": min(len(self.text), end + 1),
        }
        self.caret = places.get(key, self.caret)
        if "shift" not in held:
            self.anchor = self.caret


class ScriptedClient:
    """Operations on the stand-in; the rest of the interface is not there."""

    def __init__(self, screen: tuple[int, int]) -> None:
        self.screen, self.pointer = screen, (screen[0] // 2, screen[1] // 2)
        self.files: dict[str, bytes] = {}
        self.windows: list[Window] = []

    def health(self) -> Health:
        return Health("scripted", 0, self.screen)

    def screen_size(self) -> tuple[int, int]:
        return self.screen

    def cursor_position(self) -> tuple[int, int]:
        return self.pointer

    def screenshot_array(self) -> np.ndarray[Any, Any]:
        picture = Image.new("RGB", self.screen, (58, 82, 110))
        draw = ImageDraw.Draw(picture)
        for window in self.windows:
            x, y, width, height = self._place(window)
            draw.rectangle((x, y, x + width, y + height), fill=(250, 250, 250), outline=(30, 30, 30))
            draw.text((x + 6, y + 6), f"{window.title}\n\n{window.text}".encode("ascii", "replace"), fill=(0, 0, 0))
        return np.array(picture)

    def accessibility_tree(self) -> str:
        parts = [f'<desktop-frame xmlns:st="{_SPACE}/state" xmlns:cp="{_SPACE}/component" name="main">']
        for window in self.windows:
            active = ' st:active="true"' if window is self.windows[-1] else ""
            x, y, width, height = self._place(window)
            role, editable = ("text", ' st:editable="true"') if window.path else ("terminal", "")
            frame = f'cp:screencoord="({x}, {y})" cp:size="({width}, {height})"'
            inside = f'cp:screencoord="({x}, {y + _TITLE})" cp:size="({width}, {height - _TITLE})"'
            text = escape("".join(letter for letter in window.text if letter.isprintable() or letter == "\n"))
            parts.append(f"<frame name={quoteattr(window.title)} {_SHOWN}{active} {frame}>")
            parts.append(f"<{role} {_SHOWN}{editable} {inside}>{text}</{role}></frame>")
        return "".join([*parts, "</desktop-frame>"])

    def observe(self, screenshot: bool = True, accessibility: bool = False, terminal: bool = False) -> Observation:
        tree = self.accessibility_tree() if accessibility else None
        typed = self.windows[-1].text if terminal and self.windows and not self.windows[-1].path else None
        return Observation(self.screenshot_array() if screenshot else None, tree, typed)

    def _place(self, window: Window) -> tuple[int, int, int, int]:
        place = 40 + 20 * self.windows.index(window)
        return place, place, self.screen[0] // 2, self.screen[1] // 2

    def act(self, code: str) -> GuestOutput:
        """Calls of ``pyautogui`` with constants, one after the other; nothing else is Python here."""
        printed: list[str] = []
        try:
            for statement in ast.parse(code).body:
                self._call(statement, printed)
        except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError) as error:
            said = str(error).partition(" on line")[0]  # without addresses of objects, which differ
            return GuestOutput("".join(printed), f"{type(error).__name__}: {said}", 1)
        return GuestOutput("".join(printed), "", 0)

    def _call(self, statement: ast.stmt, printed: list[str]) -> None:
        if isinstance(statement, ast.Import):
            return
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise ValueError(f"the stand-in runs no {ast.unparse(statement)[:80]}")
        given = [ast.literal_eval(each) for each in statement.value.args]
        named = {str(each.arg): ast.literal_eval(each.value) for each in statement.value.keywords}
        name = ast.unparse(statement.value.func)
        if name == "print":
            printed.append(" ".join(map(str, given)) + "\n")
        elif name.startswith("pyautogui."):
            self._input(name.removeprefix("pyautogui."), given, named)
        elif name != "time.sleep":
            raise AttributeError(name)

    def _input(self, name: str, given: list[Any], named: dict[str, Any]) -> None:
        if name in ("write", "typewrite"):
            for letter in str(given[0] if given else named["message"]):
                self._key("enter" if letter == "\n" else letter)
        elif name == "press":
            for _ in range(int(named.get("presses", 1))):
                for key in [given[0]] if isinstance(given[0], str) else given[0]:
                    self._key(key)
        elif name == "hotkey":
            *held, last = [str(key).lower() for key in given]
            self._key(last, tuple(held))
        elif name in _MOUSE:
            place = [*given, *([] if given else [named[axis] for axis in "xy" if axis in named])][:2]
            self.pointer = (int(place[0]), int(place[1])) if len(place) == 2 else self.pointer
        elif name not in _IGNORED:
            raise AttributeError(f"module 'pyautogui' has no attribute {name!r}")

    def _key(self, key: str, held: tuple[str, ...] = ()) -> None:
        window = self.windows[-1] if self.windows else Window("", "")
        if held == ("ctrl",) and key == "s" and window.path:
            self.files[window.path] = window.text.encode(errors="replace")
        elif key in ("enter", "return"):
            line = window.text.rpartition("\n")[2].removeprefix("$ ")
            window.insert("\n" if window.path else f"\n{self._run(line).output}$ ")
        elif held == ("ctrl",) and key == "a":
            window.anchor, window.caret = 0, len(window.text)
        elif not held and (len(key) == 1 or key == "delete"):
            window.insert("" if key == "delete" else key)
        else:
            window.move(key, held)

    def execute(self, command: Any, **_: Any) -> GuestOutput:
        if isinstance(command, str):
            return self._run(command)
        words = list(command)
        if words[0] == "wmctrl":
            rows = [f"0x{n} 0 {window.program} host {window.title}\n" for n, window in enumerate(self.windows)]
            return GuestOutput("".join(rows), "", 0)
        if words[:2] == ["xdotool", "getactivewindow"]:
            return GuestOutput(self.windows[-1].title if self.windows else "", "", 0)
        if words[:2] == ["bash", "-c"]:  # which of the programs after the script there are
            return GuestOutput("\n".join(words[4:]), "", 0)
        if words[:2] == ["python", "-c"]:
            return self.act(words[2])
        return self._run(shlex.join(words))

    def _run(self, line: str) -> GuestOutput:
        """``echo WORDS`` and ``cat FILE``."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            return GuestOutput("", f"{error}\n", 2)
        if words[:1] == ["echo"]:
            return GuestOutput(" ".join(words[1:]) + "\n", "", 0)
        if words[:1] == ["cat"] and len(words) == 2 and (content := self.read_file(words[1])) is not None:
            return GuestOutput(content.decode(errors="replace"), "", 0)
        return GuestOutput("", f"{words[:1]}: not found\n", 127)

    def launch(self, command: Any, shell: bool = False) -> None:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if words[0] == "gnome-terminal":
            self.windows.append(Window("Terminal", "lxterminal.Lxterminal", "$ ", caret=2, anchor=2))
        else:
            self.open_file(words[-1])

    def open_file(self, path: str) -> None:
        content = self.read_file(path)
        if content is None:
            raise GuestRefusal(f"open_file: no such file: {path}")
        title = f"{path.rpartition('/')[2]} - Mousepad"
        self.windows.append(Window(title, "mousepad.Mousepad", content.decode(errors="replace"), self._full(path)))

    def activate_window(self, name: str, **_: Any) -> None:
        self.windows.sort(key=lambda window: name.lower() in window.title.lower())

    def read_file(self, path: str) -> bytes | None:
        return self.files.get(self._full(path))

    def upload(self, path: str, data: bytes) -> None:
        self.files[self._full(path)] = data

    def _full(self, path: str) -> str:
        return "/home/user" + path.removeprefix("~") if path.startswith("~/") else path


class ScriptedDesktop:
    """The stand-in; see the module."""

    name = "scripted"

    def __init__(self, screen: tuple[int, int] = (1280, 720)) -> None:
        self._screen = (int(screen[0]), int(screen[1]))
        self._client: ScriptedClient | None = None

    @property
    def client(self) -> ScriptedClient:
        if self._client is None:
            raise DesktopError("the stand-in is not running; call start()")
        return self._client

    def start(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._client = ScriptedClient(self._screen)

    def intact(self) -> bool:
        return False

    def close(self) -> None:
        self._client = None


BACKENDS["scripted"] = lambda: ScriptedDesktop  # type: ignore[index]
