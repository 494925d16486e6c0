"""Functions from 0..1 to 0..1 that say how a movement gains and loses speed."""

from __future__ import annotations

import math

__all__ = [
    "easeInCubic",
    "easeInOutCubic",
    "easeInOutQuad",
    "easeInOutSine",
    "easeInQuad",
    "easeInSine",
    "easeOutCubic",
    "easeOutQuad",
    "easeOutSine",
    "linear",
]


def linear(n: float) -> float:
    """Constant speed."""
    return n


def _power_in(n: float, power: int) -> float:
    return n**power


def _power_out(n: float, power: int) -> float:
    return 1 - (1 - n) ** power


def _power_both(n: float, power: int) -> float:
    return _power_in(2 * n, power) / 2 if n < 0.5 else 0.5 + _power_out(2 * n - 1, power) / 2


def easeInQuad(n: float) -> float:
    """Start slowly."""
    return _power_in(n, 2)


def easeOutQuad(n: float) -> float:
    """End slowly."""
    return _power_out(n, 2)


def easeInOutQuad(n: float) -> float:
    """Start and end slowly."""
    return _power_both(n, 2)


def easeInCubic(n: float) -> float:
    """Start very slowly."""
    return _power_in(n, 3)


def easeOutCubic(n: float) -> float:
    """End very slowly."""
    return _power_out(n, 3)


def easeInOutCubic(n: float) -> float:
    """Start and end very slowly."""
    return _power_both(n, 3)


def easeInSine(n: float) -> float:
    """Start slowly, as a sine does."""
    return 1 - math.cos(n * math.pi / 2)


def easeOutSine(n: float) -> float:
    """End slowly, as a sine does."""
    return math.sin(n * math.pi / 2)


def easeInOutSine(n: float) -> float:
    """Start and end slowly, as a sine does."""
    return (1 - math.cos(n * math.pi)) / 2
