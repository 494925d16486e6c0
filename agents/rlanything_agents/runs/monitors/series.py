"""Series of one metric of a run, with the window means that alarms compare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

__all__ = ["Rows", "Series", "pick"]

Rows = Sequence[Mapping[str, Any]]
"""Metrics rows of a run, one per iteration, the newest last."""


def pick(row: Mapping[str, Any], dotted: str) -> float | None:
    """The number at a dotted key of a metrics row, finite or not; None where there is none."""
    value: Any = row
    for part in dotted.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


class Series:
    """The values of one metric, iteration by iteration.

    Args:
        rows: Metrics rows so far.
        key: Dotted key of the metric.
        window: Iterations in each window.
    """

    def __init__(self, rows: Rows, key: str, window: int) -> None:
        self._all = [pick(row, key) for row in rows]
        self._window = window

    @property
    def last(self) -> list[float]:
        """Finite values of the last window; none where it is not full, or where fewer than half of it have one."""
        return self._known(self._all[-self._window :]) if len(self._all) >= self._window else []

    @property
    def now(self) -> float | None:
        """Mean of `last`; None where it is empty."""
        return fmean(self.last) if self.last else None

    @property
    def soon(self) -> float | None:
        """Mean of the finite values of the last window, also while it is not full; None where there are none."""
        known = [value for value in self._all[-self._window :] if value is not None and math.isfinite(value)]
        return fmean(known) if known else None

    @property
    def first(self) -> float | None:
        """Mean of the first window of finite values; None while that window overlaps the last one."""
        known = [at for at, value in enumerate(self._all) if value is not None and math.isfinite(value)]
        begin = known[: self._window]
        if len(begin) < self._window or begin[-1] >= len(self._all) - self._window:
            return None
        return fmean(value for at in begin if (value := self._all[at]) is not None)

    @property
    def best(self) -> float | None:
        """The highest mean of a window, the last one included."""
        windows = [
            known
            for end in range(self._window, len(self._all) + 1)
            if (known := self._known(self._all[end - self._window : end]))
        ]
        return max(map(fmean, windows), default=None)

    @property
    def change(self) -> float | None:
        """Difference between `now` and `first`; None where either is."""
        return None if self.first is None or self.now is None else self.now - self.first

    @property
    def broken(self) -> bool:
        """Whether the newest value is not a finite number."""
        newest = self._all[-1] if self._all else None
        return newest is not None and not math.isfinite(newest)

    def _known(self, values: Sequence[float | None]) -> list[float]:
        known = [value for value in values if value is not None and math.isfinite(value)]
        return known if 2 * len(known) >= self._window else []
