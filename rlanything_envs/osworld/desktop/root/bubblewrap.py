"""The bubblewrap that makes sandboxes: the machine's own, or that of the root folder."""

from __future__ import annotations

import shutil
import subprocess
from functools import lru_cache

from rlanything_envs.osworld.desktop.root.folder import Root

__all__ = ["bubblewrap", "closes_namespaces"]

_PATH = "/usr/local/bin:/usr/bin:/bin"
_NEEDED = "--size"
"""Option of bubblewrap 0.7 and later: the size of a disk in memory."""


def bubblewrap(root: Root | None) -> list[str]:
    """The command. The machine's own is taken where it is new enough: an administrator may have permitted that one."""
    own = shutil.which("bwrap", path=_PATH)
    return [own or "bwrap"] if root is None or (own is not None and _NEEDED in _help(own)) else root.program("bwrap")


def closes_namespaces(command: list[str]) -> bool:
    """Whether it (0.8 and later) can forbid further user namespaces."""
    return "--disable-userns" in _help(*command)


@lru_cache(maxsize=4)
def _help(*command: str) -> str:
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=False).stdout
