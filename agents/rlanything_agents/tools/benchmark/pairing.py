"""Paired differences of two agents on the same tasks, or of adapted tasks and their roots.

The unit is the task. The difference in success is the mean over tasks, with a bootstrap interval over tasks, and
McNemar's exact test: without a difference, each side is equally likely among the tasks on which one did better. With
several episodes per task, "better" means that more of them are solved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, bootstrap

__all__ = ["exact_p", "pair"]

RESAMPLES = 9999
SEED = 20_260_202
"""Seed of the resampling, so that a repeated comparison gives the same interval."""
FEWEST = 3
"""Fewest pairs for an interval."""

Played = Mapping[str, Any]
"""A task with the lists ``outcomes``, ``steps`` and ``scores`` of its episodes, as in ``results.json``."""


def pair(pairs: Sequence[tuple[Played, Played]]) -> dict[str, Any] | None:
    """Differences over pairs of tasks, second minus first; episodes without an outcome are left out.

    Returns:
        Plain data; None where no pair has an outcome on both sides.
    """
    ended = [(one, other) for one, other in pairs if _won(one) and _won(other)]
    if not ended:
        return None
    rates = [(float(np.mean(_won(one))), float(np.mean(_won(other)))) for one, other in ended]
    differences = [after - before for before, after in rates]
    gained = [number for number, difference in enumerate(differences) if difference > 0]
    lost = [number for number, difference in enumerate(differences) if difference < 0]
    both = [(one, other) for one, other in ended if any(_won(one)) and any(_won(other))]
    return {
        "tasks": len(ended),
        "left_out": len(pairs) - len(ended),
        "success": [float(np.mean([before for before, _ in rates])), float(np.mean([after for _, after in rates]))],
        "difference": _interval(differences),
        "mcnemar": {"gained": len(gained), "lost": len(lost), "p": exact_p(len(gained), len(lost))},
        "steps": _interval([_steps(other) - _steps(one) for one, other in ended]),
        "steps_both_won": _interval([_steps(other, True) - _steps(one, True) for one, other in both]) if both else None,
        "gained": [_line(*ended[number]) for number in gained],
        "lost": [_line(*ended[number]) for number in lost],
    }


def exact_p(gained: int, lost: int) -> float:
    """Two-sided exact p-value of McNemar's test; 1 where nothing was gained or lost."""
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _interval(differences: Sequence[float]) -> dict[str, float | None]:
    """Mean with its 95 % percentile-bootstrap interval over tasks; none for fewer than `FEWEST`, or if all are equal.

    In 400 draws of 32 to 128 tasks the interval covered the true difference in 92 to 96 %, but in 80 to 94 % where only
    one task in twenty differs; the exact test is more reliable there.
    """
    sample = np.asarray(differences, dtype=np.float64)
    mean, low, high = float(sample.mean()), None, None
    if len(sample) >= FEWEST and np.ptp(sample) > 0:
        found = bootstrap(
            (sample,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(SEED)
        ).confidence_interval
        low, high = float(found.low), float(found.high)
    return {"mean": mean, "low": low, "high": high}


def _won(task: Played) -> list[bool]:
    return [outcome == 1 for outcome in task["outcomes"] if outcome is not None]


def _steps(task: Played, only_won: bool = False) -> float:
    """Mean steps of the episodes with an outcome, or only of the solved ones."""
    taken = [
        steps
        for steps, outcome in zip(task["steps"], task["outcomes"], strict=True)
        if outcome == 1 or (outcome is not None and not only_won)
    ]
    return float(np.mean(taken))


def _line(one: Played, other: Played) -> dict[str, Any]:
    return {
        **{name: other[name] for name in ("task", "group", "kind", "goal")},
        "won": [sum(_won(one)), sum(_won(other))],
        "episodes": [len(_won(one)), len(_won(other))],
    }
