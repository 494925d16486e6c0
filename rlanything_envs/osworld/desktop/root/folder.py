"""The installed root folder: where it is, what it was made of, and its programs on this machine's kernel."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rlanything_envs.osworld.desktop.root.pins import SHIPPED, Pins, read_pins

__all__ = ["VARIABLE", "Root", "home", "installed", "shipped"]

VARIABLE = "RLANYTHING_DESKTOP"
"""Environment variable with the folder that the desktop is installed in."""
_MARK = Path("usr/share/rlanything")
"""Folder of a root with its hash and its list of packages; it is written last."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that is ``/`` to a desktop.

    Attributes:
        path: the folder.
        hash: what it was made of, see `Pins.hash`.
    """

    path: Path
    hash: str

    def program(self, name: str) -> list[str]:
        """The command that runs a program of the folder outside of a sandbox, with the folder's own libraries."""
        libraries = self.path / "usr/lib/x86_64-linux-gnu"
        loader = [str(libraries / "ld-linux-x86-64.so.2"), "--inhibit-cache", "--library-path", str(libraries)]
        return [*loader, str(self.path / "usr/bin" / name)]

    @property
    def pins(self) -> Pins:
        """The packages that it was made of."""
        return read_pins((self.path / _MARK / "packages.txt").read_text())


def shipped() -> Pins:
    """The packages that come pinned with the library."""
    return read_pins(SHIPPED.read_text())


def home() -> Path:
    """The folder that the desktop is installed in."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser().absolute()
    if os.geteuid() == 0:  # the desktop's programs run as a user that cannot enter root's home
        return Path("/var/cache/rlanything/desktop")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rlanything" / "desktop"


def installed() -> Root | None:
    """The root folder, where one is installed."""
    path = home() / "root"
    try:
        return Root(path, (path / _MARK / "hash").read_text().strip())
    except OSError:
        return None


def mark(path: Path, pins: Pins) -> None:
    """Say of a finished folder what it was made of."""
    (path / _MARK).mkdir(parents=True)
    (path / _MARK / "packages.txt").write_text(str(pins))
    (path / _MARK / "hash").write_text(f"{pins.hash}\n")
