"""Set-of-marks: numbered boxes around the elements of a screen, and code that names a place by its number.

``pyautogui.click(mark_3)`` clicks in the middle of box 3, as OSWorld's agents write it with ``tag_3``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.accessibility import Line, relevant
from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["draw_marks", "list_marks", "marked", "with_marks"]

_NAME = re.compile(r"\bmark_(\d{1,4})\b")
_RED, _WHITE, _FONT = (225, 29, 72), (255, 255, 255), 13


def marked(xml: str, screen: tuple[int, int]) -> list[Line]:
    """What gets a mark: the lines of the text of a screen, in its order, whose element has its centre on the screen.

    Args:
        xml: The tree in OSWorld's vocabulary.
        screen: Width and height in pixels.
    """
    width, height = screen
    return [line for line in relevant(xml)[0] if 0 <= line.element.x < width and 0 <= line.element.y < height]


def list_marks(lines: Sequence[Line]) -> str:
    """A line for each mark: its number, and role, name, text, centre and states of the element."""
    return "\n".join(f"{number} {line.text}" for number, line in enumerate(lines, 1))


def draw_marks(screen: Pixels, lines: Sequence[Line]) -> Pixels:
    """A copy of a screen with a numbered box around each element."""
    picture = Image.fromarray(screen)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(_FONT)
    for number, (element, _) in enumerate(lines, 1):
        left, top = element.x - element.width // 2, element.y - element.height // 2
        draw.rectangle((left, top, left + element.width, top + element.height), outline=_RED, width=2)
        corner = max(0, left), max(0, top)
        draw.rectangle(draw.textbbox(corner, str(number), font=font), fill=_RED)
        draw.text(corner, str(number), font=font, fill=_WHITE)
    return np.asarray(picture, np.uint8)


def with_marks(code: str, lines: Sequence[Line]) -> str:
    """The code with the places of the marks that it names in front.

    Raises:
        Unreadable: It names a mark that the agent has not seen.
    """
    numbers = sorted({int(number) for number in _NAME.findall(code)})
    if unknown := [number for number in numbers if not 0 < number <= len(lines)]:
        raise Unreadable(f"there is no mark {unknown[0]} on the screen; there are {len(lines)}")
    named = [(number, lines[number - 1].element) for number in numbers]
    places = [f"mark_{number} = ({element.x}, {element.y})\n" for number, element in named]
    return "".join([*places, code])
