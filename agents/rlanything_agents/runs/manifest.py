"""Manifest of a folder: its files with their sizes and hashes, written last, so that damage is detected."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from rlanything_agents.runs.storage import sync_folder, write_atomically
from rlanything_verifiers.plain_file import read_plain

__all__ = ["MANIFEST", "damage", "seal"]

MANIFEST = "manifest.json"
MAX_LIST = 1 << 20
"""Maximum bytes read of a manifest; a checkpoint has about twenty files."""


def seal(folder: Path) -> None:
    """Sync every file of a folder to the disk, then write the manifest.

    Raises:
        StorageError: The manifest cannot be written.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            sync_folder(path)
        elif path != folder / MANIFEST:
            with path.open("rb") as file:
                os.fsync(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            files[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    write_atomically(folder / MANIFEST, json.dumps({"files": files}, indent=1) + "\n")
    sync_folder(folder)


def damage(folder: Path) -> dict[str, str]:
    """Description of the damage of each listed file of a folder, by file; empty without damage.

    Damage of a folder without a manifest cannot be detected, and files that the manifest does not list are ignored.
    Nothing in the folder is trusted.
    """
    manifest = folder / MANIFEST
    if not manifest.exists():
        return {}
    try:
        listed = json.loads(read_plain(manifest, MAX_LIST))["files"]
        wanted = {str(name): (int(entry["bytes"]), str(entry["sha256"])) for name, entry in listed.items()}
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, OverflowError) as error:
        return {MANIFEST: f"it is not a list of files ({type(error).__name__})"}
    if outside := [name for name in wanted if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name]:
        return {MANIFEST: f"it names a file outside its folder: {outside[0]!r:.80}"}
    found = {name: _wrong(folder / name, *entry) for name, entry in wanted.items()}
    return {name: wrong for name, wrong in found.items() if wrong}


def _wrong(path: Path, size: int, digest: str) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return "missing"
        if (now := path.stat().st_size) != size:
            return f"it has {now} bytes, and had {size}"
        with path.open("rb") as file:
            return "" if hashlib.file_digest(file, "sha256").hexdigest() == digest else "its content has changed"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
