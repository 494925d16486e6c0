"""Set-of-marks: numbered boxes around the elements of a screen, and code that names a place by its number.

``pyautogui.click(mark_3)`` clicks in the middle of box 3, as OSWorld's agents write it with ``tag_3``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rlanything_envs.errors import Unreadable
from rlanything_envs.osworld.accessibility import Element, line_of, read_elements, worth_reading
from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["draw_marks", "list_marks", "marked", "with_marks"]

MOST = 200
"""Elements that are marked."""
_LONGEST_NAME = 60
_NAME = re.compile(r"\bmark_(\d{1,4})\b")
_RED, _WHITE, _FONT = (225, 29, 72), (255, 255, 255), 13


def marked(xml: str, screen: tuple[int, int]) -> list[Element]:
    """The elements that get a mark: those that are worth reading, with their centre on the screen.

    Args:
        xml: The tree in OSWorld's vocabulary.
        screen: Width and height in pixels.
    """
    width, height = screen
    return [
        element
        for element in read_elements(xml)
        if worth_reading(element) and 0 <= element.x < width and 0 <= element.y < height
    ][:MOST]


def list_marks(elements: Sequence[Element]) -> str:
    """A line for each mark: its number, and role, name, text, centre and states of the element."""
    return "\n".join(f"{number} {line_of(element, _LONGEST_NAME)}" for number, element in enumerate(elements, 1))


def draw_marks(screen: Pixels, elements: Sequence[Element]) -> Pixels:
    """A copy of a screen with a numbered box around each element."""
    picture = Image.fromarray(screen)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(_FONT)
    for number, element in enumerate(elements, 1):
        left, top = element.x - element.width // 2, element.y - element.height // 2
        draw.rectangle((left, top, left + element.width, top + element.height), outline=_RED, width=2)
        corner = max(0, left), max(0, top)
        draw.rectangle(draw.textbbox(corner, str(number), font=font), fill=_RED)
        draw.text(corner, str(number), font=font, fill=_WHITE)
    return np.asarray(picture, np.uint8)


def with_marks(code: str, elements: Sequence[Element]) -> str:
    """The code with the places of the marks that it names in front.

    Raises:
        Unreadable: It names a mark that the agent has not seen.
    """
    numbers = sorted({int(number) for number in _NAME.findall(code)})
    if unknown := [number for number in numbers if not 0 < number <= len(elements)]:
        raise Unreadable(f"there is no mark {unknown[0]} on the screen; there are {len(elements)}")
    places = [f"mark_{number} = ({elements[number - 1].x}, {elements[number - 1].y})\n" for number in numbers]
    return "".join([*places, code])
