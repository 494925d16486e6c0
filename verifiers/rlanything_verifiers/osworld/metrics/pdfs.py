"""PDF files."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rlanything_verifiers.osworld.errors import Unreadable
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.matching import likeness
from rlanything_verifiers.osworld.opening import image
from rlanything_verifiers.osworld.pdf import page_count, pdf_images, pdf_text
from rlanything_verifiers.osworld.pictures import frequency_hash, pixels, resized
from rlanything_verifiers.osworld.registry import metric
from rlanything_verifiers.osworld.structured import read_json

_SIDE = 32
"""Pixels to which the sides of pictures are scaled before they are compared."""

_HASH_DISTANCE = 5
"""Bits of 64 in which the hashes of two pictures that look the same may differ."""


@dataclass(frozen=True)
class Pages:
    """Required relation of the number of pages to another number."""

    relation: Literal["eq", "ne", "lt", "le", "gt", "ge"]
    ref_value: int


@metric
def check_pdf_pages(result: File, rules: Pages) -> float:
    """The number of pages is as expected."""
    return float(getattr(operator, rules.relation)(page_count(result), rules.ref_value))


@metric
def compare_pdfs(result: File | list[File], expected: File | list[File]) -> float:
    """Mean similarity of the texts over several files; an unreadable one has similarity 0."""
    ones, others = (each if isinstance(each, list) else [each] for each in (result, expected))

    def alike(one: File, other: File) -> float:
        wanted = pdf_text(other).strip()
        try:
            return likeness(pdf_text(one).strip(), wanted)
        except Unreadable:
            return 0.0

    return sum(map(alike, ones, others)) / len(others)


@metric
def is_gold_text_included_in_pdf(result: File, expected: File) -> float:
    """All values of an expected JSON object, which are texts, occur in the text of the pages."""
    wanted = read_json(expected)
    if not isinstance(wanted, dict):
        raise expected.refuse("a JSON object of texts is needed")
    text = pdf_text(result)
    return float(all(isinstance(value, str) and value in text for value in wanted.values()))


@metric
def compare_pdf_images(result: File, expected: File) -> float:
    """Share of the images that look like the expected ones, in order."""
    ones, others = pdf_images(result), pdf_images(expected)
    if len(ones) != len(others):
        return 0.0
    same = [int((_hash(one) ^ _hash(other)).sum()) <= _HASH_DISTANCE for one, other in zip(ones, others, strict=True)]
    return sum(same) / len(same) if same else 1.0


def _hash(file: File) -> NDArray[np.bool_]:
    from PIL.Image import Resampling

    small = resized(image(file).convert("L"), (_SIDE, _SIDE), resample=Resampling.LANCZOS)
    return frequency_hash(pixels(small, "L"))
