"""What is on the screen, as a Pillow image."""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["pixel", "pixelMatchesColor", "screenshot"]


def screenshot(imageFilename: str | None = None, region: tuple[int, int, int, int] | None = None) -> Any:
    """The screen, or a region of it (left, top, width, height), stored in a file when one is named."""
    framebuffer = importlib.import_module("guest.framebuffer")  # the guest's own module, found as `pyautogui` is
    screen = os.open(os.environ["RLANYTHING_FRAMEBUFFER"], os.O_RDONLY | os.O_CLOEXEC)
    try:
        image = framebuffer.Framebuffer(screen).read().image()
    finally:
        os.close(screen)
    if region is not None:
        left, top, width, height = region
        image = image.crop((left, top, left + width, top + height))
    if imageFilename is not None:
        image.save(imageFilename)
    return image


def pixel(x: int, y: int) -> tuple[int, int, int]:
    """Red, green and blue of one place."""
    red, green, blue = screenshot(region=(int(x), int(y), 1, 1)).getpixel((0, 0))
    return red, green, blue


def pixelMatchesColor(x: int, y: int, expectedRGBColor: tuple[int, int, int], tolerance: int = 0) -> bool:
    """Whether one place has a colour, give or take a tolerance for each channel."""
    return all(abs(a - b) <= tolerance for a, b in zip(pixel(x, y), expectedRGBColor, strict=True))
