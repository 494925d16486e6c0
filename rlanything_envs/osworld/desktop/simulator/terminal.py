"""The terminal, in the manner of LXTerminal with bash in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from rlanything_envs.osworld.desktop.simulator.drawing import Box, Canvas, text_width
from rlanything_envs.osworld.desktop.simulator.files import HOME, DiskError
from rlanything_envs.osworld.desktop.simulator.keys import Key
from rlanything_envs.osworld.desktop.simulator.menus import MenuItem
from rlanything_envs.osworld.desktop.simulator.nodes import SHOWN, Node, Press
from rlanything_envs.osworld.desktop.simulator.screen import Screen
from rlanything_envs.osworld.desktop.simulator.shell import Shell
from rlanything_envs.osworld.desktop.simulator.text_buffer import TextBuffer
from rlanything_envs.osworld.desktop.simulator.window import Window

__all__ = ["Terminal"]

_CHARACTER, _LINE = 8, 17
_MOST_LINES = 2000
_HISTORY = 200
_MOST_REPEATS = 1000
"""Most repetitions of a key, for any number typed after Escape."""
_SEQUENCES = {"Up": "[A", "Down": "[B", "Home": "[H", "End": "[F"}
_SEQUENCES |= {"Insert": "[2~", "Delete": "[3~", "Prior": "[5~", "Next": "[6~"}
"""Of what these keys send to a shell, what is typed after a second Escape character: the first two are a command."""
_DIGITS = frozenset("0123456789")
_REPEATED = {"BackSpace", "Delete", "Left", "Right", "Up", "Down"}


class Terminal(Window):
    """A shell and its output.

    As in bash, Escape is the Meta key of the key after it: that key is a command and is not typed. The commands for
    words, numbers and lines of the history are here. Another one changes nothing, though in bash a few do something:
    Meta-n and Meta-p search the history, Meta-t exchanges words, Meta-! completes a command, Meta-Enter begins vi mode.

    Args:
        screen: where it is.
        folder: its working directory.
    """

    application = "lxterminal"
    window_class = "lxterminal.Lxterminal"

    def __init__(self, screen: Screen, folder: str = HOME) -> None:
        super().__init__(screen)
        self._columns = max(20, self.area.width // _CHARACTER)
        self._rows = max(1, self.area.height // _LINE)
        self._shell = Shell(screen.disk, screen.start, columns=self._columns, folder=folder)
        self._printed: list[str] = []
        self._back = 0
        self._line = TextBuffer()
        self._history: list[str] = []
        self._recalled = 0
        self._meta = False
        self._number: int | None = None

    @property
    def title(self) -> str:
        """The program's name."""
        return "LXTerminal"

    @property
    def _prompt(self) -> str:
        if self._number is not None:
            return f"(arg: {self._number}) "
        folder = self._shell.folder
        home = folder == HOME or folder.startswith(HOME + "/")
        return f"user@desktop:{'~' + folder[len(HOME) :] if home else folder}$ "

    def menus(self) -> Mapping[str, Sequence[MenuItem]]:
        """File and Edit."""
        return {
            "File": (
                MenuItem("New Window", lambda: self.screen.start(["lxterminal"], self._shell.folder), "Shift+Ctrl+N"),
                MenuItem("Close Window", self.ask_close, "Shift+Ctrl+Q"),
            ),
            "Edit": (
                MenuItem("Paste", self._paste, "Shift+Ctrl+V", bool(self.screen.clipboard.text)),
                MenuItem("Clear scrollback", self._printed.clear),
            ),
        }

    def terminal_text(self) -> str:
        """The visible lines."""
        return "\n".join(self._visible())

    def handle(self, key: Key) -> None:
        """Handle a key as bash does: edit the line or run it."""
        self._back = 0
        if key.combo in ("ctrl+shift+v", "shift+Insert", "ctrl+shift+n", "ctrl+shift+q", "ctrl+shift+w"):
            self._key(key)  # the terminal's own, which bash does not get
            return
        meta = self._meta or (key.combo.startswith("alt+") and (len(key.name) == 1 or key.name == "BackSpace"))
        self._meta = False
        if key.combo == "ctrl+c":
            self._key(key)
            self._number = None
        elif key.combo == "Escape" and not meta:
            self._meta = True
        elif key.name in _DIGITS and (meta or self._number is not None):
            self._number = min(10 * (self._number or 0) + int(key.name), _MOST_REPEATS)
        else:
            number, self._number = self._number, None
            act = self._meta_key if meta else self._key
            repeated = number is not None and (len(key.name) == 1 or key.name in _REPEATED)
            for _ in range((number or 0) if repeated else 1):
                act(key)

    def _meta_key(self, key: Key) -> None:
        """Handle a key after Escape."""
        line, clipboard = self._line, self.screen.clipboard
        first = line.cursor
        combo = key.combo.removeprefix("alt+")
        match combo.lower() if len(combo) == 1 else combo:
            case "Escape":
                self._complete()
            case "b" | "Left":
                line.key(Key("ctrl+Left", "Left", "", False), clipboard)
            case "f" | "Right":
                line.key(Key("ctrl+Right", "Right", "", False), clipboard)
            case "d":
                line.key(Key("ctrl+Delete", "Delete", "", False), clipboard)
            case "BackSpace":
                line.key(Key("ctrl+BackSpace", "BackSpace", "", False), clipboard)
            case "u" | "l" | "c" as way:
                line.key(Key("ctrl+Right", "Right", "", False), clipboard)
                line.select(first, line.cursor)
                change = {"u": str.upper, "l": str.lower, "c": str.title}[way]
                line.insert(change(line.selected))
            case "r":
                self._recall(0)
            case "<" if self._recalled:
                self._recall(-len(self._history))
            case ">" if self._recalled < len(self._history):
                self._recall(len(self._history))
            case "." | "_" if self._history:
                line.insert(self._history[-1].split()[-1])
            case "#":
                line.move(0)
                line.insert("#")
                self._run()
            case _ if combo in _SEQUENCES:
                line.insert(_SEQUENCES[combo])

    def _key(self, key: Key) -> None:
        """Handle a key without Escape before it."""
        line = self._line
        match key.combo:
            case "Return" | "KP_Enter" | "ctrl+j" | "ctrl+m":
                self._run()
            case "Up" | "ctrl+p":
                self._recall(-1)
            case "Down" | "ctrl+n":
                self._recall(1)
            case "Tab" | "ctrl+i":
                self._complete()
            case "ctrl+c":
                self._print(f"{self._prompt}{line.text}^C")
                self._line = TextBuffer()
            case "ctrl+d":
                if line.text:
                    line.key(Key("Delete", "Delete", "", False), self.screen.clipboard)
                else:
                    self.screen.remove(self)
            case "ctrl+l":
                self._printed.clear()
            case "ctrl+a":
                line.move(0)
            case "ctrl+e":
                line.move(len(line.text))
            case "ctrl+u":
                line.select(0, line.cursor)
                line.insert("")
            case "ctrl+k":
                line.select(line.cursor, len(line.text))
                line.insert("")
            case "ctrl+w":
                line.key(Key("ctrl+BackSpace", "BackSpace", "", False), self.screen.clipboard)
            case "ctrl+shift+v" | "shift+Insert":
                self._paste()
            case "ctrl+shift+n":
                self.screen.start(["lxterminal"], self._shell.folder)
            case "ctrl+shift+q" | "ctrl+shift+w":
                self.ask_close()
            case "shift+Prior" | "shift+Next":
                self._scroll(-self._rows if key.name == "Prior" else self._rows)
            case _ if key.char or (key.plain == key.combo and not key.combo.startswith(("ctrl+", "alt+"))):
                line.key(key, self.screen.clipboard)

    def _paste(self) -> None:
        """Type the clipboard; each complete line runs."""
        *lines, last = self.screen.clipboard.text[:20_000].split("\n")[:200]
        for text in lines:
            self._line.insert(text)
            self._run()
        self._line.insert(last)

    def _run(self) -> None:
        text = self._line.text
        self._line = TextBuffer()
        self._print(self._prompt + text)
        if text.strip() and not text.startswith(" ") and self._history[-1:] != [text]:
            self._history = [*self._history[-_HISTORY:], text]
        self._recalled = len(self._history)
        done = self._shell.run(text, merge=True)
        if text.strip() == "clear":
            self._printed.clear()
        printed = done.output + done.error
        if printed:
            self._print(printed.removesuffix("\n"))
        if self._shell.ended and self in self.screen.windows:
            self.screen.remove(self)

    def _print(self, text: str) -> None:
        for line in text.split("\n")[-_MOST_LINES:]:
            shown = line.replace("\t", "    ").rstrip("\r")
            self._printed += [shown[i : i + self._columns] for i in range(0, max(1, len(shown)), self._columns)]
        del self._printed[:-_MOST_LINES]

    def _recall(self, step: int) -> None:
        """Go through the lines that were typed before."""
        self._recalled = max(0, min(self._recalled + step, len(self._history)))
        self._line = TextBuffer(self._history[self._recalled] if self._recalled < len(self._history) else "")

    def _complete(self) -> None:
        """Finish the name of a file, as far as there is only one way."""
        before = self._line.text[: self._line.cursor]
        word = before[before.rfind(" ") + 1 :]
        folder, slash, start = word.rpartition("/")
        try:
            names = self.screen.disk.names(self.screen.disk.absolute((folder or slash) or ".", self._shell.folder))
        except DiskError:
            return
        names = [name for name in names if name.startswith(start) and (start or not name.startswith("."))]
        if not names:
            return
        common = min(names)
        while not max(names).startswith(common):
            common = common[:-1]
        self._line.insert(common[len(start) :].replace(" ", "\\ "))
        if len(names) == 1:
            path = self.screen.disk.absolute(f"{folder}{slash}{names[0]}", self._shell.folder)
            self._line.insert("/" if self.screen.disk.is_folder(path) else " ")

    def _visible(self) -> list[str]:
        """The lines on the screen."""
        text = self._prompt + self._line.text
        typed = [text[i : i + self._columns] for i in range(0, len(text), self._columns)]
        lines = self._printed + typed
        last = len(lines) - self._back
        return lines[max(0, last - self._rows) : max(last, self._rows)]

    def _scroll(self, rows: int) -> None:
        self._back = max(0, min(self._back - rows, len(self._printed) + 1 - self._rows))

    def content(self, active: bool) -> list[Node]:
        """The terminal."""
        lines = self._visible()
        states = (*SHOWN, "focusable") + ("focused",) * active
        paint = partial(self._paint, lines=lines)
        text = "\n".join(lines) + "\n"
        return [
            Node("terminal", "Terminal", self.area, text, states, ("menu",), [], paint, self._press, self._scroll),
        ]

    def _press(self, event: Press) -> None:
        if event.button == 3:
            self.menu.popup([MenuItem("Paste", self._paste)], event.x, event.y)

    def _paint(self, canvas: Canvas, _: Node, lines: list[str]) -> None:
        canvas.rectangle(self.area, (0, 0, 0))
        y = self.area.y
        for line in lines:
            canvas.text(Box(self.area.x, y, self.area.width, _LINE), line, (220, 220, 220))
            y += _LINE
        if self._back == 0 and lines:
            text = lines[-1]
            hidden = len(self._line.text) - self._line.cursor
            x = self.area.x + 3 + text_width(text[: max(0, len(text) - hidden)])
            canvas.rectangle(Box(x, y - _LINE, _CHARACTER, _LINE - 1), outline=(220, 220, 220))
