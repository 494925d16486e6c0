"""Office files, settings and players of other applications."""

from __future__ import annotations

import posixpath
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.file import MAX_TEXT, File
from rlanything_verifiers.osworld.getters.desktop import Destination, Nothing
from rlanything_verifiers.osworld.getters.files import guest_file
from rlanything_verifiers.osworld.opening import package
from rlanything_verifiers.osworld.registry import Context, getter
from rlanything_verifiers.osworld.sheets import Book
from rlanything_verifiers.osworld.structured import children

_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"

_VIDEO = (
    *("3gp", "3gpp", "3gpp2", "avi", "divx", "dv", "fli", "flv", "mp2t", "mp4", "mp4v-es", "mpeg", "mpeg-system"),
    *("msvideo", "ogg", "quicktime", "vnd.divx", "webm", "x-avi", "x-flv", "x-m4v", "x-matroska", "x-mpeg"),
)

_STATUS = (
    "import base64, urllib.request as u\n"
    "r = u.Request('http://127.0.0.1:8080/requests/status.xml')\n"
    "r.add_header('Authorization', 'Basic ' + base64.b64encode(b':password').decode())\n"
    "print(u.urlopen(r, timeout=10).read().decode())\n"
)
"""Command that queries VLC's state in the guest; the password is that of OSWorld's tasks."""

_STARTERS = 1000
"""Starters on a desktop that are read at all; `MAX_TEXT` is the most that they may have together."""


@dataclass(frozen=True, kw_only=True)
class GimpFile:
    """A file of GIMP's settings."""

    file_name: str
    dest: str


@dataclass(frozen=True, kw_only=True)
class SlidePart:
    """A slide of a slide show, counted from 0."""

    ppt_file_path: str
    slide_index: int
    dest: str


@dataclass(frozen=True, kw_only=True)
class FileContent:
    """A part of a file."""

    path: str
    file_type: Literal["xlsx"]
    file_content: Literal["last_row"]


@dataclass(frozen=True, kw_only=True)
class EditorCommand:
    """A command of VS Code, and the file that it writes."""

    vscode_extension_command: str
    path: str
    dest: str


@getter
def gimp_config_file(context: Context, config: GimpFile) -> File | None:
    """A file in GIMP's settings folder."""
    return guest_file(context, f"~/.config/GIMP/2.10/{config.file_name}", config.dest)


@getter
def vlc_config(context: Context, config: Destination) -> File | None:
    """VLC's settings file."""
    return guest_file(context, "~/.config/vlc/vlcrc", config.dest)


@getter
def vlc_playing_info(context: Context, config: Destination) -> File | None:
    """VLC's playback state as XML; VLC must run with its web interface."""
    printed = context.guest.execute(["python3", "-I", "-c", _STATUS])
    if printed.returncode != 0 or not printed.output.strip():
        return None
    return File(config.dest, printed.output.encode(errors="replace"))


@getter
def default_video_player(context: Context, config: Nothing) -> str:
    """The application that opens most kinds of films, ``unknown`` where there is none."""
    query = "; ".join(f"xdg-mime query default video/{kind}" for kind in _VIDEO)
    found = context.guest.execute(query, shell=True).output.split()
    return Counter(found).most_common(1)[0][0] if found else "unknown"


@getter
def shortcuts_on_desktop(context: Context, config: Nothing) -> dict[str, Any]:
    """The starters on the desktop: their texts by file name."""
    folder = context.guest.desktop_path()
    found = [child.get("name") for child in children(context.guest.list_directory(folder))]
    names = [name for name in found if isinstance(name, str) and name.endswith(".desktop")]
    texts, left = {}, MAX_TEXT
    for name in names:
        if file := guest_file(context, posixpath.join(folder, name)):
            texts[name], left = file.text(), left - len(file.data)
        if left < 0 or len(names) > _STARTERS:
            raise Unreadable(f"{folder}: more than {_STARTERS} starters, or more than {MAX_TEXT} bytes of them")
    return texts


@getter
def vscode_config(context: Context, config: EditorCommand) -> File | None:
    """A file that VS Code writes on a command typed into its palette."""
    keys = (
        "import time; import pyautogui; pyautogui.hotkey('ctrl', 'shift', 'p'); "
        f"pyautogui.typewrite({config.vscode_extension_command!r}); pyautogui.press('enter'); time.sleep(1)"
    )
    context.guest.execute(["python3", "-c", keys])
    return guest_file(context, config.path, config.dest)


@getter
def content_from_vm_file(context: Context, config: FileContent) -> list[Any] | None:
    """The last row of a spreadsheet's first sheet, written out."""
    if (file := guest_file(context, config.path)) is None:
        return None
    book = Book(file)
    grid = {} if (sheet := book.sheet(book.names[0])) is None else sheet.grid(12)
    if not grid:
        return None
    last = max(row for row, _ in grid)
    values = [grid.get((last, column)) for column in range(1, max(column for _, column in grid) + 1)]
    return [_written(value) for value in values]


def _written(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "nan" if value is None else str(value)


@getter
def background_image_in_slide(context: Context, config: SlidePart) -> File | None:
    """The picture behind a slide."""
    file = guest_file(context, config.ppt_file_path)
    name = f"ppt/slides/slide{config.slide_index + 1}.xml"
    if file is None or name not in (show := package(file)):
        return None
    links = [blip.get(_LINK) for part in show.xml(name).iter(f"{_P}bgPr") for blip in part.iter(f"{_A}blip")]
    return _related(context, file, config, "/image", links[0]) if links else None


@getter
def audio_in_slide(context: Context, config: SlidePart) -> File | None:
    """The sound of a slide."""
    file = guest_file(context, config.ppt_file_path)
    return None if file is None else _related(context, file, config, "/audio", None)


def _related(context: Context, file: File, config: SlidePart, kind: str, link: str | None) -> File | None:
    """A file of a slide, in the slide show or next to it on the desktop."""
    show = package(file)
    name = f"ppt/slides/_rels/slide{config.slide_index + 1}.xml.rels"
    for relation in show.xml(name).iter(_RELATIONS) if name in show else ():
        if relation.get("Type", "").endswith(kind) and link in (None, relation.get("Id")):
            if (target := relation.get("Target", "")).startswith("file://"):
                return guest_file(context, target.removeprefix("file://"), config.dest)
            inside = posixpath.normpath(posixpath.join("ppt/slides", target)).lstrip("/")
            return File(config.dest, show[inside]) if inside in show else None
    return None
