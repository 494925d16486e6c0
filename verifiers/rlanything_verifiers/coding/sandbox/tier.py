"""Tiers of protection, and their probe on this machine."""

import platform
import sys
from functools import cache
from typing import Literal

from .errors import SandboxError, WorkerLost
from .limits import Limits

#: full: namespaces, an empty read-only root, seccomp, and Landlock where the kernel has it. landlock: Landlock and
#: seccomp, as in most containers. seccomp: files of this machine stay open. none: nothing.
Tier = Literal["full", "landlock", "seccomp", "none"]
TIERS: tuple[Tier, ...] = ("full", "landlock", "seccomp", "none")
#: Tiers that keep a program from the machine's files.
SAFE: tuple[Tier, ...] = ("full", "landlock")

#: Tries what a tier must refuse and prints what was allowed: a tier counts by what it does here, not by its name.
_PROBE = b"""
import os
attempts = {
    "fork": os.fork,
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "signals": lambda: os.kill(os.getppid(), 0),
    "network": lambda: __import__("_socket").socket(),
    "files": lambda: open("/etc/passwd"),
    "folders": lambda: os.listdir("/proc/self"),
    "writing": lambda: os.open("/tmp/rlanything-probe", os.O_RDWR | os.O_CREAT),
}
for name, attempt in attempts.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
"""


@cache
def probe(tier: Tier) -> str | None:
    """Try a tier on this machine.

    Returns:
        None if it works, else the reason.
    """
    if sys.platform != "linux":
        return f"{platform.system()} has none of Linux's protections; use backend='docker'"
    from .process import Process

    try:
        worker = Process(tier)
    except SandboxError as error:
        return str(error)
    try:
        if tier == "none":
            return None
        broken = worker.begin(_PROBE, Limits())
        if broken is not None:
            return f"its first program does not compile: {broken}"
        run = worker.test(b"", Limits())
        allowed = run.stdout.decode(errors="replace").split()
        if tier == "seccomp":
            allowed = [name for name in allowed if name not in ("files", "folders", "writing")]
        if run.status != "OK" or allowed:
            return f"it does not hold here: {run.detail or 'a program could do ' + ', '.join(allowed)}"
        return None
    except WorkerLost as error:
        return str(error)
    finally:
        worker.kill()


def available_tiers() -> dict[str, str | None]:
    """Every tier with None if it works on this machine, else the reason."""
    return {tier: probe(tier) for tier in TIERS}
