"""Beta posteriors of a success rate after a few episodes, on a grid.

The density is evaluated at the midpoints of equal cells, with an error of about 0.002 for the counts of a trial. That
is enough for a decision and needs no library of special functions.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Density = npt.NDArray[np.float64]

CELLS = 1000
"""Number of cells of the unit interval."""
_RATES = (np.arange(CELLS) + 0.5) / CELLS
_RATES.flags.writeable = False


@lru_cache(maxsize=4096)
def posterior(successes: int, n: int, prior: float = 1.0) -> Density:
    """The mass of each cell, shape (CELLS,), under Beta(prior + successes, prior + n - successes).

    Args:
        successes: number of solved episodes.
        n: number of episodes.
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
    tail = 1.0 - np.cumsum(other) + other / 2  # within a cell, each of the two is the smaller with probability 1/2
    return float((rate * tail)[_within(low, high)].sum())


def above(rate: Density, other: Density, low: float = 0.0, high: float = 1.0) -> float:
    """P(rate > other and low < rate < high), for independent rates."""
    head = np.cumsum(other) - other / 2
    return float((rate * head)[_within(low, high)].sum())
