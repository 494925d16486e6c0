"""Statistical power of acceptance rules, by simulating trials of tasks with known success rates.

A trial runs as in the curriculum, and the rule itself decides: a group of the parent outside the band triggers the
rewrite (so the parent's group is drawn conditionally on lying outside); then the groups of the candidate that the rule
requests are played. Only the environment is replaced: an episode is solved with the true rate as its
probability.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

from rlanything_envs.curriculum.acceptance import Acceptance, Decision, Tally, Trial
from rlanything_envs.errors import CurriculumError
from rlanything_task_pools.task import Direction

PARENTS = (0.05, 0.1, 0.15, 0.2, 0.8, 0.85, 0.9, 0.95)
"""True success rates of parents, chosen where groups often trigger a rewrite."""
CANDIDATES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95)
MAX_GROUPS = 100
"""Limit on the groups of one trial; a rule that requests more is considered endless."""

Counts = npt.NDArray[np.int64]


class EndlessTrial(CurriculumError):
    """An acceptance rule requested more than `MAX_GROUPS` groups in one trial."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Results of `trials` trials of one pair of true success rates."""

    rule: str
    parent: float
    candidate: float
    triggered: float
    """Probability that a group of the parent triggers a rewrite."""
    accepted: float
    """Share of trials, given such a group, that accepted the candidate."""
    wrong: float
    """Share of trials that accepted a candidate outside the band or on the wrong side of its parent."""
    rollouts: float
    """Mean number of episodes of a trial, without the group that triggered it."""
    max_rollouts: int


def simulate(
    rule: Acceptance,
    parent: float,
    candidate: float,
    *,
    trials: int = 4000,
    rollouts: int = 8,
    band: tuple[float, float] = (0.2, 0.8),
    seed: int = 0,
) -> Cell:
    """Simulate `trials` trials of a candidate against a parent, both with known success rates.

    Args:
        rule: the acceptance rule.
        parent: true success rate, in (0, 1).
        candidate: true success rate, in [0, 1].
        trials: number of trials; the standard error of a share is at most 0.5 / sqrt(trials).
        rollouts: episodes in a group.
        band: success rates outside this open interval trigger a rewrite.
        seed: seeds the simulation, together with the two rates.

    Raises:
        CurriculumError: a rate is out of its range, the band is none, or `trials` or `rollouts` is below 1.
        EndlessTrial: the rule requested more than `MAX_GROUPS` groups.
    """
    if not (0 < parent < 1 and 0 <= candidate <= 1):
        raise CurriculumError(f"simulate: need 0 < parent < 1 and 0 <= candidate <= 1, got {parent} and {candidate}")
    if trials < 1 or rollouts < 1:
        raise CurriculumError(f"simulate: trials ({trials}) and rollouts ({rollouts}) must be at least 1")
    low, high = band
    if not 0 <= low < high <= 1:
        raise CurriculumError(f"simulate: band must be 0 <= low < high <= 1, got {band!r}")
    rng = np.random.default_rng([seed, round(parent * 1e6), round(candidate * 1e6)])
    wins = np.arange(rollouts + 1)
    chance = np.array([comb(rollouts, k) * parent**k * (1 - parent) ** (rollouts - k) for k in wins.tolist()])
    chance[(wins / rollouts > low) & (wins / rollouts < high)] = 0
    triggered = float(chance.sum())
    # One row a trial: solved episodes of the triggering group; solved and all episodes of the candidate.
    state = np.zeros((trials, 3), dtype=np.int64)
    state[:, 0] = rng.choice(wins, trials, p=chance / triggered)
    accepted = np.zeros(trials, dtype=bool)
    running = np.arange(trials)
    for _ in range(MAX_GROUPS):
        kinds, which = np.unique(state[running], axis=0, return_inverse=True)
        decisions = [_decide(rule, row, rollouts, band) for row in kinds]
        verdicts = np.array([decision.verdict for decision in decisions])[which.ravel()]
        accepted[running[verdicts == "accept"]] = True
        running = running[verdicts == "more"]
        state[running, 1] += rng.binomial(rollouts, candidate, running.size)
        state[running, 2] += rollouts
        if not running.size:
            break
    else:
        raise EndlessTrial(f"the rule {rule.name!r} asks for more than {MAX_GROUPS} groups: give it a budget")
    harder = state[:, 0] / rollouts >= high
    right = (low < candidate < high) & np.where(harder, candidate < parent, candidate > parent)
    played = state[:, 2]
    return Cell(
        rule=rule.name,
        parent=parent,
        candidate=candidate,
        triggered=triggered,
        accepted=float(accepted.mean()),
        wrong=float((accepted & ~right).mean()),
        rollouts=float(played.mean()),
        max_rollouts=int(played.max()),
    )


def _decide(rule: Acceptance, row: Counts, rollouts: int, band: tuple[float, float]) -> Decision:
    trigger, solved, n = (int(value) for value in row)
    direction: Direction = "harder" if trigger / rollouts >= band[1] else "easier"
    return rule.decide(Trial(direction, Tally(trigger, rollouts), Tally(solved, n), band))


class _CachedRule:
    """A rule with a cache: it is a pure function, and most trials of a grid occur in many cells."""

    def __init__(self, rule: Acceptance) -> None:
        self.name = rule.name
        self._decide = cache(rule.decide)

    def decide(self, trial: Trial) -> Decision:
        """As the rule."""
        return self._decide(trial)


def grid(
    rules: Iterable[Acceptance],
    parents: Sequence[float] = PARENTS,
    candidates: Sequence[float] = CANDIDATES,
    *,
    trials: int = 4000,
    rollouts: int = 8,
    band: tuple[float, float] = (0.2, 0.8),
    seed: int = 0,
) -> list[Cell]:
    """Cells of `simulate` for each rule and each pair of rates, in this order."""
    return [
        simulate(rule, parent, candidate, trials=trials, rollouts=rollouts, band=band, seed=seed)
        for rule in map(_CachedRule, rules)
        for parent in parents
        for candidate in candidates
    ]


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares of accepted candidates in four cases that characterise a rule."""

    rule: str
    unchanged: float
    """Candidates with the parent's own success rate, mean over `PARENTS`."""
    down_to_middle: float
    """Parent .9, candidate .5."""
    up_to_middle: float
    """Parent .1, candidate .5."""
    out_of_band: float
    """Parent .9, candidate .05: harder, but outside the band."""
    rollouts: float
    """Mean number of episodes of a trial, over all of these cells."""

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> "Figures":
        """Figures from the cells of one rule.

        Raises:
            CurriculumError: the cells of a figure are missing, or they are of several rules.
        """
        by_rates = {(cell.parent, cell.candidate): cell for cell in cells}
        rules = {cell.rule for cell in cells}
        same = [(rate, rate) for rate in PARENTS]
        needed = [*same, (0.9, 0.5), (0.1, 0.5), (0.9, 0.05)]
        if len(rules) != 1 or not by_rates.keys() >= set(needed):
            raise CurriculumError(f"Figures.of: need the cells of one rule for {needed}")
        return cls(
            rule=rules.pop(),
            unchanged=float(np.mean([by_rates[pair].accepted for pair in same])),
            down_to_middle=by_rates[0.9, 0.5].accepted,
            up_to_middle=by_rates[0.1, 0.5].accepted,
            out_of_band=by_rates[0.9, 0.05].accepted,
            rollouts=float(np.mean([by_rates[pair].rollouts for pair in needed])),
        )
