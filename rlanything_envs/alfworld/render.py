"""Rendering of an episode for a person: the last exchange as text, or as an image of that text."""

import textwrap
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 960, 540  # pixels; 16:9, and even, as video encoders want it
_MARGIN, _FONT_SIZE, _LEADING = 32, 20, 28
_COLUMNS = 92  # average number of characters in the width; the text form is wrapped there

_PAPER = (250, 249, 245)
_INK = (33, 37, 41)
_FAINT = (120, 124, 130)
_ACCENT = (35, 98, 171)
_BAND = (234, 239, 246)


@dataclass(frozen=True, slots=True)
class Screen:
    """The last exchange of an episode."""

    task: str
    command: str
    observation: str
    inventory: str | None


def as_text(screen: Screen) -> str:
    """The exchange as plain text of at most 92 columns."""
    lines = [f"Task: {screen.task}"]
    if screen.command:
        lines.append(f"> {screen.command}")
    lines += [*screen.observation.split("\n"), f"In hand: {screen.inventory or 'nothing'}"]
    return "\n".join(part for line in lines for part in textwrap.wrap(_clean(line), _COLUMNS) or [""])


def as_image(screen: Screen) -> npt.NDArray[np.uint8]:
    """The exchange as a picture: uint8 of shape (540, 960, 3). Text that does not fit ends with an
    ellipsis."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    draw = ImageDraw.Draw(image)
    font = _font()
    room = WIDTH - 2 * _MARGIN

    task = _wrap(draw, screen.task, room - 70)[:2]
    header = 2 * 18 + len(task) * _LEADING
    draw.rectangle((0, 0, WIDTH, header), fill=_BAND)
    draw.text((_MARGIN, 18), "Task", font=font, fill=_FAINT)
    for row, line in enumerate(task):
        draw.text((_MARGIN + 70, 18 + row * _LEADING), line, font=font, fill=_INK)

    y = header + 24
    if screen.command:
        for line in _wrap(draw, f"> {screen.command}", room)[:3]:
            draw.text((_MARGIN, y), line, font=font, fill=_ACCENT)
            y += _LEADING
        y += 10

    footer = HEIGHT - _MARGIN - _LEADING
    lines = [part for line in screen.observation.split("\n") for part in _wrap(draw, line, room)]
    fitting = max(1, (footer - 16 - y) // _LEADING)
    if len(lines) > fitting:
        lines = [*lines[: fitting - 1], "…"]
    for line in lines:
        draw.text((_MARGIN, y), line, font=font, fill=_INK)
        y += _LEADING

    draw.line((_MARGIN, footer - 6, WIDTH - _MARGIN, footer - 6), fill=_BAND, width=2)
    draw.text((_MARGIN, footer + 4), f"In hand: {screen.inventory or 'nothing'}", font=font, fill=_FAINT)
    return np.array(image, dtype=np.uint8)


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(_FONT_SIZE)


def _wrap(draw: ImageDraw.ImageDraw, text: str, width: int) -> list[str]:
    """Lines of at most `width` pixels, broken at blanks, or anywhere in a word that is too long."""
    lines, line = [], ""
    for word in _clean(text).split(" "):
        longer = f"{line} {word}" if line else word
        if draw.textlength(longer, font=_font()) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        while draw.textlength(word, font=_font()) > width:
            cut = next(n for n in range(len(word), 0, -1) if draw.textlength(word[:n], font=_font()) <= width)
            lines.append(word[:cut])
            word = word[cut:]
        line = word
    return [*lines, line]


def _clean(text: str) -> str:
    """A text without characters that cannot be drawn: control characters and lone surrogates of untrusted actions."""
    return "".join(c if c.isprintable() else "·" for c in text[:2000])
