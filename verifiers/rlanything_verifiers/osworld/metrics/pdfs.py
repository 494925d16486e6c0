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
from rlanything_verifiers.osworld.pictures import pixels, resized
from rlanything_verifiers.osworld.registry import metric

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
def compare_pdf_images(result: File, expected: File) -> float:
    """Share of the images that look like the expected ones, in order."""
    ones, others = pdf_images(result), pdf_images(expected)
    if len(ones) != len(others):
        return 0.0
    same = [int((_hash(one) ^ _hash(other)).sum()) <= _HASH_DISTANCE for one, other in zip(ones, others, strict=True)]
    return sum(same) / len(same) if same else 1.0


def _hash(file: File) -> NDArray[np.bool_]:
    """64 bits that stay much the same when a picture is scaled or compressed: its lowest frequencies."""
    from PIL.Image import Resampling

    size = 32
    gray = pixels(resized(image(file).convert("L"), (size, size), resample=Resampling.LANCZOS), "L").astype(np.float64)
    index = np.arange(size)
    cosines = np.cos(np.pi * (2 * index + 1)[None, :] * index[:8, None] / (2 * size))
    low = cosines @ gray @ cosines.T
    return low > np.median(low)
