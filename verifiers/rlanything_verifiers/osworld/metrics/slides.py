"""Slide shows against slide shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_verifiers.osworld.deck import THEME, Deck, DeckParagraph, DeckRun, Shape, Slide, read_deck
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.registry import metric

_TABLE_BELOW, _RIGHT_OF, _TOP_ABOVE = 3_600_000, 4_320_000, 1_980_000
"""Places on a slide, in English metric units, that OSWorld's tasks mean by the bottom, the right and the top."""

_MOVED_TITLE, _MOVED_BOX = "Product Comparison", "Elaborate on what you want to discuss."
"""Texts of the shapes that two of OSWorld's tasks move."""


@dataclass(frozen=True, kw_only=True)
class Exam:
    """Options of the comparison of two slide shows.

    Those that begin with ``examine_`` and are False by default are each made for one of OSWorld's tasks: a shape has to
    be in another place than in the expected show, and everything else in the same.
    """

    approximately_tolerance: float = 0.005
    examine_number_of_slides: bool = True
    examine_shape: bool = True
    examine_text: bool = True
    examine_indent: bool = True
    examine_font_name: bool = True
    examine_font_size: bool = True
    examine_font_bold: bool = True
    examine_font_italic: bool = True
    examine_color_rgb: bool = True
    examine_font_underline: bool = True
    examine_strike_through: bool = True
    examine_alignment: bool = True
    examine_bullets: bool = True
    examine_background_color: bool = True
    examine_note: bool = True
    examine_title_bottom_position: bool = False
    examine_table_bottom_position: bool = False
    examine_right_position: bool = False
    examine_top_position: bool = False
    examine_shape_for_shift_size: bool = False
    examine_image_size: bool = False
    examine_modify_height: bool = False
    enable_debug: bool = False

    def near(self, one: int | None, other: int | None) -> bool:
        """Whether two lengths are about the same."""
        if one == other or not one or not other:
            return one == other
        return abs(one - other) / max(abs(one), abs(other)) <= self.approximately_tolerance

    def same_color(self, one: DeckRun, other: DeckRun) -> bool:
        """Whether two colours are the same; colours of the theme are not resolved."""
        return THEME in (one.color, other.color) or one.color == other.color

    def boxes(self, one: Shape, other: Shape) -> bool:
        """Whether two shapes are in about the same place and of the same size."""
        return all(self.near(*pair) for pair in zip(one.box, other.box, strict=True))

    def placed(self, one: Shape, other: Shape, slide: int) -> bool:
        """Whether a shape is where it has to be; slides count from 1."""
        (_, top, width, height), (_, old_top, old_width, old_height) = one.box, other.box
        same = self.boxes(one, other)
        both = {one.kind, other.kind}
        no_text = one.paragraphs is None and other.paragraphs is None
        if self.examine_title_bottom_position:
            if one.text is not None and one.text == other.text:
                if one.text == _MOVED_TITLE and not _beyond(top, old_top, _TABLE_BELOW):
                    return False
            elif not same:
                return False
        if self.examine_table_bottom_position:
            if slide == 3 and both == {"TABLE"}:
                if not _beyond(top, old_top, _TABLE_BELOW):
                    return False
            elif not same:
                return False
        if self.examine_right_position and slide == 2 and no_text and not _beyond(one.box[0], other.box[0], _RIGHT_OF):
            return False
        if self.examine_top_position and slide == 2 and both == {"PICTURE"} and not _above(top, old_top, _TOP_ABOVE):
            return False
        if self.examine_shape_for_shift_size and not same and not one.text == other.text == _MOVED_BOX:
            return False
        if self.examine_image_size:
            sized = self.near(width, old_width) and self.near(height, old_height)
            if not (sized if both == {"PICTURE"} else same):
                return False
        if self.examine_modify_height and not (
            self.near(height, old_height) if no_text or both == {"FREEFORM"} else same
        ):
            return False
        return same or not self.examine_shape

    def paragraphs(self, one: Sequence[DeckParagraph], other: Sequence[DeckParagraph]) -> bool:
        """Whether two texts say the same and look the same."""
        return len(one) == len(other) and all(map(self._paragraph, one, other))

    def _paragraph(self, one: DeckParagraph, other: DeckParagraph) -> bool:
        return (
            (one.alignment == other.alignment or not self.examine_alignment)
            and (one.text == other.text or not self.examine_text)
            and (one.level == other.level or not self.examine_indent)
            and len(one.runs) == len(other.runs)
            and all(map(self._run, one.runs, other.runs))
        )

    def _run(self, one: DeckRun, other: DeckRun) -> bool:
        return (
            (one.font == other.font or not self.examine_font_name)
            and (one.size == other.size or not self.examine_font_size)
            and (one.bold == other.bold or not self.examine_font_bold)
            and (one.italic == other.italic or not self.examine_font_italic)
            and (one.underline == other.underline or not self.examine_font_underline)
            and (one.strike == other.strike or not self.examine_strike_through)
            and (self.same_color(one, other) or not self.examine_color_rgb)
        )

    def cells(self, one: Shape, other: Shape) -> bool:
        """Whether two tables look the same; what they say is compared where all text of a slide is."""
        if one.cells is None or other.cells is None:
            return one.cells is other.cells
        return len(one.cells) == len(other.cells) and all(
            len(row) == len(model)
            and all(
                len(cell) == len(text) and all(map(self._cell_paragraph, cell, text))
                for cell, text in zip(row, model, strict=True)
            )
            for row, model in zip(one.cells, other.cells, strict=True)
        )

    def _cell_paragraph(self, one: DeckParagraph, other: DeckParagraph) -> bool:
        return len(one.runs) == len(other.runs) and all(
            (first.bold, first.italic, first.underline) == (second.bold, second.italic, second.underline)
            and (self.same_color(first, second) or not self.examine_color_rgb)
            for first, second in zip(one.runs, other.runs, strict=True)
        )

    def slides(self, one: Slide, other: Slide, number: int) -> bool:
        """Whether two slides agree in the compared properties."""
        if self.examine_background_color and one.background != other.background:
            return False
        if self.examine_note and one.notes != other.notes:
            return False
        if self.examine_bullets and one.bullets != other.bullets:
            return False
        texts, models = ([shape for top in slide.shapes for shape in top.with_text()] for slide in (one, other))
        if len(one.shapes) != len(other.shapes) or len(texts) != len(models):
            return False
        return all(
            self.placed(shape, model, number) and self.cells(shape, model) and self._text(shape, model)
            for shape, model in zip(one.shapes, other.shapes, strict=True)
        ) and all(map(self._inner_text, texts, models))

    def _text(self, one: Shape, other: Shape) -> bool:
        if one.paragraphs is None or other.paragraphs is None:
            return True
        if self.examine_text and (one.text or "").strip() != (other.text or "").strip():
            return False
        return self.paragraphs(one.paragraphs, other.paragraphs)

    def _inner_text(self, one: Shape, other: Shape) -> bool:
        """Properties of texts that are compared in groups as well."""
        if not self.examine_alignment:
            return True
        if self.examine_text and (one.text or "").strip() != (other.text or "").strip():
            return False
        mine, model = one.paragraphs or (), other.paragraphs or ()
        return [part.alignment for part in mine] == [part.alignment for part in model]


