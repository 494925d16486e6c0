"""What a few episodes say about a success rate: Beta posteriors, on a grid.

The midpoints of equal cells carry the density, which is good to some 0.002 for the tallies of a trial. A decision
needs no more, and so no library of special functions is needed either.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Density = npt.NDArray[np.float64]

CELLS = 1000
"""Cells of the unit interval."""
_RATES = (np.arange(CELLS) + 0.5) / CELLS
_RATES.flags.writeable = False


@lru_cache(maxsize=4096)
def posterior(successes: int, n: int, prior: float = 1.0) -> Density:
    """The mass of each cell, shape (CELLS,), under Beta(prior + successes, prior + n - successes).

    Args:
        successes: won episodes.
        n: all episodes.
        prior: pseudo-episodes of each kind; 1 is the uniform prior.
    """
    log = (successes + prior - 1) * np.log(_RATES) + (n - successes + prior - 1) * np.log1p(-_RATES)
    mass: Density = np.exp(log - log.max())
    mass /= mass.sum()
    mass.flags.writeable = False
    return mass


def _within(low: float, high: float) -> npt.NDArray[np.bool_]:
    return np.greater(_RATES, low) & np.less(_RATES, high)


def inside(rate: Density, low: float, high: float) -> float:
    """P(low < rate < high)."""
    return float(rate[_within(low, high)].sum())


def below(rate: Density, other: Density, low: float = 0.0, high: float = 1.0) -> float:
    """P(rate < other and low < rate < high), for independent rates."""
    tail = 1.0 - np.cumsum(other) + other / 2  # within a cell either is the smaller one half of the time
    return float((rate * tail)[_within(low, high)].sum())


def above(rate: Density, other: Density, low: float = 0.0, high: float = 1.0) -> float:
    """P(rate > other and low < rate < high), for independent rates."""
    head = np.cumsum(other) - other / 2
    return float((rate * head)[_within(low, high)].sum())
