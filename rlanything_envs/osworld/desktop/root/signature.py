"""Signatures of the archive's indexes, checked by gpgv with the keys of Debian."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["verified"]

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def verified(
    text: bytes, scratch: Path, keys: Path | None = None, tool: Callable[[], tuple[list[str], Path]] | None = None
) -> bytes:
    """The signed part of a clear-signed text.

    Args:
        text: the text with its signatures.
        scratch: a folder for it.
        keys: the keys that are trusted; else those of the machine's package debian-archive-keyring.
        tool: gives the command of gpgv and a file of keys where the machine lacks one of both.

    Raises:
        DesktopError: no signature is good, or there is nothing to check it with.
    """
    program = shutil.which("gpgv")
    keyring = keys or Path(KEYS)
    command = [program or ""]
    if program is None or not keyring.is_file():
        if tool is None:
            raise DesktopError("the archive's signature cannot be checked: install gpgv and debian-archive-keyring")
        command, theirs = tool()
        keyring = keys or theirs
    signed, plain = scratch / "InRelease", scratch / "Release"
    signed.write_bytes(text)
    plain.unlink(missing_ok=True)
    words = ["--status-fd", "1", "--keyring", str(keyring.absolute()), "--output", str(plain), str(signed)]
    done = subprocess.run([*command, *words], capture_output=True, check=False)
    states = [
        line.split()[1] for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("[GNUPG:] ")
    ]
    if "VALIDSIG" not in states or "BADSIG" in states or not plain.is_file():
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise DesktopError(f"an index of the archive is not signed by Debian: {said or states}")
    return plain.read_bytes()
