"""The desktop session: X server, message bus, window manager, and a home directory that can be made new."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .framebuffer import Framebuffer

__all__ = ["Session"]

_HERE = Path(__file__).resolve().parent
_PANEL_HEIGHT = 24
"""Lines of the screen below which the panel shows its menu and its clock."""

_CORNER = 64
"""Columns of them at each end."""

_ICON_PITCH = 100
_ICON_SIZE = 56
_ICON_COLOURS = 8
"""Lines from an icon of the desktop to the next one below; lines of a picture; colours that even a flat one has."""

_LAUNCHERS = tuple((_HERE / "home/Desktop").glob("*.desktop"))
_FOLDERS = ("Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos")


class Session:
    """Everything that runs on the screen.

    Args:
        home: the home directory; it is emptied and seeded by `start`.
        pixels: file descriptor of the file in memory in which the X server keeps the screen.
        size: width and height of the screen in pixels.
        patience: seconds for a part of it to get ready.
    """

    def __init__(self, home: Path, pixels: int, size: tuple[int, int], patience: float = 60.0) -> None:
        self.home = home
        self.pixels = pixels
        self.size = size
        self._patience = patience
        self.environment = self._environment()
        self._vital: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Make the home and start the session.

        Raises:
            OSError: a program of the session is missing or does not get ready.
        """
        runtime = Path(self.environment["XDG_RUNTIME_DIR"])
        for folder in (Path("/tmp"), Path("/var/tmp"), runtime):
            _empty(folder)
        self._seed_home()
        for folder, mode in ((runtime, 0o700), (Path("/tmp/.X11-unix"), 0o1777), (Path("/tmp/.ICE-unix"), 0o1777)):
            folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):  # made by the container's root
                folder.chmod(mode)
        self._start_x()
        self._start_bus()
        self._spawn(["openbox", "--sm-disable"])
        self._spawn(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"])
        self._until("the window manager", lambda: self._succeeds(["wmctrl", "-m"]))
        # Asked for the state of an icon that has just gone, pcmanfm 1.3.2 reads through a null pointer and ends.
        self._spawn(["sh", "-c", "while :; do pcmanfm --desktop; sleep .2; done"])
        self._spawn(["xfce4-panel", "--disable-wm-check"])
        self._until("the panel", self._panel_is_there)
        self._until("the panel's picture", self._panel_is_painted)
        self._until("the icons of the desktop", self._icons_are_painted)

    def broken(self) -> str:
        """Why the session can no longer be used; empty where it can."""
        for name, process in self._vital.items():
            if process.poll() is not None:
                return f"{name} has been ended"
        return ""

    def _panel_is_there(self) -> bool:
        """Whether the window manager shows the panel.

        Openbox 3.6 can read a window's request from the connection and then wait for another event before it looks at
        it; one is sent, which asks for what is so already.
        """
        self._succeeds(["wmctrl", "-k", "off"])
        return b"xfce4-panel" in self._printed(["wmctrl", "-l"])

    def _panel_is_painted(self) -> bool:
        """Whether the corners of the panel have their menu and their clock; its window is there a moment before."""
        width, height, bgrx = Framebuffer(self.pixels).read(_PANEL_HEIGHT)
        lines = [bgrx[4 * width * y : 4 * width * (y + 1)] for y in range(height)]
        corners = (slice(0, 4 * _CORNER), slice(4 * (width - _CORNER), 4 * width))
        return all(
            len({line[k : k + 4] for line in (whole[corner] for whole in lines) for k in range(0, len(line), 4)}) > 2
            for corner in corners
        )

    def _icons_are_painted(self) -> bool:
        """Whether the first column of the desktop has its icons, each of more than a shadow's colours."""
        width, height, bgrx = Framebuffer(self.pixels).read()
        rows = (height - _PANEL_HEIGHT) // _ICON_PITCH
        for top in range(0, _ICON_PITCH * min(rows, len(_LAUNCHERS)), _ICON_PITCH):
            lines = [bgrx[4 * (width * y + 16) :][: 4 * _ICON_SIZE + 64] for y in range(top, top + _ICON_SIZE)]
            if len({line[k : k + 4] for line in lines for k in range(0, len(line), 4)}) < _ICON_COLOURS:
                return False
        return True

    def _environment(self) -> dict[str, str]:
        inherited = {key: os.environ[key] for key in ("LANG", "TZ", "http_proxy", "https_proxy") if key in os.environ}
        runtime = f"/run/user/{os.getuid()}"
        return {
            "LANG": "C.UTF-8",
            **inherited,
            "HOME": str(self.home),
            "USER": "user",
            "LOGNAME": "user",
            "SHELL": "/bin/bash",
            "PATH": f"{_HERE / 'bin'}:/usr/local/bin:/usr/bin:/bin:/usr/games:/usr/local/sbin:/usr/sbin:/sbin",
            "PYTHONPATH": f"{_HERE / 'lib'}:{_HERE.parent}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "XAUTHORITY": f"{runtime}/Xauthority",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus",
            "XDG_RUNTIME_DIR": runtime,
            "XDG_SESSION_TYPE": "x11",
            "XDG_CURRENT_DESKTOP": "XFCE",
            "GDK_BACKEND": "x11",
            "GTK_MODULES": "gail:atk-bridge",  # GTK 2 needs both to be accessible, GTK 3 neither
            "NO_AT_BRIDGE": "0",
            "ACCESSIBILITY_ENABLED": "1",
            "SAL_USE_VCLPLUGIN": "gtk3",  # the one LibreOffice front end with an accessibility bridge here
            "GSETTINGS_BACKEND": "keyfile",  # settings in a file of the home, no daemon
            "LIBGL_ALWAYS_SOFTWARE": "1",
        }

    def _seed_home(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        _empty(self.home)
        shutil.copytree(_HERE / "home", self.home, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for name in _FOLDERS:
            (self.home / name).mkdir(exist_ok=True)

    def _start_x(self) -> None:
        """Start the X server on a display that is free; only programs with the cookie may connect to it."""
        width, height = self.size
        cookie = secrets.token_bytes(16)
        Path(self.environment["XAUTHORITY"]).write_bytes(_x_authority(cookie))
        # The server opens a file of this name, and finds the one in memory, whose size no program can change.
        pixels = Path(self.environment["XDG_RUNTIME_DIR"], "screen")
        pixels.mkdir()
        (pixels / "Xvfb_screen0").symlink_to(f"/proc/self/fd/{self.pixels}")
        read_end, write_end = os.pipe()
        screen = ["-screen", "0", f"{width}x{height}x24", "-fbdir", str(pixels)]
        options = ["-nolisten", "tcp", "-noreset", "-dpi", "96", "-auth", self.environment["XAUTHORITY"]]
        command = ["Xvfb", *screen, *options, "-displayfd", str(write_end)]
        self._vital["the X server"] = server = self._spawn(command, pass_fds=(write_end, self.pixels))
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            number = ready.readline().strip()
        if not number:
            raise OSError("Xvfb ended before it was ready")
        self.environment["DISPLAY"] = f":{number}"
        self.environment["RLANYTHING_FRAMEBUFFER"] = f"/proc/{server.pid}/fd/{self.pixels}"
        self._succeeds(["xsetroot", "-solid", "#2c5d73", "-cursor_name", "left_ptr"])

    def _start_bus(self) -> None:
        read_end, write_end = os.pipe()
        address = self.environment["DBUS_SESSION_BUS_ADDRESS"]
        options = ["--nofork", "--nopidfile", "--nosyslog", f"--address={address}", f"--print-address={write_end}"]
        self._vital["the message bus"] = self._spawn(["dbus-daemon", "--session", *options], pass_fds=(write_end,))
        os.close(write_end)
        with os.fdopen(read_end) as ready:
            if not ready.readline().strip():
                raise OSError("dbus-daemon ended before it was ready")

    def _spawn(self, command: list[str], pass_fds: Iterable[int] = ()) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                cwd=self.home,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise OSError(f"{command[0]} is not installed in the desktop") from error

    def _succeeds(self, command: list[str]) -> bool:
        quiet = subprocess.DEVNULL
        return subprocess.call(command, env=self.environment, stdout=quiet, stderr=quiet) == 0

    def _printed(self, command: list[str]) -> bytes:
        return subprocess.run(command, env=self.environment, capture_output=True, check=False).stdout

    def _until(self, what: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + self._patience
        while not ready():
            if time.monotonic() > end:
                raise OSError(f"{what} was not ready after {self._patience:g} seconds")
            time.sleep(0.01)


def _x_authority(cookie: bytes) -> bytes:
    """A file with one cookie for every display (Xau's format: a family, then four counted texts)."""
    texts = (b"", b"", b"MIT-MAGIC-COOKIE-1", cookie)
    return struct.pack(">H", 0xFFFF) + b"".join(struct.pack(">H", len(text)) + text for text in texts)


def _empty(folder: Path) -> None:
    """Delete what is in a directory and leave the directory, which may be a mount point."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, onerror=_make_writable)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()


def _make_writable(remove: object, path: str, _: object) -> None:
    """A directory without write permission keeps its entries from being deleted: permit it and try once more."""
    with contextlib.suppress(OSError):
        Path(path).parent.chmod(0o700)
        if Path(path).is_dir():
            Path(path).chmod(0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink()
