"""How a desktop looks: wallpaper, theme, size of the text, and where windows open, drawn from a number and a task.

A model that always sees the same screen learns its pixels. ``OSWorldEnv(looks=7)`` draws a look for each task: the same
number and task look the same in each episode and on each machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from rlanything_envs.message import Image, Pixels
from rlanything_envs.osworld.desktop import Client, DesktopError
from rlanything_task_pools.rng_stream import RngStream

__all__ = ["Look"]

_THEMES = (("Greybird", "Greybird"), ("Greybird-dark", "Greybird-dark"), ("Adwaita", "Clearlooks"))
"""Themes of GTK, each with the theme of the window manager that goes with it."""
_TEXT_SIZES = (9, 10, 11, 12, 13)
_MAXIMISED = 0.5
"""Share of looks whose windows fill the screen, as they do in the usual look."""
_LEAST = 0.7
"""Least width and height of other windows as a share of the screen's; a dialog of LibreOffice needs 600 pixels."""
_SPOTS = 4
_WALLPAPER = "/home/user/.local/share/wallpaper.png"

_SCRIPT = """
sed -i 's/^gtk-theme-name.*/gtk-theme-name={gtk}/; s/^gtk-font-name.*/gtk-font-name=Sans {text}/' ~/.config/gtk-3.0/settings.ini
sed -i 's/^gtk-theme-name.*/gtk-theme-name = "{gtk}"/; s/^gtk-font-name.*/gtk-font-name = "Sans {text}"/' ~/.gtkrc-2.0
sed -i 's,<name>[^<]*</name><titleLayout>,<name>{frames}</name><titleLayout>,; s,<maximized>yes</maximized>,{window},' \\
    ~/.config/openbox/rc.xml
openbox --reconfigure
pkill -x xfce4-panel
for _ in $(seq 100); do wmctrl -l | grep -q xfce4-panel || exit 0; sleep 0.05; done
exit 1
"""  # noqa: E501 (sed has no line breaks)
_PANEL = ["xfce4-panel", "--disable-wm-check"]
_PANEL_IS_THERE = """
for _ in $(seq 200); do wmctrl -k off; wmctrl -l | grep -q xfce4-panel && exit 0; sleep 0.05; done
exit 1
"""


@dataclass(frozen=True, slots=True)
class Look:
    """A look.

    Attributes:
        theme: themes of GTK and of the window manager.
        text: size of the text in points.
        window: where a window opens: left, top, width and height as shares of the screen; None if it fills the screen.
        colours: red, green and blue of the corners of the wallpaper and of the spots on it, 0 to 255.
        spots: centre and radius of each spot as shares of the screen's width.
    """

    theme: tuple[str, str]
    text: int
    window: tuple[float, float, float, float] | None
    colours: tuple[tuple[int, int, int], ...]
    spots: tuple[tuple[float, float, float], ...]

    @classmethod
    def drawn(cls, number: int, task: str) -> Self:
        """The look of a task under a number."""
        draw = RngStream("looks", number, task)
        theme, text, window = draw.pick(_THEMES), draw.pick(_TEXT_SIZES), None
        if not draw.chance(_MAXIMISED):
            width, height = (_LEAST + (1 - _LEAST) * draw.uniform() for _ in range(2))
            window = ((1 - width) * draw.uniform(), (1 - height) * draw.uniform(), width, height)
        colours = tuple((draw.below(256), draw.below(256), draw.below(256)) for _ in range(2 + _SPOTS))
        spots = tuple((draw.uniform(), draw.uniform(), 0.05 + 0.25 * draw.uniform()) for _ in range(_SPOTS))
        return cls(theme, text, window, colours, spots)

    def wallpaper(self, screen: tuple[int, int]) -> Pixels:
        """The wallpaper: one colour fades into another, under spots that are half transparent."""
        width, height = screen
        y, x = np.mgrid[0:height, 0:width] / width
        along = ((x + y) / (1 + height / width))[..., None]
        first, second, *others = (np.array(colour, dtype=np.float64) for colour in self.colours)
        picture = (1 - along) * first + along * second
        for (left, top, radius), colour in zip(self.spots, others, strict=True):
            inside = (x - left) ** 2 + (y - top * height / width) ** 2 < radius**2
            picture[inside] = (picture[inside] + colour) / 2
        return np.asarray(picture, dtype=np.uint8)

    def put_on(self, client: Client, screen: tuple[int, int]) -> None:
        """Give this look to a desktop that has just been reset.

        Raises:
            DesktopError: the desktop is out of order, or not one of ours.
        """
        client.upload(_WALLPAPER, Image(self.wallpaper(screen)).png)
        client.change_wallpaper(_WALLPAPER)
        gtk, frames = self.theme
        script = _SCRIPT.format(gtk=gtk, frames=frames, text=self.text, window=self._window(screen))
        if (done := client.run_bash_script(script)).returncode == 0:
            client.launch(_PANEL)
            done = client.run_bash_script(_PANEL_IS_THERE)
        if done.returncode != 0:
            raise DesktopError(f"looks: the desktop did not take the look; its programs said: {done.error[-400:]!r}")

    def _window(self, screen: tuple[int, int]) -> str:
        if self.window is None:
            return "<maximized>yes</maximized>"
        x, y, width, height = (round(share * side) for share, side in zip(self.window, 2 * screen, strict=True))
        place, size = f"<x>{x}</x><y>{y}</y>", f"<width>{width}</width><height>{height}</height>"
        return f'<position force="yes">{place}</position><size>{size}</size>'
