"""Text documents against documents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import beyond, likeness
from rlanything_verifiers.osworld.opening import image
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.word import (
    TextDocument,
    has_highlight,
    highlighted_texts,
    paragraph_texts,
    read_document,
)


@metric
def compare_docx_files(
    result: File,
    expected: File,
    *,
    ignore_blanks: bool = True,
    ignore_case: bool = False,
    ignore_order: bool = False,
    content_only: bool = False,
    fuzzy_match: bool = False,
    delete_empty_lines: bool = False,
) -> float:
    """The paragraphs are the expected ones; both documents are in Word's or both in OpenDocument's format."""
    if result.suffix != expected.suffix:
        return 0.0

    def read(file: File) -> list[str]:
        texts = paragraph_texts(file)
        texts = sorted(texts) if ignore_order else texts
        texts = [text for text in texts if text.strip()] if delete_empty_lines else texts
        return [text.lower() for text in texts] if ignore_case else texts

    one, other = read(result), read(expected)
    if content_only or ignore_blanks:
        one_text, other_text = _folded(one), _folded(other)
        return likeness(one_text, other_text) if content_only or fuzzy_match else float(one_text == other_text)
    if not fuzzy_match or len(one) != len(other):
        return float(one == other)
    return _mean([likeness(*pair) for pair in zip(one, other, strict=True)])


@metric
def compare_docx_files_and_ignore_new_lines(result: File, expected: File, *, ignore_blanks: bool = True) -> float:
    """The paragraphs are the expected ones, empty ones apart."""
    one, other = ([text for text in paragraph_texts(file) if text] for file in (result, expected))
    return float(_folded(one) == _folded(other) if ignore_blanks else one == other)


@metric
def compare_init_lines(result: File, expected: File) -> float:
    """The paragraphs are the expected ones as far as the shorter document goes."""
    return float(all(a == b for a, b in zip(paragraph_texts(result), paragraph_texts(expected), strict=False)))


@metric
def compare_docx_lines(result: File, expected: File) -> float:
    """The same lines occur, in any order."""
    one, other = ({text.strip() for text in paragraph_texts(file)} - {""} for file in (result, expected))
    return float(one == other)


@metric
def compare_docx_tables(result: File, expected: File) -> float:
    """The tables say the same."""
    return float(read_document(result).tables == read_document(expected).tables)


@metric
def compare_docx_images(result: File, expected: File) -> float:
    """The pictures are the same, pixel by pixel."""

    def same(one: bytes, other: bytes) -> bool:
        a, b = image(File("picture", one, result.reference)), image(File("picture", other, expected.reference))
        return a.size == b.size and a.tobytes() == b.tobytes()

    ones, others = read_document(result).images, read_document(expected).images
    return float(len(ones) == len(others) and all(map(same, ones, others)))  # two at a time: all may be too many


@metric
def compare_line_spacing(result: File, expected: File) -> float:
    """The texts are the same, and so are the distances between lines."""
    return _same_with(result, expected, lambda found: [part.line_spacing for part in found.paragraphs])


@metric
def compare_docx_layout(result: File, expected: File) -> float:
    """The texts are the same, pages end in the same places, and the same lines are centred, empty ones apart."""

    def facts(found: TextDocument) -> Any:
        return found.page_breaks, [part.alignment == "CENTER" for part in found.paragraphs if part.text.strip()]

    return _same_with(result, expected, facts)


@metric
def compare_contains_image(result: File, expected: File) -> float:
    """There are pictures in the same places of the text."""
    return float(_places(result, "picture") == _places(expected, "picture"))


@metric
def compare_insert_equation(result: File, expected: File) -> float:
    """The texts are the same, and a formula stands where one is expected."""
    return float(_same_text(result, expected) and bool(_places(result, "equation") & _places(expected, "equation")))


@metric
def compare_subscript_contains(result: File, expected: File) -> float:
    """Letters are lowered in one of the expected places."""
    return float(bool(_places(result, "subscript") & _places(expected, "subscript")))


@metric
def evaluate_strike_through_last_paragraph(result: File, expected: File) -> float:
    """The texts are the same, and the last paragraph is struck through."""
    if not _same_text(result, expected):
        return 0.0
    paragraphs = read_document(result).paragraphs
    return float(bool(paragraphs and paragraphs[-1].runs) and all(run.strike for run in paragraphs[-1].runs))


@metric
def check_italic_font_size_14(result: File, expected: File) -> float:
    """The texts are the same, and all that is italic has 14 points."""
    if not _same_text(result, expected):
        return 0.0
    runs = [run for part in read_document(result).paragraphs for run in part.runs]
    return float(all(run.size == 14 for run in runs if run.italic))


@metric
def check_highlighted_words(result: File, expected: File) -> float:
    """The texts are the same, and nothing has a yellow background."""
    return float(_same_text(result, expected) and not has_highlight(result, "#ffff00"))


@metric
def check_tabstops(
    result: File, expected: File, *, word_number_split_by_tabstop: int | None = None, index: int = 0
) -> float:
    """Closeness of the tab stops to the expected ones, relative to the width of the text."""
    found, wanted = read_document(result), read_document(expected)
    one, other = ([part for part in made.paragraphs if part.text.strip()] for made in (found, wanted))
    if len(one) != len(other) or not other:
        return 0.0
    for part in one if word_number_split_by_tabstop is not None else ():
        pieces = part.text.split("\t")
        if not -len(pieces) <= index < len(pieces) or len(pieces[index].split()) != word_number_split_by_tabstop:
            return 0.0
    away = 0.0
    for part, model in zip(one, other, strict=True):
        stops, models = (
            [stop for stop in each.tabs if stop[0] != "CLEAR" and stop != ("LEFT", 0)] for each in (part, model)
        )
        if [stop[0] for stop in stops] != [stop[0] for stop in models]:
            return 0.0
        distance = sum(abs(stop[1] - goal[1]) for stop, goal in zip(stops, models, strict=True))
        away += distance / max(1, wanted.text_width)
    return 1 - away / len(other)


@metric
def compare_unique_train_records(result: File, expected: list[File]) -> float:
    """Of the lines of a document (the second), those of the first are left, each train once."""
    if len(expected) != 2:
        return 0.0
    left, gold, initial = ([t.strip() for t in paragraph_texts(file) if t.strip()] for file in (result, *expected))
    trains, wanted = _trains(left), _trains(gold)
    return float(
        set(left) <= set(initial)
        and len(trains) == len(set(trains))
        and set(trains) == set(wanted)
        and len(left) == len(gold)
    )


@metric
def check_no_duplicates(result: File, expected: File) -> float:
    """The second document has each train of the first once."""
    one, other = (_trains(paragraph_texts(file)) for file in (result, expected))
    return float(sorted(set(one)) == sorted(other))


@metric
def compare_highlighted_text(result: File, expected: File) -> float:
    """The same texts are highlighted, in any order."""
    return float(set(highlighted_texts(result)) == set(highlighted_texts(expected)))


@metric
def compare_references(
    result: File,
    expected: File,
    *,
    reference_indicator: str = "References",
    reference_base_result: float = 0.5,
    content_only: bool = False,
) -> float:
    """Similarity of the lists of references, beyond that of an untouched document with the expected one."""

    def read(file: File) -> list[str] | None:
        texts = paragraph_texts(file)
        if reference_indicator not in texts:
            return None
        return [text for text in texts[texts.index(reference_indicator) + 1 :] if text.strip()]

    one, other = read(result), read(expected)
    if one is None or other is None:
        return float(one is other)
    if len(one) != len(other):
        return 0.0
    return beyond(_mean([likeness(*pair) for pair in zip(one, other, strict=True)]), reference_base_result)


def _trains(lines: list[str]) -> list[str]:
    """The trains, one a line of time, train, station and platform with commas between."""
    return [line.split(",")[1].strip() for line in lines if line.count(",") == 3]


def _folded(texts: list[str]) -> str:
    return re.sub(r"\s+", " ", "\n".join(texts)).strip()


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores) if scores else 1.0


def _same_text(result: File, expected: File) -> bool:
    return bool(compare_docx_files(result, expected) == 1)


def _same_with(result: File, expected: File, facts: Callable[[TextDocument], Any]) -> float:
    return float(_same_text(result, expected) and facts(read_document(result)) == facts(read_document(expected)))


def _places(file: File, property: str) -> set[tuple[int, int]]:
    """Paragraph and run, by number, of everything that has a property."""
    return {
        (row, column)
        for row, part in enumerate(read_document(file).paragraphs)
        for column, run in enumerate(part.runs)
        if getattr(run, property)
    }
