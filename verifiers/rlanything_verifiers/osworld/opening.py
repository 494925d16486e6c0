"""Opening files that may have been made to hurt: every limit is checked before a library sees the content.

A file of the desktop that breaks a limit is `Unreadable`, which scores 0. Libraries are imported when first needed.
"""

from __future__ import annotations

import functools
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, cast
from xml.parsers import expat

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import library

if TYPE_CHECKING:
    from docx.document import Document
    from lxml.etree import _Element
    from openpyxl import Workbook
    from PIL.Image import Image
    from pptx.presentation import Presentation

__all__ = [
    "MAX_ATTRIBUTES",
    "MAX_CELLS",
    "MAX_DEPTH",
    "MAX_ELEMENTS",
    "MAX_MEMBERS",
    "MAX_PIXELS",
    "MAX_UNPACKED",
    "MAX_XML",
    "Package",
    "document",
    "html",
    "image",
    "package",
    "presentation",
    "workbook",
    "xml",
]

MAX_UNPACKED = 512 * 2**20
"""Bytes of everything in a zip file, unpacked."""

MAX_MEMBERS = 10_000
"""Files in a zip file."""

MAX_XML = 32 * 2**20
"""Bytes of XML in an office file, unpacked, or of web pages; a tree of it takes some ten times as much memory."""

MAX_ELEMENTS = 1_000_000
"""Elements in all XML of an office file, or in a web page."""

MAX_DEPTH = 200
"""Elements within elements."""

MAX_ATTRIBUTES = 256
"""Attributes of one element: libxml2 goes through all of them for each that it adds to a web page."""

MAX_CELLS = 1_000_000
"""Cells of a spreadsheet that are merged, linked or commented upon: openpyxl makes an object of each."""

MAX_PIXELS = 40_000_000
"""Pixels of a picture."""

_PICTURES = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")  # in an ICO, a PNG may be larger than it says

_XML = re.compile(rb"(?!\0\0\0<ftyp)(?:\xef\xbb\xbf)?[\s\0]*<|\xff\xfe|\xfe\xff|Lo\xa7\x94")
"""How XML begins in all encodings that libxml2 tells by the first bytes, and no film; its name may be any."""


class Package(Mapping[str, bytes]):
    """A zip file within the limits, by the names of its members; folders are left out.

    Raises:
        Unreadable, VerifierError: it is not a zip file, or beyond the limits.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        with file.reading():
            self._zip = zipfile.ZipFile(io.BytesIO(file.data))
            if len(members := self._zip.infolist()) > MAX_MEMBERS:
                raise file.refuse(f"{len(members)} members; at most {MAX_MEMBERS} are read")
            if (size := sum(member.file_size for member in members)) > MAX_UNPACKED:
                raise file.refuse(f"{size} bytes unpacked; at most {MAX_UNPACKED} are read")
            self._members = {member.filename: member for member in members if not member.is_dir()}
            if len(self._members) < sum(not member.is_dir() for member in members):
                raise file.refuse("two members have one name")

    def __getitem__(self, name: str) -> bytes:
        member = self._members[name]
        with self.file.reading():
            return self._zip.read(member)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def member(self, name: str) -> File:
        """A member as a separate file."""
        return File(name, self[name], self.file.reference)

    def xml(self, name: str) -> _Element:
        """The root of a member that is XML."""
        return xml(self.member(name))


class _Gate:
    """Goes through XML without building anything, and raises where something in it is beyond the limits."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.elements = self.depth = self.bytes = self.cells = 0
        self.parts: dict[str, tuple[int, int, int]] = {}

    def check(self, data: bytes, name: str) -> None:
        elements, cells = self.elements, self.cells
        self._count(name, len(data))
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.EntityDeclHandler = self._entity
        self.depth = 0
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: encodings that Python has not
            raise self.file.refuse(f"{name}: {error}") from error
        self.parts[name] = len(data), self.elements - elements, self.cells - cells

    def again(self, name: str) -> None:
        """Count a part once more."""
        self._count(name, *self.parts.get(name, (0, 0, 0)))

    def _count(self, name: str, size: int, elements: int = 0, cells: int = 0) -> None:
        self.bytes, self.elements, self.cells = self.bytes + size, self.elements + elements, self.cells + cells
        if self.bytes > MAX_XML:
            raise self.file.refuse(f"{name}: {self.bytes} bytes of XML; at most {MAX_XML} are read")
        if self.elements > MAX_ELEMENTS or self.cells > MAX_CELLS:
            raise self.file.refuse(f"{name}: {self.elements} elements, {self.cells} marked cells, repeats included")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        local = tag.rpartition(":")[2]
        _few(attributes, self.file)
        self.elements += 1
        self.depth += 1
        if self.elements > MAX_ELEMENTS or self.depth > MAX_DEPTH:
            raise self.file.refuse(f"{self.elements} elements, {self.depth} deep; at most {MAX_ELEMENTS}, {MAX_DEPTH}")
        if local in ("gridSpan", "gridBefore", "gridAfter") and any(not _small(text) for text in attributes.values()):
            raise self.file.refuse("a cell of a table that spans more than a thousand columns")
        if "ref" in attributes and local in ("mergeCell", "hyperlink", "comment"):
            self.cells += _area(attributes["ref"])
            if self.cells > MAX_CELLS:
                raise self.file.refuse(f"a sheet with {tag} on {self.cells} cells; at most {MAX_CELLS} are read")

    def _end(self, tag: str) -> None:
        self.depth -= 1

    def _entity(self, name: str, *_: Any) -> None:
        raise self.file.refuse(f"XML that declares the entity {name!r:.40}")


