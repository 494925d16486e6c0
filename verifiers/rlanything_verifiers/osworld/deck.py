"""Slide shows as plain data, read from a file by python-pptx once and safe to compare."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.opening import presentation

__all__ = ["Deck", "DeckParagraph", "DeckRun", "Shape", "Slide", "number_color", "read_deck"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"

_MASTER = {"title": "title", "ctrTitle": "title", "dt": "dt", "ftr": "ftr", "sldNum": "sldNum"}
"""The kinds of a layout's placeholders, with those of the master that they take their place from; all others: body."""

Rgb = tuple[int, int, int]
Box = tuple[int | None, ...]
_NOWHERE: Box = (None, None, None, None)

THEME = "theme"
"""Stands for a colour that the theme decides."""


@dataclass(frozen=True)
class DeckRun:
    """Letters that look the same.

    Attributes:
        size: in hundredths of a point.
        color: red, green, blue; ``"theme"`` where the theme decides, None where the file does not set it.
        underline: the kind of line, ``"none"`` without.
    """

    text: str
    font: str | None
    size: int | None
    bold: bool
    italic: bool
    underline: str
    strike: str
    color: Rgb | str | None


@dataclass(frozen=True)
class DeckParagraph:
    """A paragraph; aligned to the left where the file does not set it.

    Attributes:
        level: its level of indentation, from 0.
        bullet: the character before it.
    """

    text: str
    alignment: str
    level: int
    bullet: str | None
    runs: tuple[DeckRun, ...]


@dataclass(frozen=True)
class Shape:
    """Something on a slide.

    Attributes:
        kind: python-pptx's name of its type.
        box: left, top, width, height in English metric units.
        paragraphs: None where it takes no text.
        cells: of a table, by row, the paragraphs of each cell; None of anything else.
        picture: the bytes of a picture.
        inner: the shapes of a group.
    """

    kind: str
    box: Box
    paragraphs: tuple[DeckParagraph, ...] | None
    cells: tuple[tuple[tuple[DeckParagraph, ...], ...], ...] | None
    picture: bytes | None
    inner: tuple[Shape, ...]

    @property
    def text(self) -> str | None:
        """The text on it."""
        return None if self.paragraphs is None else "\n".join(part.text for part in self.paragraphs)

    def with_text(self) -> Iterator[Shape]:
        """It and the shapes of its group, as far as they take text."""
        if self.paragraphs is not None:
            yield self
        for shape in self.inner:
            yield from shape.with_text()


@dataclass(frozen=True)
class Slide:
    """A slide.

    Attributes:
        background: the colour of a plain background, of the slide or else of its master.
        bullets: level, bullet and text of all paragraphs with text.
        transitions: the names of the transitions to it.
    """

    shapes: tuple[Shape, ...]
    notes: str
    background: Rgb | str | None
    bullets: tuple[tuple[int, str | None, str], ...]
    transitions: frozenset[str]


@dataclass(frozen=True)
class Deck:
    """A slide show; sizes in English metric units."""

    width: int
    height: int
    slides: tuple[Slide, ...]


def read_deck(file: File) -> Deck:
    """A slide show in PowerPoint's format."""
    opened = presentation(file)
    with file.reading():
        places, notes, parts = functools.cache(_places), functools.cache(_notes), list(opened.slides)
        if len({slide.part for slide in parts}) < len(parts):
            raise file.refuse("a slide is in it twice")
        texts = [notes(slide.notes_slide.part) if slide.has_notes_slide else "" for slide in parts]
        slides = tuple(_slide(s, places(s.slide_layout.part), text) for s, text in zip(parts, texts, strict=True))
        return Deck(opened.slide_width or 0, opened.slide_height or 0, slides)


def number_color(file: File) -> Rgb | str | None:
    """Colour that the first master with a field for the slide's number, as LibreOffice writes it, gives to it."""
    opened = presentation(file)
    with file.reading():
        for master in opened.slide_masters:
            for shape in master.placeholders:
                if shape.has_text_frame and shape.text_frame.text == "<number>":
                    look = shape.text_frame.paragraphs[0]._p.find(f"{_A}pPr/{_A}defRPr")
                    return None if look is None else _color(look)
    return None


def _notes(part: Any) -> str:
    """The text of a page of notes, which may be that of many slides."""
    return "" if (notes := part.notes_slide.notes_text_frame) is None else str(notes.text).strip()


