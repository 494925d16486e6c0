"""Text documents as plain data, read from a file by python-docx once and safe to compare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import library
from rlanything_verifiers.osworld.opening import Package, document, package

if TYPE_CHECKING:
    from docx.document import Document

__all__ = ["Paragraph", "Run", "TextDocument", "highlighted_texts", "paragraph_texts", "read_document"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"


@dataclass(frozen=True)
class Run:
    """Letters that look the same.

    Attributes:
        size: in points.
        color: red, green, blue; None where the document leaves it open.
        page_breaks: number of page breaks in it.
        equation: whether it holds an embedded object, such as a formula.
        picture: whether it holds a picture.
    """

    text: str
    font: str | None
    size: float | None
    italic: bool | None
    strike: bool | None
    subscript: bool | None
    color: tuple[int, int, int] | None
    page_breaks: int
    equation: bool
    picture: bool


@dataclass(frozen=True)
class Paragraph:
    """A paragraph.

    Attributes:
        alignment: ``LEFT``, ``CENTER``, ...; None where its style decides.
        line_spacing: a multiple of a line, or a height; None where its style decides.
        tabs: alignment and position of the tab stops.
    """

    text: str
    alignment: str | None
    line_spacing: float | None
    tabs: tuple[tuple[str, int], ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class TextDocument:
    """A document.

    Attributes:
        paragraphs: those outside of tables.
        tables: the texts of the cells, by table and row.
        table_runs: everything written in tables.
        images: the bytes of the pictures.
        footers: for each section, whether its footer has a page number or a digit.
        text_width: of the first section, in the unit of tab stops.
        page_breaks: for each, the number of letters before it; blanks are no letters.
    """

    paragraphs: tuple[Paragraph, ...]
    tables: tuple[tuple[tuple[str, ...], ...], ...]
    table_runs: tuple[Run, ...]
    images: tuple[bytes, ...]
    footers: tuple[bool, ...]
    text_width: int
    page_breaks: tuple[int, ...]


def read_document(file: File) -> TextDocument:
    """A document in Word's format."""
    opened = document(file)
    with file.reading():
        return _read(opened)


def paragraph_texts(file: File) -> list[str]:
    """The paragraphs of a document in Word's or in OpenDocument's format."""
    opened = Package(file)  # of a document's parts only this one is read: its styles are many times as large
    with file.reading():
        if file.suffix == ".odt":
            root = opened.xml("content.xml")
            return ["".join(map(str, paragraph.itertext())) for paragraph in root.iter(f"{_TEXT}p")]
        return [paragraph.text for paragraph in _body(opened).p_lst]


def _body(opened: Package) -> Any:
    """The body of a document in Word's format, made of python-docx's elements."""
    links = opened.xml("_rels/.rels").iter(_LINK)
    main = next(str(link.get("Target")) for link in links if str(link.get("Type")).endswith("/officeDocument"))
    opened.xml(main.lstrip("/"))  # within the limits
    root: Any = library("docx.oxml.parser").parse_xml(opened[main.lstrip("/")])
    return root.body


def highlighted_texts(file: File) -> list[str]:
    """The texts with a mark of a text marker, of a document in Word's format."""
    opened = Package(file)
    with file.reading():
        return [run.text for run in _body(opened).iter(f"{_W}r") if any(map(_marks, run.iter(f"{_W}highlight")))]


def _marks(highlight: Any) -> bool:
    return bool(highlight.get(f"{_W}val") != "none")


def has_highlight(file: File, color: str) -> bool:
    """Whether some words of an OpenDocument text have a background of this colour, ``#rrggbb``."""
    root = package(file).xml("content.xml")
    marked = {
        style.get(f"{_STYLE}name")
        for style in root.iter(f"{_STYLE}style")
        for part in style
        if (part.get(f"{_FO}background-color") or "").lower() == color
    }
    return any(span.get(f"{_TEXT}style-name") in marked for span in root.iter(f"{_TEXT}span"))


def _read(opened: Document) -> TextDocument:
    section = opened.sections[0]
    tables = [(table, [row.tc_lst for row in table._tbl.tr_lst]) for table in opened.tables]
    return TextDocument(
        paragraphs=tuple(map(_paragraph, opened.paragraphs)),
        tables=tuple(tuple(tuple(_cell_text(cell) for cell in row) for row in rows) for _, rows in tables),
        table_runs=tuple(
            _run(run) for table, rows in tables for row in rows for cell in row for run in _cell_runs(cell, table)
        ),
        images=tuple(_images(opened.part.rels.values())),
        footers=tuple(_footers(opened.sections)),
        text_width=(section.page_width or 0) - (section.left_margin or 0) - (section.right_margin or 0),
        page_breaks=tuple(_page_breaks(opened.element.body)),
    )


def _images(links: Iterable[Any]) -> Iterator[bytes]:
    parts = [link.target_part for link in links if link.reltype.endswith("/image") and not link.is_external]
    blobs = {part: part.blob for part in set(parts)}  # of XML it is written anew each time
    return map(blobs.__getitem__, parts)


def _page_breaks(body: Any) -> Iterator[int]:
    letters = 0
    for part in body.iter(f"{_W}t", f"{_W}br"):
        letters += len("".join((part.text or "").split()))
        if part.get(f"{_W}type") == "page":
            yield letters


def _paragraph(paragraph: Any) -> Paragraph:
    shape = paragraph.paragraph_format
    return Paragraph(
        text=paragraph.text,
        alignment=None if shape.alignment is None else shape.alignment.name,
        line_spacing=None if shape.line_spacing is None else float(shape.line_spacing),
        tabs=tuple((stop.alignment.name, int(stop.position)) for stop in shape.tab_stops),
        runs=tuple(map(_run, paragraph.runs)),
    )


def _run(run: Any) -> Run:
    font, element = run.font, run._r
    color = font.color.rgb if font.color is not None else None
    return Run(
        text=run.text,
        font=font.name,
        size=None if font.size is None else font.size.pt,
        italic=font.italic,
        strike=font.strike,
        subscript=font.subscript,
        color=None if color is None else (color[0], color[1], color[2]),
        page_breaks=sum(mark.get(f"{_W}type") == "page" for mark in element.iter(f"{_W}br")),
        equation=next(element.iter(f"{_W}object"), None) is not None,
        picture=any(str(part.tag).endswith("}graphicData") for part in element.iter()),
    )


def _cell_text(cell: Any) -> str:
    """The text of a cell. python-docx's own property repeats it for each column that it spans."""
    return "\n".join(line.text for line in cell.p_lst).strip()


def _cell_runs(cell: Any, table: Any) -> list[Any]:
    from docx.text.paragraph import Paragraph as DocxParagraph

    return [run for line in cell.iter(f"{_W}p") for run in DocxParagraph(line, table).runs]


def _footers(sections: Iterable[Any]) -> Iterator[bool]:
    numbered, known = False, dict[Any, bool]()
    for footer in (section.footer for section in sections):
        if not footer.is_linked_to_previous:  # else python-docx would walk back to where it is written
            if (part := footer.part) not in known:  # which may be that of many sections
                known[part] = _numbered(footer)
            numbered = known[part]
        yield numbered


def _numbered(footer: Any) -> bool:
    for paragraph in footer.paragraphs:
        fields = [part.text or "" for part in paragraph._p.iter(f"{_W}instrText")]
        fields += [part.get(f"{_W}instr") or "" for part in paragraph._p.iter(f"{_W}fldSimple")]
        if re.search(r"\d", paragraph.text) or any(re.match(r"\s*PAGE\b", field) for field in fields):
            return True
    return False
