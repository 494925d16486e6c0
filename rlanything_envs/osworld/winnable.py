"""What a desktop lacks of what a task requires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rlanything_envs.osworld.desktop.packages import OPTIONAL, packages
from rlanything_envs.osworld.desktop.protocol import Client
from rlanything_task_pools.osworld import Requirements

__all__ = ["Provided"]

_THERE = 'for name; do command -v -- "$name" >/dev/null && printf "%s\\n" "$name"; done; true'
_OF_SYSTEMD = frozenset({"hostnamectl", "journalctl", "localectl", "loginctl", "systemctl", "timedatectl"})
"""Programs that are of use only where systemd has started the system."""


@dataclass
class Provided:
    """What the desktops of one kind have; each thing is looked for once.

    All questions raise `DesktopError` where the desktop is out of order.
    """

    _programs: dict[str, bool] = field(default_factory=dict)
    _lists: dict[str, frozenset[str]] = field(default_factory=dict)

    def lacking(self, requirements: Requirements, client: Client) -> list[str]:
        """What is missing, each with a remedy where there is one; empty where the task can be won.

        Args:
            requirements: those of a task.
            client: a running desktop.
        """
        return list(self._lacking(requirements, client))

    def _lacking(self, wanted: Requirements, client: Client) -> Iterator[str]:
        for program in self._absent(sorted(wanted.programs), client):
            section = next((each.section for each in packages() if each.file.rpartition("/")[2] == program), "")
            remedy = f" (rlanything desktop install --with {section})" if section in OPTIONAL else ""
            yield f"the program {program}{remedy}"
        used = sorted(wanted.programs & _OF_SYSTEMD)
        if used and not self._list("systemd", ["ls", "-d", "/run/systemd/system"], client):
            yield f"a running systemd ({', '.join(used)})"
        if wanted.schemas:
            known = self._list("schemas", ["gsettings", "list-schemas"], client)
            yield from (f"the schema {name}" for name in sorted(wanted.schemas - known))
        if wanted.locales:
            spoken = {_plain(name) for name in self._list("locales", ["locale", "-a"], client)}
            yield from (f"the locale {name}" for name in sorted(wanted.locales) if _plain(name) not in spoken)
        if wanted.network and len(self._list("routes", ["cat", "/proc/net/route"], client)) < 2:
            yield "the network (bwrap and docker: desktop={'network': True})"

    def _absent(self, programs: list[str], client: Client) -> list[str]:
        if new := [name for name in programs if name not in self._programs]:
            found = client.execute(["bash", "-c", _THERE, "bash", *new]).output.split("\n")
            self._programs |= {name: name in found for name in new}
        return [name for name in programs if not self._programs[name]]

    def _list(self, name: str, command: list[str], client: Client) -> frozenset[str]:
        if name not in self._lists:
            lines = client.execute(command).output.splitlines()
            self._lists[name] = frozenset(line.strip() for line in lines if line.strip())
        return self._lists[name]


def _plain(locale: str) -> str:
    return locale.lower().replace("-", "")