def _slide(slide: Any, places: Mapping[int, Box], notes: str) -> Slide:
    paragraphs = map(_paragraph, slide._element.iter(f"{_A}p"))
    return Slide(
        shapes=tuple(_shape(shape, places) for shape in slide.shapes),
        notes=notes,
        background=_background(slide._element, slide.slide_layout.slide_master._element),
        bullets=tuple((part.level, part.bullet, part.text) for part in paragraphs if part.text.strip()),
        transitions=frozenset(
            str(part.tag).rpartition("}")[2] for found in slide._element.iter(f"{_P}transition") for part in found
        ),
    )


def _background(slide: Any, master: Any) -> Rgb | str | None:
    if (own := slide.find(f"{_P}cSld/{_P}bg/{_P}bgPr")) is None or own.find(f"{_A}noFill") is not None:
        own = master.find(f"{_P}cSld/{_P}bg/{_P}bgPr")
    return None if own is None else _color(own)


def _places(layout: Any) -> dict[int, Box]:
    """Where a layout has its placeholders, by number: python-pptx goes through all of them for each it looks up."""
    above, found = dict[str, Box](), dict[int, Box]()
    for shape in layout.slide_master.placeholders:
        above.setdefault(shape._element.ph.get("type", "obj"), _box(shape._element))
    for shape in layout.slide_layout.placeholders:
        under = above.get(_MASTER.get(shape._element.ph.get("type"), "body"), _NOWHERE)
        found.setdefault(shape._element.ph_idx, _box(shape._element, under))
    return found


def _box(element: Any, under: Box = _NOWHERE) -> Box:
    own = (element.x, element.y, element.cx, element.cy)
    return tuple(mine if mine is not None else other for mine, other in zip(own, under, strict=True))


def _shape(shape: Any, places: Mapping[int, Box]) -> Shape:
    element = shape._element
    inherits = hasattr(type(shape), "_base_placeholder")
    body = element.find(f"{_P}txBody")
    table = element.find(f".//{_A}tbl") if shape.has_table else None
    rows = [] if table is None else table.findall(f"{_A}tr")
    return Shape(
        kind=getattr(shape.shape_type, "name", "NONE"),
        box=_box(element, places.get(element.ph_idx, _NOWHERE) if inherits else _NOWHERE),
        paragraphs=None if body is None else tuple(map(_paragraph, body.findall(f"{_A}p"))),
        cells=None
        if table is None
        else tuple(
            tuple(tuple(map(_paragraph, cell.findall(f"{_A}txBody/{_A}p"))) for cell in row.findall(f"{_A}tc"))
            for row in rows
        ),
        picture=_picture(shape),
        inner=tuple(_shape(part, places) for part in shape.shapes) if hasattr(shape, "shapes") else (),
    )


def _picture(shape: Any) -> bytes | None:
    try:
        return bytes(shape.image.blob)
    except (AttributeError, KeyError, ValueError):  # no picture, or one that is not in the file
        return None


def _paragraph(paragraph: Any) -> DeckParagraph:
    shape = paragraph.find(f"{_A}pPr")
    bullet = None if shape is None else shape.find(f"{_A}buChar")
    alignment = None if shape is None else shape.get("algn")
    return DeckParagraph(
        text="".join(part.text or "" if part.tag == f"{_A}t" else "\v" for part in paragraph.iter(f"{_A}t", f"{_A}br")),
        alignment=alignment or "l",
        level=0 if shape is None else int(shape.get("lvl") or 0),
        bullet=None if bullet is None else bullet.get("char"),
        runs=tuple(map(_run, paragraph.findall(f"{_A}r"))),
    )


def _run(run: Any) -> DeckRun:
    look = run.find(f"{_A}rPr")
    get = (lambda name: None) if look is None else look.get
    font = None if look is None else look.find(f"{_A}latin")
    size = get("sz")
    return DeckRun(
        text=run.findtext(f"{_A}t") or "",
        font=None if font is None else font.get("typeface"),
        size=None if size is None else int(size),
        bold=get("b") in ("1", "true"),
        italic=get("i") in ("1", "true"),
        underline=get("u") or "none",
        strike=get("strike") or "noStrike",
        color=None if look is None else _color(look),
    )


def _color(filled: Any) -> Rgb | str | None:
    """The colour of a plain fill."""
    if (fill := filled.find(f"{_A}solidFill")) is None:
        return None
    if (exact := fill.find(f"{_A}srgbClr")) is None:
        return THEME
    value = int(exact.get("val"), 16)
    return value >> 16 & 255, value >> 8 & 255, value & 255
