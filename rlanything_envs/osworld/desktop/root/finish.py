"""What the packages' own scripts would do on installation, done in a sandbox around the folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError
from rlanything_envs.osworld.desktop.root.bubblewrap import bubblewrap
from rlanything_envs.osworld.desktop.root.folder import Root
from rlanything_envs.osworld.desktop.root.pins import FINISH

__all__ = ["finish"]

_SECONDS = 900
_MERGED = ("bin", "sbin", "lib", "lib64")
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}


def finish(path: Path) -> None:
    """Make a folder of unpacked packages a system.

    Raises:
        DesktopError: no sandbox can be made, or a program of the folder failed.
    """
    for name in _MERGED:
        (path / name).symlink_to(f"usr/{name}")
    command = bubblewrap(Root(path, ""))
    command += [
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--uid",
        "0",
        "--gid",
        "0",
        "--bind",
        str(path),
        "/",
    ]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/sh", "-s"]
    try:
        done = subprocess.run(
            command, input=FINISH.read_bytes(), capture_output=True, env=_ENVIRONMENT, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DesktopError(f"the root folder could not be finished: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-1000:]
        raise DesktopError(f"the root folder could not be finished (exit status {done.returncode}): {said}")
