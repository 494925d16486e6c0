"""Text documents against rules."""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import likeness
from rlanything_verifiers.osworld.metrics.colors import difference
from rlanything_verifiers.osworld.metrics.documents import compare_docx_files
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.word import Run, paragraph_texts, read_document

RED, BLUE = (255, 0, 0), (0, 0, 255)


@dataclass(frozen=True)
class FontName:
    """The name of a font."""

    font_name: str


@dataclass(frozen=True)
class PageBreaks:
    """The number of page breaks; None where any number but 0 will do."""

    page_break_count: int | None = None


@dataclass(frozen=True)
class Places:
    """Names that a document may give."""

    expected: list[str]


@metric
def contains_page_break(result: File, rules: PageBreaks | None = None) -> float:
    """There are page breaks, as many as expected."""
    count = sum(run.page_breaks for part in read_document(result).paragraphs for run in part.runs)
    wanted = None if rules is None else rules.page_break_count
    return float(count > 0 and wanted in (None, count))


@metric
def compare_font_names(result: File, rules: FontName) -> float:
    """Everything is in one font; a document without text is not."""
    runs = [run for part in read_document(result).paragraphs for run in part.runs]
    return float(bool(runs) and all(run.font == rules.font_name for run in runs))


@metric
def is_first_line_centered(result: File) -> float:
    """The first paragraph is centred."""
    return float(bool(paragraphs := read_document(result).paragraphs) and paragraphs[0].alignment == "CENTER")


@metric
def has_page_numbers_in_footers(result: File) -> float:
    """Each section has a footer with a page number."""
    return float(bool(footers := read_document(result).footers) and all(footers))


@metric
def evaluate_conversion(result: File) -> float:
    """Nothing is written in capital letters only."""
    found = read_document(result)
    runs = [*found.table_runs, *(run for part in found.paragraphs for run in part.runs)]
    return float(not any(run.text.isupper() for run in runs))


@metric
def evaluate_spacing(result: File) -> float:
    """The first three paragraphs have single, double, and one-and-a-half spacing."""
    return float([part.line_spacing for part in read_document(result).paragraphs[:3]] == [1.0, 2.0, 1.5])


@metric
def evaluate_colored_words_in_tables(result: File, expected: File, *, threshold: float = 3.5) -> float:
    """The texts are the same; in tables, words that begin with a vowel are red and all others blue."""
    if compare_docx_files(result, expected) != 1:
        return 0.0

    def right(run: Run) -> bool:
        wanted = RED if run.text[0].lower() in "aeiou" else BLUE
        return run.color is not None and difference(run.color, wanted) <= threshold

    return float(all(right(run) for run in read_document(result).table_runs if run.text))


@metric
def evaluate_alignment(result: File) -> float:
    """In each sentence of more than two words, the first three stand together, and so do those after them."""

    def aligned(sentence: str) -> bool:
        if len(words := sentence.split()) < 3:
            return True
        first, rest = " ".join(words[:3]), " ".join(words[3:])
        return first in sentence and rest in sentence and sentence.find(first) < sentence.find(rest)

    return float(all(aligned(part) for text in paragraph_texts(result) for part in text.split(".")))


@metric
def fuzzy_place_math(result: File, rules: Places) -> float:
    """Similarity of the three words of the document to the correct names."""
    if len(words := [word for text in paragraph_texts(result) for word in text.split()]) != 3:
        return 0.0
    return sum(max((likeness(word, name) for name in rules.expected), default=0.0) for word in words) / 3
