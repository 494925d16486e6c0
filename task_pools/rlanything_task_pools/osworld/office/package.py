"""The container of an office file: XML parts, their types and their relations, in a zip without clocks."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

__all__ = ["OFFICE", "Part", "attribute", "pack", "text"]

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
KIND = "application/vnd.openxmlformats-officedocument."


@dataclass(frozen=True, slots=True)
class Part:
    """One XML file of the package."""

    path: str
    kind: str
    """Its content type, without the common beginning."""
    xml: str
    relations: Mapping[str, tuple[str, str]]
    """By id: the last word of the relation's type, and the target."""


def pack(main: str, parts: Iterable[Part]) -> bytes:
    """The bytes of a package.

    Args:
        main: Path of the part that a program begins with.
        parts: All parts, in the order in which they are stored.
    """
    parts = tuple(parts)
    types = "".join(f'<Override PartName="/{part.path}" ContentType="{KIND}{part.kind}+xml"/>' for part in parts)
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
        "_rels/.rels": _relations({"rId1": ("officeDocument", main)}),
    }
    for part in parts:
        files[part.path] = part.xml
        if part.relations:
            folder, _, name = part.path.rpartition("/")
            files[f"{folder}/_rels/{name}.rels"] = _relations(part.relations)
    # Not compressed: what a compressor makes of a text depends on its version.
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for path, xml in files.items():
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, HEAD + xml)
    return buffer.getvalue()


def text(value: object) -> str:
    """A text as XML."""
    return escape(str(value))


def attribute(value: object) -> str:
    """A text as the value of an attribute, quotes included."""
    return quoteattr(str(value))


def _relations(relations: Mapping[str, tuple[str, str]]) -> str:
    rows = "".join(
        f'<Relationship Id="{name}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for name, (kind, target) in relations.items()
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{rows}</Relationships>'
