"""Waiting until the screen stops changing, instead of a fixed time.

A blinking caret never stops, so a few changed pixels are tolerated; a film never stops either, so there is a limit. It
is one of time in which the desktop's programs could compute: on a machine with other work they get less of each second,
and the limit is that much longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rlanything_envs.osworld.desktop.observation import Pixels

__all__ = ["AFTER_SETUP", "BEFORE_SCORE", "Limit", "Settle", "changed"]

_LONGEST = 10.0
"""Upper bound on how far other work of the machine extends a limit; what an agent starts counts as other work, too."""


class Limit:
    """A limit of seconds, without those for which the desktop's programs were kept from the processors.

    Args:
        seconds: of a machine that does nothing else.
        held: seconds for which the programs have been kept from the processors so far, see `Health.held`.
        clock: the time.
    """

    def __init__(self, seconds: float, held: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._held, self._clock = seconds, held, clock
        self._begin, self._before = clock(), held()

    @property
    def passed(self) -> float:
        """Seconds by the clock."""
        return self._clock() - self._begin

    @property
    def over(self) -> bool:
        """Whether it has been reached."""
        if (passed := self.passed) < self.seconds or passed >= _LONGEST * self.seconds:
            return passed >= self.seconds
        return passed - (self._held() - self._before) >= self.seconds


def changed(before: Pixels, after: Pixels) -> float:
    """The share of colour values that differ between two pictures, 0 to 1; 1 where their sizes differ.

    Args:
        before, after: uint8, shape (height, width, 3).
    """
    return 1.0 if before.shape != after.shape else float(np.count_nonzero(before != after)) / max(1, before.size)


@dataclass(frozen=True, slots=True)
class Settle:
    """When a screen counts as settled.

    Attributes:
        tolerance: share of colour values that may differ. A caret has some 0.002 % of a screen of 1920 by 1080.
        quiet: seconds in which no more than that may change.
        every: seconds between two screenshots.
        cap: seconds after which the screen is taken as it is, see `Limit`.

    Raises:
        ValueError: a number is negative, or the tolerance more than 1.
    """

    tolerance: float = 0.0005
    quiet: float = 0.06
    every: float = 0.03
    cap: float = 2.0

    def __post_init__(self) -> None:
        for name in ("tolerance", "quiet", "every", "cap"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise ValueError(f"Settle: {name} must be a number that is not negative, got {value!r}")
        if self.tolerance > 1:
            raise ValueError(f"Settle: tolerance is a share of the screen, at most 1, got {self.tolerance!r}")

    def wait(
        self,
        look: Callable[[], Pixels],
        *,
        busy: Callable[[], bool] = bool,
        held: Callable[[], float] = float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Pixels:
        """Take screenshots until the screen has settled or the cap is reached.

        Each one is compared with the first of the quiet time, so that slow changes add up.

        Args:
            look: takes a screenshot.
            busy: whether programs still compute, so that the screen may change yet; asked at the end of a quiet time.
            held: seconds for which programs have been kept from the processors so far.
            clock, sleep: the time.

        Returns:
            The last screenshot.
        """
        limit, since = Limit(self.cap, held, clock), clock()
        kept = last = look()
        while True:
            if (clock() - since >= self.quiet and not busy()) or limit.over:
                return last
            sleep(self.every)
            last = look()
            if changed(kept, last) > self.tolerance:
                kept, since = last, clock()


AFTER_SETUP = Settle(quiet=1.0, every=0.1, cap=15.0)
"""Settings after programs were started: their windows stay empty for a while before they are drawn."""

BEFORE_SCORE = Settle(quiet=0.5, every=0.1, cap=5.0)
"""Settings before scoring: a button stays pressed for a quarter of a second before its dialog acts."""
