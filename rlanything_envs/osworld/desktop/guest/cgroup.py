"""A control group for a desktop, where this machine lets us make one: limits of all its programs together."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

__all__ = ["ControlGroup"]

_ROOT = Path("/sys/fs/cgroup")
_END_SECONDS = 5.0


class ControlGroup:
    """Limits on memory and processes; what cannot be had on this machine is left out (`limits` names what there is).

    Both versions of Linux's control groups are tried, below the group that this process is in. In version 2 that works
    for a group that was delegated and whose processes are in another one, and for root.

    Args:
        memory: bytes, with those of files in memory; 0 for no limit.
        processes: processes and threads; 0 for no limit.
    """

    def __init__(self, memory: int, processes: int) -> None:
        self._folders: list[Path] = []
        self.limits: set[str] = set()
        wanted = {"memory": memory, "pids": processes}
        for controller, most in wanted.items():
            if most:
                for place, file in _places(controller):
                    _sweep(place)
                    if self._make(place / f"rlanything-{os.getpid()}-{id(self):x}", file, most):
                        self.limits.add(controller)
                        break

    def _make(self, folder: Path, file: str, most: int) -> bool:
        try:
            folder.mkdir(exist_ok=True)
            (folder / file).write_text(str(most))
        except OSError:
            if folder not in self._folders:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            return False
        if file.startswith("memory"):
            with contextlib.suppress(OSError):  # swapping would only slow the machine down
                (folder / "memory.swap.max").write_text("0")
        if folder not in self._folders:
            self._folders.append(folder)
        return True

    def add(self, pid: int) -> None:
        """Put a process, and all that it starts from now on, under the limits."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Remove the group after its processes have ended; may be called twice."""
        end = time.monotonic() + _END_SECONDS
        for folder in self._folders:
            while True:
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:  # the kernel has not finished with its last process
                    if time.monotonic() < end:
                        time.sleep(0.01)
                        continue
                break
        self._folders = []


def _sweep(place: Path) -> None:
    """Remove groups whose owners were killed; one with processes stays."""
    for folder in place.glob("rlanything-*-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def _places(controller: str) -> list[tuple[Path, str]]:
    """Groups below which one of our own may be made, and the file of the limit."""
    found = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):  # version 1
            file = {"memory": "memory.limit_in_bytes", "pids": "pids.max"}[controller]
            found += [(_ROOT / controller / path.lstrip("/"), file)]
        elif not controllers:  # version 2
            file = {"memory": "memory.max", "pids": "pids.max"}[controller]
            own = _ROOT / path.lstrip("/")
            found += [(place, file) for place in (own, own.parent) if place.is_relative_to(_ROOT)]
    return found
