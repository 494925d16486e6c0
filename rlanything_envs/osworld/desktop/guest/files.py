"""Endpoints that store, read and list files."""

from __future__ import annotations

from .requests import Guest, Reply, Request, RequestError, as_error, as_json, as_text, failed, need
from .storage import Refusal

__all__ = ["change_wallpaper", "desktop_path", "download_file", "file", "list_directory", "upload", "wallpaper"]

_DOWNLOAD_SECONDS = 300.0
_SETTINGS_SECONDS = 30.0


def upload(guest: Guest, request: Request) -> Reply:
    """Store a file that came as multipart."""
    path = guest.path(need(request.form, "file_path"))
    part = request.files.get("file_data")
    if part is None:
        raise RequestError("the request needs the part 'file_data'")
    try:
        guest.processes.store(path, part.data)
    except OSError as error:
        return failed(error)
    return as_text(f"File Uploaded: {len(part.data)} bytes")


def file(guest: Guest, request: Request) -> Reply:
    """The bytes of a file."""
    path = guest.path(need(request.form or request.json, "file_path"))
    try:
        return Reply(guest.processes.read(path), "application/octet-stream")
    except OSError as error:
        return as_json({"error": f"File not found: {error}"}, 404)
    except Refusal as error:
        return as_json({"error": str(error)}, 413)


def download_file(guest: Guest, request: Request) -> Reply:
    """Fetch a file from the network into the desktop."""
    url, path = need(request.json, "url"), guest.path(need(request.json, "path"))
    if not url.startswith(("http://", "https://")):
        raise RequestError(f"only http and https can be fetched, not {url!r}")
    try:
        program = _FETCH.format(url=url, path=path)
        done = guest.processes.run(["python3", "-I", "-c", program], timeout=_DOWNLOAD_SECONDS)
    except OSError as error:
        return failed(error)
    return as_error(done.error.strip()[-500:]) if done.returncode else as_text("File downloaded successfully")


_FETCH = """\
import pathlib, shutil, urllib.request
path = pathlib.Path({path!r})
path.parent.mkdir(parents=True, exist_ok=True)
with urllib.request.urlopen({url!r}, timeout=60) as answer, path.open("wb") as target:
    shutil.copyfileobj(answer, target)
"""


def list_directory(guest: Guest, request: Request) -> Reply:
    """A directory and everything below it."""
    path = guest.path(need(request.json, "path"))
    try:
        return Reply(b'{"directory_tree": %s}' % guest.processes.tree(path))
    except OSError as error:
        return as_error(str(error), 400)
    except Refusal as error:
        return failed(error)


def desktop_path(guest: Guest, _: Request) -> Reply:
    """Where the user's desktop folder is."""
    return as_json({"desktop_path": f"{guest.processes.home}/Desktop"})


#: Where GNOME keeps the picture behind the windows.
_WALLPAPER = ["org.gnome.desktop.background", "picture-uri"]


def wallpaper(guest: Guest, _: Request) -> Reply:
    """The picture behind the windows."""
    done = guest.processes.run(["gsettings", "get", *_WALLPAPER], timeout=_SETTINGS_SECONDS)
    path = done.output.strip().strip("'").removeprefix("file://")
    try:
        return Reply(guest.processes.read(path), "application/octet-stream")
    except (OSError, Refusal):
        return as_error(f"no wallpaper at {path}", 404)


def change_wallpaper(guest: Guest, request: Request) -> Reply:
    """Choose the picture behind the windows."""
    path = guest.path(need(request.json, "path"))
    if guest.processes.run(["test", "-f", path], timeout=_SETTINGS_SECONDS).returncode:
        return as_error(f"no such file: {path}", 404)
    guest.processes.run(["gsettings", "set", *_WALLPAPER, f"file://{path}"], timeout=_SETTINGS_SECONDS)
    shown = ["pcmanfm", "--set-wallpaper", path, "--wallpaper-mode", "stretch"]
    guest.processes.run(shown, timeout=_SETTINGS_SECONDS)
    return as_text("Wallpaper changed successfully")
