"""Perceptual difference of two colours."""

from __future__ import annotations

import math

__all__ = ["difference", "lab_difference"]

Lab = tuple[float, float, float]

_TO_XYZ = ((0.412453, 0.357580, 0.180423), (0.212671, 0.715160, 0.072169), (0.019334, 0.119193, 0.950227))
_WHITE = (0.95047, 1.0, 1.08883)


def difference(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The distance of two sRGB colours after the CIEDE2000 formula; about 1 is just noticeable."""
    return lab_difference(_lab(one), _lab(other))


def lab_difference(one: Lab, other: Lab) -> float:
    """The same for two colours given by lightness, a and b.

    Sharma, Wu, Dalal: The CIEDE2000 color-difference formula (2005).
    """
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - _saturation(mean_chroma))
    c1, c2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    gray = c1 * c2 == 0
    turn = 0.0 if gray else (h2 - h1 + 180) % 360 - 180
    mean_hue = h1 + h2 if gray else (h1 + turn / 2) % 360
    lightness, chroma = l2 - l1, c2 - c1
    hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2

    def cos(factor: float, shift: float) -> float:
        return math.cos(math.radians(factor * mean_hue + shift))

    t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.20 * cos(4, -63)
    sl = 1 + 0.015 * (mean_l - 50) ** 2 / math.sqrt(20 + (mean_l - 50) ** 2)
    sc, sh = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    rotation = math.radians(60 * math.exp(-(((mean_hue - 275) / 25) ** 2)))
    rt = -2 * _saturation(mean_c) * math.sin(rotation)
    parts = lightness / sl, chroma / sc, hue / sh
    return math.sqrt(max(0.0, sum(part**2 for part in parts) + rt * parts[1] * parts[2]))


def _saturation(chroma: float) -> float:
    return math.sqrt(chroma**7 / (chroma**7 + 25.0**7))


def _lab(color: tuple[int, int, int]) -> Lab:
    linear = [_linear(value / 255) for value in color]
    x, y, z = (
        _root(sum(factor * value for factor, value in zip(row, linear, strict=True)) / white)
        for row, white in zip(_TO_XYZ, _WHITE, strict=True)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _linear(value: float) -> float:
    return ((value + 0.055) / 1.055) ** 2.4 if value > 0.04045 else value / 12.92


def _root(value: float) -> float:
    return float(value ** (1 / 3)) if value > 0.008856 else 7.787 * value + 16 / 116
