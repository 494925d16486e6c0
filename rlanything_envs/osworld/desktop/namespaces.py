"""Whether this user may make a sandbox, and why not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

__all__ = ["restrictions", "why_forbidden"]

_SANDBOX = ["--unshare-user", "--ro-bind", "/", "/", "true"]
_TRY = """
import ctypes, os, sys
libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
def check(result):
    if result:
        sys.exit(os.strerror(ctypes.get_errno()))
check(libc.unshare(0x10000000 | 0x00020000))
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {user} 1")
check(libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None))
"""
"""New namespaces of users and mounts, and a mount in them, which AppArmor forbids apart."""


def restrictions() -> Iterator[tuple[str, str, str]]:
    """Settings of the kernels of Debian and Ubuntu that forbid sandboxes to ordinary users: name, value, that value."""
    for switch, forbids in (
        ("kernel/unprivileged_userns_clone", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("user/max_user_namespaces", "0"),
    ):
        file = Path("/proc/sys", switch)
        if file.is_file():
            yield switch.replace("/", "."), file.read_text().strip(), forbids


@lru_cache(maxsize=1)
def why_forbidden() -> str:
    """Why this user may make no sandbox, with the ways on, in one line; empty where it may."""
    own = shutil.which("bwrap")  # which an administrator may have permitted apart
    if own is not None and subprocess.run([own, *_SANDBOX], capture_output=True, check=False).returncode == 0:
        return ""
    done = subprocess.run([sys.executable, "-I", "-c", _TRY], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    reason, remedy = done.stderr.strip().rpartition("\n")[2] or "the kernel refuses", ""
    for switch, value, forbids in restrictions():
        if value == forbids and os.geteuid() != 0:
            reason = f"{switch} = {value}"
            permits = 15000 if switch.startswith("user.") else 1 - int(forbids)
            remedy = f"`sudo sysctl -w {switch}={permits}` permits them; else "
    if not any(line.split()[4] == "/" for line in Path("/proc/self/mountinfo").read_text().splitlines()):
        reason = "the kernel permits none in a chroot"
    elif Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        remedy = "start this container with --cap-add SYS_ADMIN --security-opt seccomp=unconfined; else "
    return (
        f"user namespaces are forbidden here ({reason}): {remedy}use a container that permits them, or "
        'backend="docker" or "http"'
    )
