"""The pinned packages of the desktop: names, versions and hashes of one day."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.packages import OPTIONAL, packages
from rlanything_envs.osworld.desktop.root.index import Index

__all__ = ["DESKTOP", "SHIPPED", "Pin", "Pins", "read_pins"]

SHIPPED = Path(__file__).with_name("pins.txt")
"""The list that comes with the library."""
FINISH = Path(__file__).with_name("finish.sh")
"""What a root folder is finished with."""
DESKTOP = "desktop"
"""The section that every root folder has."""
_TOOLS = ("gpgv", "debian-archive-keyring")
"""Packages that check the archive's signature where the machine cannot."""
_LINE = re.compile(
    r"([a-z0-9][a-z0-9+.-]{1,80}) ([A-Za-z0-9.+:~-]{1,80}) ([0-9a-f]{64}) ([0-9]{1,12}) (pool/[!-~]{1,300})"
)


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of a package: its name and version, its file's hash, size and name in the archive."""

    name: str
    version: str
    sha256: str
    size: int
    file: str

    def __str__(self) -> str:
        return f"{self.name} {self.version} {self.sha256} {self.size} {self.file}"


@dataclass(frozen=True, slots=True)
class Pins:
    """A list of packages.

    Attributes:
        day: the date of the newest index that it was made from.
        sections: the desktop's packages, and those that optional applications need besides.
    """

    day: str
    sections: dict[str, tuple[Pin, ...]]

    @classmethod
    def resolved(cls, index: Index, day: str, optional: Iterable[str] = OPTIONAL) -> Pins:
        """The packages of the desktop's list and everything that they depend on, as an index has them."""
        wanted = [each.name for each in packages() if each.section not in OPTIONAL]
        base = {stanza.name: stanza for stanza in index.closure([*wanted, *_TOOLS])}
        sections = {DESKTOP: base.values()}
        for section in optional:
            more = [each.name for each in packages() if each.section == section]
            sections[section] = [each for each in index.closure([*base, *more]) if each.name not in base]  # type: ignore[assignment]
        return cls(
            day,
            {
                section: tuple(Pin(each.name, each.version, each.sha256, each.size, each.file) for each in stanzas)
                for section, stanzas in sections.items()
            },
        )

    def __str__(self) -> str:
        lines = [f"# Packages of Debian 12 (amd64), from its signed indexes of {self.day}."]
        for section, pins in self.sections.items():
            lines += ["", f"[{section}]", *map(str, pins)]
        return "\n".join(lines) + "\n"

    def only(self, sections: Iterable[str]) -> Pins:
        """The desktop's packages and those of some optional sections."""
        kept = {DESKTOP, *sections}
        return Pins(self.day, {section: pins for section, pins in self.sections.items() if section in kept})

    @property
    def all(self) -> list[Pin]:
        """All packages once, sorted by name."""
        return sorted(
            {pin.name: pin for pins in self.sections.values() for pin in pins}.values(), key=lambda pin: pin.name
        )

    @property
    def hash(self) -> str:
        """16 hexadecimal digits over all packages and the way in which a folder is finished."""
        lines = [f"{pin.name} {pin.version} {pin.sha256}" for pin in self.all]
        return hashlib.sha256("\n".join(lines).encode() + b"\n" + FINISH.read_bytes()).hexdigest()[:16]


def read_pins(text: str) -> Pins:
    """A list, from its text.

    Raises:
        DesktopError: it is no such list.
    """
    day, section, sections = "", "", dict[str, list[Pin]]()
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            day = day or line.rpartition(" of ")[2].removesuffix(".")
        elif line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            sections[section] = []
        elif line:
            found = _LINE.fullmatch(line)
            if found is None or not section or "/../" in line:
                raise DesktopError(f"line {number} of the list of packages is not a package: {line!r:.100}")
            name, version, sha256, size, file = found.groups()
            sections[section].append(Pin(name, version, sha256, int(size), file))
    if not sections.get(DESKTOP):
        raise DesktopError("the list of packages has none for the desktop")
    return Pins(day, {section: tuple(pins) for section, pins in sections.items()})
