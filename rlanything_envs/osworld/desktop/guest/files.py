"""Endpoints that store, read and list files."""

from __future__ import annotations

import shutil
import urllib.request
from pathlib import Path
from typing import Any

from .requests import Guest, Reply, Request, RequestError, as_error, as_json, as_text, failed, need

__all__ = [
    "change_wallpaper",
    "desktop_path",
    "download_file",
    "file",
    "list_directory",
    "upload",
    "wallpaper",
]

_DOWNLOAD_SECONDS = 300.0
_SETTINGS_SECONDS = 30.0
_LARGEST_FILE = 1 << 28
"""Bytes of a file that is sent; an agent can make one of any size at no cost."""


def upload(guest: Guest, request: Request) -> Reply:
    """Store a file that came as multipart."""
    path = guest.path(need(request.form, "file_path"))
    part = request.files.get("file_data")
    if part is None:
        raise RequestError("the request needs the part 'file_data'")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(part.data)
    except OSError as error:
        return failed(error)
    return as_text(f"File Uploaded: {len(part.data)} bytes")


def file(guest: Guest, request: Request) -> Reply:
    """The bytes of a file."""
    path = guest.path(need(request.form or request.json, "file_path"))
    try:
        if not path.is_file():
            return as_json({"error": "File not found"}, 404)
        if path.stat().st_size > _LARGEST_FILE:
            return as_json({"error": f"File has more than {_LARGEST_FILE} bytes"}, 413)
        return Reply(path.read_bytes(), "application/octet-stream")
    except OSError as error:
        return failed(error)


def download_file(guest: Guest, request: Request) -> Reply:
    """Fetch a file from the network into the guest."""
    url, path = need(request.json, "url"), guest.path(need(request.json, "path"))
    if not url.startswith(("http://", "https://")):
        raise RequestError(f"only http and https can be fetched, not {url!r}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        request_ = urllib.request.Request(url)  # http or https, and in the guest
        with urllib.request.urlopen(request_, timeout=_DOWNLOAD_SECONDS) as answer, path.open("wb") as target:  # nosec B310
            shutil.copyfileobj(answer, target)
    except OSError as error:
        return failed(error)
    return as_text("File downloaded successfully")


def list_directory(guest: Guest, request: Request) -> Reply:
    """A directory and everything below it."""
    path = guest.path(need(request.json, "path"))
    if not path.is_dir():
        return as_error(f"no such directory: {path}", 400)

    def tree(folder: Path) -> dict[str, Any]:
        children = []
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                children.append(tree(entry))
            else:
                children.append({"type": "file", "name": entry.name})
        return {"type": "directory", "name": folder.name, "children": children}

    try:
        return as_json({"directory_tree": tree(path)})
    except OSError as error:
        return failed(error)


def desktop_path(guest: Guest, _: Request) -> Reply:
    """Where the user's desktop folder is."""
    return as_json({"desktop_path": str(guest.session.home / "Desktop")})


#: Where GNOME keeps the picture behind the windows.
_WALLPAPER = ["org.gnome.desktop.background", "picture-uri"]


def wallpaper(guest: Guest, _: Request) -> Reply:
    """The picture behind the windows."""
    done = guest.processes.run(["gsettings", "get", *_WALLPAPER], timeout=_SETTINGS_SECONDS)
    path = Path(done.output.strip().strip("'").removeprefix("file://"))
    if not path.is_file():
        return as_error(f"no wallpaper at {path}", 404)
    return Reply(path.read_bytes(), "application/octet-stream")


def change_wallpaper(guest: Guest, request: Request) -> Reply:
    """Choose the picture behind the windows."""
    path = guest.path(need(request.json, "path"))
    if not path.is_file():
        return as_error(f"no such file: {path}", 404)
    guest.processes.run(["gsettings", "set", *_WALLPAPER, f"file://{path}"], timeout=_SETTINGS_SECONDS)
    return as_text("Wallpaper changed successfully")
