"""A desktop made of nothing but files and prepared answers, and short ways to make files and to score them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import docx
import numpy as np
import openpyxl
import pptx
from PIL import Image

from rlanything_verifiers.osworld import Strict, check_evaluator, evaluate


@dataclass
class Printed:
    output: str = ""
    error: str = ""
    returncode: int = 0


@dataclass
class Desk:
    """Satisfies `Guest`."""

    files: dict[str, bytes] = field(default_factory=dict)
    command: Callable[[Sequence[str] | str, bool], Printed] = lambda command, shell: Printed()
    tree: str = "<desktop-frame/>"
    terminal: str | None = None
    picture: bytes | None = None
    windows: dict[str, tuple[int, int]] = field(default_factory=dict)

    def read_file(self, path: str) -> bytes | None:
        return self.files.get(path.replace("~", "/home/user", 1))

    def execute(self, command, *, shell=False) -> Printed:
        return self.command(command, shell)

    def list_directory(self, path: str) -> dict[str, Any] | None:
        inside = [PurePosixPath(name) for name in self.files if PurePosixPath(name).is_relative_to(path)]
        children = [{"type": "file", "name": name.name} for name in inside if str(name.parent) == path]
        return {"type": "directory", "name": PurePosixPath(path).name, "children": children} if inside else None

    def accessibility_tree(self) -> str:
        return self.tree

    def terminal_output(self) -> str | None:
        return self.terminal

    def wallpaper(self) -> bytes | None:
        return self.picture

    def screen_size(self) -> tuple[int, int]:
        return 1920, 1080

    def window_size(self, app_class_name: str) -> tuple[int, int] | None:
        return self.windows.get(app_class_name)

    def desktop_path(self) -> str:
        return "/home/user/Desktop"


class Web(dict):
    """Satisfies `Files`."""

    def read(self, url: str) -> bytes:
        return self[url]


def score_files(
    func: str,
    result: bytes | list[bytes | None] | None,
    expected: Any = None,
    *,
    name: str = "file",
    rules: Any = None,
    beside: Mapping[str, bytes] | None = None,
    reading: Strict = "own",
    **options: Any,
) -> float:
    """The score of a file of the desktop, after the evaluator was found to be in order."""

    def source(kind: str, many: list[Any], extra: Mapping[str, bytes]) -> dict[str, Any]:
        places = [f"/{kind}/{number}/{name}" for number in range(len(many))]
        names = [name if len(many) == 1 else f"{number}-{name}" for number in range(len(many))]
        store = desk.files if kind == "vm_file" else web
        store.update({place: data for place, data in zip(places, many, strict=True) if data is not None})
        store.update({f"/{kind}/{key}": data for key, data in extra.items()})
        places, names = [*places, *(f"/{kind}/{key}" for key in extra)], [*names, *extra]
        if len(places) == 1:
            return {"type": kind, "path": places[0], "dest": names[0]}
        return {"type": kind, "path": places, "dest": names, "multi": True, "gives": list(range(len(many)))}

    desk, web = Desk(), Web()
    evaluator: dict[str, Any] = {"func": func, "options": options}
    evaluator["result"] = source("vm_file", result if isinstance(result, list) else [result], beside or {})
    if expected is not None:
        golds = expected if isinstance(expected, list) else [expected]
        evaluator["expected"] = source("cloud_file", golds, beside or {})
    elif rules is not None:
        evaluator["expected"] = {"type": "rule", "rules": rules}
    check_evaluator(evaluator)
    return evaluate(evaluator, desk, last_action="DONE", files=web, strict=reading)


def score_value(func: str, result: Any, rules: Any = None, **options: Any) -> float:
    """The score of a value, given as the rules of the result where it is no text."""
    desk = Desk(command=lambda command, shell: Printed(result))
    printed = {"type": "vm_command_line", "command": "look"}
    source = printed if isinstance(result, str) else {"type": "rule", "rules": result}
    evaluator = {"func": func, "result": source, "options": options}
    if rules is not None:
        evaluator["expected"] = {"type": "rule", "rules": rules}
    check_evaluator(evaluator)
    return evaluate(evaluator, desk, last_action="DONE", files=Web())


def saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def sheet(*rows: Sequence[Any], change: Callable[[Any], None] = lambda sheet: None, title: str = "Sheet1") -> bytes:
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    change(book.active)
    return saved(book)


def letter(*paragraphs: str, change: Callable[[Any], None] = lambda document: None) -> bytes:
    document = docx.Document()
    for text in paragraphs:
        document.add_paragraph(text)
    change(document)
    return saved(document)


def show(*titles: str, change: Callable[[Any], None] = lambda show: None) -> bytes:
    made = pptx.Presentation()
    for title in titles:
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = title
    change(made)
    return saved(made)


Change = Callable[[Image.Image], Image.Image]


def picture(width: int = 48, height: int = 32, change: Change = lambda image: image, kind: str = "PNG") -> bytes:
    """A picture with structure: soft colours, edges and a little noise."""
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    noise = np.random.default_rng(7).integers(0, 40, (height, width))
    rgb = np.stack([40 + x * 150 // width, 60 + y * 120 // height, 90 + 40 * ((x // 8 + y // 8) % 2)], axis=2)
    image = Image.fromarray((rgb + noise[..., None]).astype(np.uint8))
    file = io.BytesIO()
    change(image).save(file, kind)
    return file.getvalue()


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def repacked(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The same zip file with changed members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    return zipped(members)