@metric
def compare_pptx_files(result: File, expected: File, *, options: Exam = Exam()) -> float:
    """The slide shows have everything in common that the options do not leave out."""
    one, other = read_deck(result), read_deck(expected)
    if options.examine_number_of_slides and len(one.slides) != len(other.slides):
        return 0.0
    pairs = zip(one.slides, other.slides, strict=False)
    return float(all(options.slides(*pair, number) for number, pair in enumerate(pairs, 1)))


@metric
def check_image_stretch_and_center(result: File, expected: File) -> float:
    """The picture of the first slide fills it, and it is the one of the original."""
    one, other = read_deck(result), read_deck(expected)
    pictures = [shape.picture for shape in _first(other) if shape.picture is not None]
    if not (found := [shape for shape in _first(one) if pictures and shape.picture == pictures[0]]):
        return 0.0
    left, top, width, height = (part or 0 for part in found[-1].box)
    inch = 914_400
    goal = (other.width, other.height, (other.width - width) / 2, (other.height - height) / 2)
    return float(all(abs(a - b) <= inch / 2 for a, b in zip((width, height, left, top), goal, strict=True)))


def _first(deck: Deck) -> tuple[Shape, ...]:
    return deck.slides[0].shapes if deck.slides else ()


def _beyond(place: int | None, old: int | None, limit: int) -> bool:
    return place is not None and old is not None and place > old and place >= limit


def _above(place: int | None, old: int | None, limit: int) -> bool:
    return place is not None and old is not None and place < old and place <= limit
