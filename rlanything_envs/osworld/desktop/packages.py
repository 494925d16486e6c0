"""The Debian packages of the light desktop: one list, read by everything that installs or checks them."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError, MissingPackages, NotPrepared

__all__ = ["NEEDED", "OPTIONAL", "Package", "install_command", "install_packages", "missing", "packages", "require"]

_LIST = Path(__file__).with_name("packages.txt")
_INSTALL_SECONDS = 3600

NEEDED = ("sandbox", "session", "accessibility")
"""Sections without which no desktop starts; what is missing of the others is missing on the screen."""
OPTIONAL = ("mail", "media")
"""Sections of applications that only some published tasks want, and that are installed where they are named."""


@dataclass(frozen=True, slots=True)
class Package:
    """One line of the list: the section it is in, a file by which it is recognised (a pattern), its name."""

    section: str
    file: str
    name: str

    @property
    def installed(self) -> bool:
        """Whether its file is there."""
        return any(Path("/").glob(self.file.lstrip("/")))


@lru_cache(maxsize=1)
def packages() -> tuple[Package, ...]:
    """All packages, in the order of the list."""
    found, section = [], ""
    for line in _LIST.read_text().splitlines():
        words = line.partition("#")[0].split()
        if len(words) == 1:
            section = words[0].strip("[]")
        elif words:
            found.append(Package(section, *words))
    return tuple(found)


def missing(sections: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Names of the packages that are not installed, of some sections or of all but the optional ones."""
    chosen = tuple({package.section for package in packages()} - set(OPTIONAL)) if sections is None else sections
    wanted = (package for package in packages() if package.section in chosen)
    return tuple(package.name for package in wanted if not package.installed)


def install_command(names: tuple[str, ...]) -> str:
    """The one command that installs packages."""
    root = "" if os.geteuid() == 0 else "sudo "
    return f"{root}apt-get install -y --no-install-recommends {' '.join(names)}"


def require() -> None:
    """Check that the packages that every desktop needs are installed.

    Raises:
        MissingPackages: something is not; the message has the command that installs it.
    """
    absent = missing(NEEDED)
    if absent:
        raise MissingPackages(absent)


def install_packages(more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Install everything that is missing; for root on a system with apt.

    Args:
        more: optional sections of the list of packages, too.

    Returns:
        The packages that were missing.

    Raises:
        DesktopError: not root, no apt, or apt failed; or no such section.
    """
    if unknown := set(more) - set(OPTIONAL):
        raise NotPrepared(f"no optional packages are called {min(unknown)!r}; there are {', '.join(OPTIONAL)}")
    absent = (*missing(), *missing(more))
    if not absent:
        return ()
    command = install_command(absent)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise NotPrepared(f"only root can install packages, with apt: {command}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["apt-get", "update"], command.split()):
        try:
            done = subprocess.run(words, env=environment, timeout=_INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise DesktopError(f"still not done after {_INSTALL_SECONDS} seconds: {command}") from error
        if done.returncode:
            raise DesktopError(f"exit status {done.returncode}: {' '.join(words)}")
    return absent
