"""Slide shows against rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlanything_verifiers.osworld.deck import number_color, read_deck
from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.opening import package, xml
from rlanything_verifiers.osworld.registry import metric

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


@dataclass(frozen=True)
class Transition:
    """Transition of a slide, counted from 0."""

    slide_idx: int
    transition_type: str


@dataclass(frozen=True)
class Fill:
    """Red, green, blue of the expected and of the original background."""

    rgb: tuple[int, int, int]
    original_rgb: tuple[int, int, int] | None = None


_MUCH = 50
"""Steps of 255 by which one part of a colour stands out."""

_COLORS: Mapping[str, Callable[[int, int, int], bool]] = {
    "red": lambda r, g, b: r > g + _MUCH and r > b + _MUCH,
    "green": lambda r, g, b: g > r + _MUCH and g > b + _MUCH,
    "blue": lambda r, g, b: b > r + _MUCH and b > g + _MUCH,
    "purple": lambda r, g, b: min(r, b) > g + _MUCH,
    "yellow": lambda r, g, b: min(r, g) > b + _MUCH,
    "black": lambda r, g, b: max(r, g, b) < _MUCH,
    "white": lambda r, g, b: min(r, g, b) > 255 - _MUCH,
}


@dataclass(frozen=True)
class ColorName:
    """A colour, of those in `_COLORS`."""

    color: str

    def __post_init__(self) -> None:
        if self.color not in _COLORS:
            raise EvaluatorError(f"the colour {self.color!r:.40} is unknown; choose from {', '.join(_COLORS)}")


@dataclass(frozen=True)
class Struck:
    """Slides, shapes and paragraphs, counted from 0."""

    slide_index_s: list[int]
    shape_index_s: list[int]
    paragraph_index_s: list[int]


@metric
def check_slide_orientation_Portrait(result: File) -> float:
    """The slides are higher than wide."""
    deck = read_deck(result)
    return float(0 < deck.width < deck.height)


@metric
def check_transition(result: File, rules: Transition) -> float:
    """A slide comes in as expected."""
    slides = read_deck(result).slides
    return float(0 <= rules.slide_idx < len(slides) and rules.transition_type in slides[rules.slide_idx].transitions)


@metric
def evaluate_presentation_fill_to_rgb_distance(result: File, rules: Fill) -> float:
    """Closeness of the backgrounds of the slides to a colour; an unchanged one counts as far away."""
    if not (slides := read_deck(result).slides):
        return 0.0

    def distance(color: object) -> float:
        if not isinstance(color, tuple) or color == rules.original_rgb:
            return 1.0
        return math.dist(color, rules.rgb) / math.dist((0, 0, 0), (255, 255, 255))

    return 1 - sum(distance(slide.background) for slide in slides) / len(slides)


@metric
def check_strikethrough(result: File, rules: Struck) -> float:
    """The first words of some paragraphs are struck through."""
    slides = read_deck(result).slides
    try:
        return float(
            all(
                (slides[slide].shapes[shape].paragraphs or ())[number].runs[0].strike != "noStrike"
                for slide in rules.slide_index_s
                for shape in rules.shape_index_s
                for number in rules.paragraph_index_s
            )
        )
    except IndexError:
        return 0.0


@metric
def check_page_number_colors(result: File, rules: ColorName) -> float:
    """The numbers of the slides, in the master, have a colour of a certain kind."""
    opened = package(result)
    if "ppt/slideMasters/slideMaster1.xml" not in opened:
        return 0.0
    master = opened.xml("ppt/slideMasters/slideMaster1.xml")
    colors = [color.get("val") or "" for fill in master.iter(f"{_A}solidFill") for color in fill.iter(f"{_A}srgbClr")]
    if len(colors) < 2 or not re.fullmatch("[0-9A-Fa-f]{6}", colors[-2]):
        return 0.0
    return float(_COLORS[rules.color](*bytes.fromhex(colors[-2])))


@metric
def check_slide_numbers_color(result: File) -> float:
    """A slide shows a number, and the first number of a master is red."""
    if not any((shape.text or "").isdigit() for slide in read_deck(result).slides for shape in slide.shapes):
        return 0.0
    return float(number_color(result) == (255, 0, 0))


@metric
def check_left_panel(result: str) -> float:
    """The accessibility tree has the panel with the slides."""
    root = xml(File("accessibility.xml", result.encode()))
    return float(any(frame.get("name") == "Slides View" for frame in root.iter("document-frame")))
