"""Waiting until an application that was started shows something: a window with content, and painted.

A splash screen, a frame without widgets and a window of one colour are not content. An agent that began with them would
act on a screen that is about to change.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from rlanything_envs.osworld.accessibility import Element, read_elements
from rlanything_envs.osworld.desktop.errors import GuestRefusal
from rlanything_envs.osworld.desktop.observation import Pixels
from rlanything_envs.osworld.desktop.protocol import Client
from rlanything_envs.osworld.settle import Limit

__all__ = ["Applications", "contents", "painted", "program_of"]

_SECONDS = 180.0
"""Limit until an application shows something; on an idle machine LibreOffice takes 3 s, GIMP at a load of 9 86 s."""
_AGAIN_SECONDS = 5.0
"""How long a program that runs already may take to open another window; it may as well open none."""
_EVERY = 0.2
_FOREIGN_SECONDS = 30.0
"""Limit until there is a window, on a guest whose accessibility tree can take minutes."""

_PROGRAMS = {
    "chrome": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "code": ("code", "codium"),
    "evince": ("evince",),
    "gimp": ("gimp",),
    "lxterminal": ("gnome-terminal", "lxterminal", "x-terminal-emulator", "xfce4-terminal"),
    "mousepad": ("gedit", "mousepad"),
    "office": ("libreoffice", "localc", "lodraw", "loimpress", "lowriter", "soffice"),
    "thunar": ("nautilus", "thunar"),
    "thunderbird": ("thunderbird",),
    "vlc": ("vlc",),
}
"""Programs whose launch waits for a window; others, such as ``socat``, have none."""
_CLASSES = ("chrom", "cod", "evince", "gimp", "office", "mousepad", "terminal", "thun", "vlc")
"""Parts of the window classes of these programs, in lower case."""

_WINDOWS = frozenset({"alert", "dialog", "file-chooser", "frame", "window"})
_DECORATION = _WINDOWS | {"icon", "image", "label", "progress-bar", "static", "tool-tip", "filler", "panel", "unknown"}
"""Roles that a splash screen may have, too."""
_LEAST = {"frame": 3}
"""Elements below which a window counts as empty; 1 where none is named."""
_ONE_COLOUR = 0.999
"""Share of the most frequent colour from which on a window counts as not painted; an empty document has less."""
_STRIDE = 4


def program_of(command: Sequence[str] | str, shell: bool) -> str | None:
    """The program with a window that a command starts, by one name for all its names; None where there is none."""
    words = command.split() if isinstance(command, str) else list(command)
    if shell and len(words) == 1:
        words = words[0].split()
    while words and shell and "=" in words[0]:
        del words[0]
    name = words[0].rpartition("/")[2] if words else ""
    return next((program for program, names in _PROGRAMS.items() if name in names), None)


def contents(elements: Iterable[Element]) -> list[tuple[Element, int]]:
    """The windows among elements in the order of the tree, and how many elements of each count as content.

    What a frame without a name has is no content: it is the panel of the desktop.
    """
    found: list[tuple[Element, int]] = []
    for element in elements:
        if element.role in _WINDOWS:
            found.append((element, 0))
        elif found and element.role not in _DECORATION and element.width > 0 and element.height > 0:
            window, size = found[-1]
            found[-1] = (window, size + bool(window.name or window.role != "frame"))
    return found


def painted(pixels: Pixels, window: Element) -> bool:
    """Whether a window has more than one colour.

    Args:
        pixels: the screen, uint8, shape (height, width, 3).
        window: its place.
    """
    left, top = max(0, window.x - window.width // 2), max(0, window.y - window.height // 2)
    part = pixels[top : top + window.height : _STRIDE, left : left + window.width : _STRIDE].astype(np.uint32)
    if not part.size:
        return False
    colours = part[..., 0] << 16 | part[..., 1] << 8 | part[..., 2]
    _, counts = np.unique(colours, return_counts=True)
    return bool(counts.max() / counts.sum() < _ONE_COLOUR)


@dataclass
class Applications:
    """The applications that the steps of one set-up start.

    Args:
        client: the desktop.
        seconds: limit until an application shows something.
    """

    client: Client
    seconds: float = _SECONDS
    _programs: set[str] = field(default_factory=set)

    def windows(self) -> dict[str, str]:
        """Titles of the windows of known programs, by their ids."""
        lines = [line.split(None, 4) for line in self.client.execute(["wmctrl", "-lx"]).output.splitlines()]
        known = [line for line in lines if len(line) > 3 and any(part in line[2].lower() for part in _CLASSES)]
        return {line[0]: line[4] if len(line) > 4 else "" for line in known}

    def wait(self, program: str, before: int) -> None:
        """Wait until all windows of known programs show something.

        Args:
            program: the one that was started.
            before: how many windows there were; now there must be more, unless the program ran already.

        Raises:
            GuestRefusal: they do not, within the limit.
            DesktopError: the desktop is out of order.
        """
        limit = Limit(_AGAIN_SECONDS, lambda: self.client.health().held)
        again, self._programs = program in self._programs, self._programs | {program}
        if self.client.health().server != "rlanything-guest":
            while limit.passed < _FOREIGN_SECONDS and len(self.windows()) <= before:
                time.sleep(_EVERY)
            return
        while True:
            shown = self.windows()
            enough = len(shown) > before or (again and shown and limit.over)
            if enough and self._ready(len(shown)):
                return
            if limit.passed > self.seconds:
                raise GuestRefusal(
                    f"{program}: no window with content after {self.seconds:g} seconds; there are "
                    f"{', '.join(map(repr, shown.values())) or 'no windows'}"
                )
            time.sleep(_EVERY)

    def _ready(self, windows: int) -> bool:
        found = contents(read_elements(self.client.accessibility_tree()))
        if len(filled := [window for window, size in found if size >= _LEAST.get(window.role, 1)]) < windows:
            return False
        pixels = self.client.screenshot_array()
        return all(painted(pixels, window) for window in filled)
