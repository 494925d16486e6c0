"""Pixels: plain rectangles and text, cut off where a box ends."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["BLACK", "BLUE", "DARK", "GREY", "LIGHT", "LINE", "WHITE", "Box", "Canvas", "index_at", "text_width"]

Color = tuple[int, int, int]
WHITE, BLACK, DARK = (255, 255, 255), (20, 20, 20), (90, 90, 90)
LIGHT, GREY, LINE, BLUE = (245, 244, 242), (222, 220, 216), (190, 188, 184), (53, 132, 228)

_FONT_SIZE = 13
_PADDING = 3
_BLANKS = dict.fromkeys([*range(32), 127], " ")
_POINTER = [(0, 0), (0, 16), (4, 12), (7, 18), (9, 17), (6, 11), (11, 11)]


class Box(NamedTuple):
    """A rectangle in pixels."""

    x: int
    y: int
    width: int
    height: int

    def holds(self, x: int, y: int) -> bool:
        """Whether a place is inside."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size=_FONT_SIZE)  # comes with Pillow, so that every machine draws the same


def _flat(text: str) -> str:
    """A text on one line: the font has no shapes for the rest."""
    return text.replace("\t", "    ").translate(_BLANKS)


@lru_cache(maxsize=65536)
def text_width(text: str) -> int:
    """Width of a drawn text in pixels."""
    return int(_font().getlength(_flat(text)))


def index_at(text: str, offset: int) -> int:
    """The place in a text nearest to an offset in pixels from its left end."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        if (text_width(text[:middle]) + text_width(text[: middle + 1])) / 2 <= offset:
            low = middle + 1
        else:
            high = middle
    return low


@lru_cache(maxsize=4096)
def _mask(text: str) -> Image.Image:
    """The shape of a text in black and white."""
    width = max(1, text_width(text) + 2)
    image = Image.new("L", (width, _FONT_SIZE + 6), 0)
    ImageDraw.Draw(image).text((0, 1), text, fill=255, font=_font())
    return image


class Canvas:
    """A picture that nodes draw themselves on."""

    def __init__(self, width: int, height: int, background: Color) -> None:
        self.image = Image.new("RGB", (width, height), background)
        self._draw = ImageDraw.Draw(self.image)

    def rectangle(self, box: Box, fill: Color | None = None, outline: Color | None = None) -> None:
        """A rectangle."""
        if box.width > 0 and box.height > 0:
            right, bottom = box.x + box.width - 1, box.y + box.height - 1
            self._draw.rectangle((box.x, box.y, right, bottom), fill, outline)

    def line(self, x: int, y: int, other_x: int, other_y: int, color: Color = LINE) -> None:
        """A line, one pixel wide."""
        self._draw.line((x, y, other_x, other_y), color)

    def text(self, box: Box, text: str, color: Color = BLACK, align: str = "left") -> None:
        """Draw one line of text in the middle of a box's height, cut to its width."""
        room = box.width - 2 * _PADDING
        if not text or room <= 0 or box.height <= 0:
            return
        mask = _mask(_flat(text[:400]))
        width = min(mask.width, room)
        height = min(mask.height, box.height)
        free = room - width
        x = box.x + _PADDING + {"left": 0, "center": free // 2, "right": free}[align]
        y = box.y + max(0, (box.height - mask.height) // 2)
        if (width, height) != mask.size:
            mask = mask.crop((0, 0, width, height))
        self.image.paste(color, (x, y), mask)

    def pointer(self, x: int, y: int) -> None:
        """The mouse pointer."""
        self._draw.polygon([(x + dx, y + dy) for dx, dy in _POINTER], fill=BLACK, outline=WHITE)

    def pixels(self) -> Pixels:
        """The picture as uint8, shape (height, width, 3)."""
        return np.array(self.image)