def _few(attributes: Mapping[str, str], file: File) -> None:
    if len(attributes) > MAX_ATTRIBUTES:
        raise file.refuse(f"an element of {len(attributes)} attributes; at most {MAX_ATTRIBUTES} are read")


def _small(number: str) -> bool:
    return len(number.strip()) <= 4 and number.strip().isdecimal() and int(number) <= 1000


_CELL = re.compile(r"\$?([A-Z]{0,3})\$?(\d{0,7})", re.IGNORECASE)


def _area(ref: str) -> int:
    """The number of cells of ``B2:C3``; the largest there can be where it is not a plain range."""
    corners = [_CELL.fullmatch(corner) for corner in ref.split(":")]
    if len(corners) > 2 or not all(corner and corner[1] and corner[2] for corner in corners):
        return 2**34
    places = [(_column(corner[1]), int(corner[2])) for corner in corners if corner]
    (left, top), (right, bottom) = places[0], places[-1]
    return (abs(right - left) + 1) * (abs(bottom - top) + 1)


def _column(letters: str) -> int:
    return functools.reduce(lambda number, letter: number * 26 + ord(letter) - 64, letters.upper(), 0)


class _Metered(zipfile.ZipFile):
    """A zip file within the limits, in which what is read again counts again.

    A spreadsheet may mention one sheet, picture or chart any number of times, and openpyxl reads it each time.
    """

    def __init__(self, checked: Package, gate: _Gate) -> None:
        super().__init__(io.BytesIO(checked.file.data))
        self._gate, self._seen, self._size = gate, set[str](), sum(part.file_size for part in self.infolist())

    def open(self, name: str | zipfile.ZipInfo, *how: Any, **options: Any) -> IO[bytes]:
        part = self.getinfo(name) if isinstance(name, str) else name
        if part.filename in self._seen:
            self._gate.again(part.filename)
            if (size := self._size + part.file_size) > MAX_UNPACKED:
                raise self._gate.file.refuse(f"{size} bytes with repeats; at most {MAX_UNPACKED} are read")
            self._size = size
        self._seen.add(part.filename)
        return super().open(name, *how, **options)


def package(file: File) -> Package:
    """An office file as a zip file whose XML is within the limits."""
    return _checked(file)[0]


def _checked(file: File) -> tuple[Package, _Gate]:
    opened, gate = Package(file), _Gate(file)
    for name in opened:
        data = opened[name]
        if data and (name.lower().endswith((".xml", ".rels")) or _XML.match(data)):
            gate.check(data, name)
    return opened, gate


def xml(file: File) -> _Element:
    """The root element of an XML file."""
    etree = library("lxml.etree")
    _Gate(file).check(file.data, file.name)
    with file.reading():
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        return cast("_Element", etree.fromstring(file.data, parser))


def workbook(file: File, values: bool) -> Workbook:
    """A spreadsheet: the values its formulas had when it was saved, or the formulas."""
    checked, reader = _checked(file), library("openpyxl.reader.excel").ExcelReader
    with file.reading():
        reading = reader(io.BytesIO(file.data), data_only=values)
        reading.archive = _Metered(*checked)
        reading.read()
        return cast("Workbook", reading.wb)


def document(file: File) -> Document:
    """A text document in Word's format."""
    return cast("Document", _opened(file, library("docx").Document))


def presentation(file: File) -> Presentation:
    """A slide show in PowerPoint's format."""
    return cast("Presentation", _opened(file, library("pptx").Presentation))


def _opened(file: File, read: Callable[..., Any]) -> Any:
    package(file)
    with file.reading():
        return read(io.BytesIO(file.data))


def image(file: File) -> Image:
    """A picture, its first frame decoded."""
    with file.reading():
        opened: Image = library("PIL.Image").open(io.BytesIO(file.data), formats=_PICTURES)
        if opened.width * opened.height > MAX_PIXELS:
            raise file.refuse(f"{opened.width} by {opened.height} pixels; at most {MAX_PIXELS} are read")
        opened.load()
        return opened


class _Counter:
    """Counts the elements of a web page, whatever its encoding, without building anything."""

    def __init__(self, file: File) -> None:
        self.file, self.elements = file, 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        _few(attributes, self.file)
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise self.file.refuse(f"a web page of more than {MAX_ELEMENTS} elements")

    def close(self) -> None:
        """Nothing is left to do."""


def html(file: File) -> _Element:
    """The root element of a web page."""
    etree = library("lxml.etree")
    with file.reading():
        if len(file.data) > MAX_XML:
            raise file.refuse(f"{len(file.data)} bytes; at most {MAX_XML} are read")
        etree.fromstring(file.data, etree.HTMLParser(no_network=True, huge_tree=False, target=_Counter(file)))
        root: _Element | None = etree.fromstring(file.data, etree.HTMLParser(no_network=True, huge_tree=False))
        if root is None:
            raise file.refuse("an empty web page")
        return root
