"""Archives, electronic books and web pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rlanything_verifiers.osworld.archives import members
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import line_likeness
from rlanything_verifiers.osworld.metrics.documents import compare_docx_files
from rlanything_verifiers.osworld.metrics.images import compare_images
from rlanything_verifiers.osworld.metrics.pdfs import compare_pdfs
from rlanything_verifiers.osworld.metrics.slides import compare_pptx_files
from rlanything_verifiers.osworld.metrics.text import compare_csv, compare_text_file
from rlanything_verifiers.osworld.opening import MAX_ELEMENTS, MAX_XML, html
from rlanything_verifiers.osworld.registry import Metric, metric

_PDF_LIKENESS = 0.95


@dataclass(frozen=True)
class BackgroundImage:
    """The address of a picture, as the page names it."""

    value: str


_KINDS: Mapping[str, Metric] = {
    "text": compare_text_file,
    "pdf": compare_pdfs,
    "docx": compare_docx_files,
    "ppt": compare_pptx_files,
    "image": compare_images,
    "csv": compare_csv,
}


@metric
def compare_archive(
    result: File,
    expected: File,
    *,
    file_path: str = "",
    file_type: Literal["text", "pdf", "docx", "ppt", "image", "csv"] = "text",
) -> float:
    """Mean similarity of the files of a folder, which must be the expected ones and no others."""
    ones, others = members(result, file_path), members(expected, file_path)
    if not others or set(ones) != set(others):
        return 0.0
    return sum(_KINDS[file_type](ones[name], others[name]) for name in others) / len(others)


@metric
def compare_zip_files(result: File, expected: File) -> float:
    """The archives hold the same files; PDF files only have to say much the same."""
    ones, others = members(result), members(expected)

    def same(name: str) -> bool:
        if ones[name].suffix == ".pdf":
            return compare_pdfs(ones[name], others[name]) >= _PDF_LIKENESS
        return ones[name].data == others[name].data

    return float(set(ones) == set(others) and all(map(same, others)))


@metric
def compare_epub(result: File, expected: File) -> float:
    """Mean similarity of the pages and the contents of two books."""
    ones, others = _book(result), _book(expected)
    names = set(ones) | set(others)
    return sum(line_likeness(ones.get(n, []), others.get(n, [])) for n in names) / len(names) if names else 0.0


def _book(file: File) -> dict[str, list[str]]:
    """The pages of a book line by line, without the parts that differ with every export."""
    passed_over = {"toc.ncx": "navPoint", "content.opf": "dc:identifier"}
    found, size, lines = dict[str, list[str]](), 0, 0
    for name, member in members(file).items():
        if name in passed_over:
            found[name] = [line for line in member.lines() if passed_over[name] not in line]
        elif name.endswith((".html", ".xhtml")):
            if (size := size + len(member.data)) > MAX_XML:
                raise file.refuse(f"pages of {size} bytes; at most {MAX_XML} are read")
            found[name] = [line for part in html(member).iter() for line in _lines(part)]
        if (lines := lines + len(found.get(name, ()))) > MAX_ELEMENTS:
            raise file.refuse(f"a book of {lines} lines; at most {MAX_ELEMENTS} are read")
    return found


def _lines(element: object) -> list[str]:
    tag, text, tail = (getattr(element, name, None) for name in ("tag", "text", "tail"))
    attributes = sorted(dict(getattr(element, "attrib", {})).items())
    return [f"{tag} {attributes} {(text or '').strip()}", *([tail.strip()] if tail and tail.strip() else [])]


@metric
def check_html_background_image(result: File, rules: BackgroundImage) -> float:
    """A style sheet in the page names a picture as the background."""
    wanted = f"background-image: url('{rules.value}')"
    return float(any(wanted in (style.text or "") for style in html(result).iter("style")))


@metric
def compare_htmls(result: File, expected: File, *, ignore_sdnum: bool = False) -> float:
    """The pages have the same elements with the same texts and attributes."""

    def read(file: File) -> list[tuple[str, dict[str, str], str, str]]:
        passed_over = {"sdnum"} if ignore_sdnum else set()
        return [
            (
                str(part.tag),
                {str(name): str(value) for name, value in part.attrib.items() if name not in passed_over},
                (part.text or "").strip(),
                (part.tail or "").strip(),
            )
            for part in html(file).iter()
        ]

    return float(read(result) == read(expected))
