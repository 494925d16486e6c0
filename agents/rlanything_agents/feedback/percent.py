"""Shares as text: the one way in which reports, tables and messages write percentages."""

from __future__ import annotations

__all__ = ["interval", "percent", "points"]


def percent(share: float, digits: int = 1) -> str:
    """A share from 0 to 1 as a percentage, such as ``35.4 %``."""
    return f"{100 * share:.{digits}f} %"


def points(difference: float, digits: int = 1) -> str:
    """A difference of two shares in percentage points, such as ``+3.2 points``."""
    return f"{100 * difference:+.{digits}f} points"


def interval(share: float, low: float, high: float) -> str:
    """A share with its interval, such as ``35.4 % [32.1, 38.9]``."""
    return f"{percent(share)} [{100 * low:.1f}, {100 * high:.1f}]"
