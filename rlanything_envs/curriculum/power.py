"""What an acceptance rule does to tasks whose true success rates are known: its power, by simulation.

A trial is played as the curriculum plays it, and the rule itself decides: a group of the parent that left the band
calls for the rewrite (groups inside the band call for none, so the parent's group is drawn from those outside it);
then candidate and parent play the groups that the rule asks for. Only the environment is left out: an episode
is won by chance at the true rate.
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
"""True success rates of parents: those that call for a rewrite often."""
CANDIDATES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95)
MAX_GROUPS = 100
"""A rule that asks for more groups than this in one trial never ends."""

Counts = npt.NDArray[np.int64]


class EndlessTrial(CurriculumError):
    """A rule kept asking for more episodes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What came of `trials` trials of one pair of true success rates."""

    rule: str
    parent: float
    candidate: float
    triggered: float
    """Probability that a group of the parent calls for a rewrite at all."""
    accepted: float
    """Share of trials, given such a group, that accepted the candidate."""
    wrong: float
    """Share of trials that accepted a candidate outside the band or not on the side that was asked for."""
    rollouts: float
    """Mean episodes in a trial, without the group that called for it."""
    parent_rollouts: float
    """Those of them that the parent played."""
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
    """Play `trials` trials of a candidate of one true success rate against a parent of another.

    Args:
        rule: decides.
        parent: true success rate, in (0, 1).
        candidate: true success rate, in [0, 1].
        trials: how many; the standard error of a share is at most 0.5 / sqrt(trials).
        rollouts: episodes in a group.
        band: success rates outside this open interval call for a rewrite.
        seed: seeds the chance, together with the two rates.

    Raises:
        CurriculumError: a rate is out of its range, the band is none, or `trials` or `rollouts` is below 1.
        EndlessTrial: the rule asked for more than `MAX_GROUPS` groups.
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
    # One row a trial: the triggering wins; the parent's wins and episodes; the candidate's.
    state = np.zeros((trials, 5), dtype=np.int64)
    state[:, 0] = rng.choice(wins, trials, p=chance / triggered)
    accepted = np.zeros(trials, dtype=bool)
    running = np.arange(trials)
    for _ in range(MAX_GROUPS):
        kinds, which = np.unique(state[running], axis=0, return_inverse=True)
        decisions = [_decide(rule, row, rollouts, band) for row in kinds]
        verdicts = np.array([decision.verdict for decision in decisions])[which.ravel()]
        roles = np.array([decision.role or "" for decision in decisions])[which.ravel()]
        accepted[running[verdicts == "accept"]] = True
        for role, rate, column in (("active", parent, 1), ("candidate", candidate, 3)):
            playing = running[(verdicts == "more") & (roles == role)]
            state[playing, column] += rng.binomial(rollouts, rate, playing.size)
            state[playing, column + 1] += rollouts
        running = running[verdicts == "more"]
        if not running.size:
            break
    else:
        raise EndlessTrial(f"the rule {rule.name!r} asks for more than {MAX_GROUPS} groups: give it a budget")
    harder = state[:, 0] / rollouts >= high
    right = (low < candidate < high) & np.where(harder, candidate < parent, candidate > parent)
    played = state[:, 2] + state[:, 4]
    return Cell(
        rule=rule.name,
        parent=parent,
        candidate=candidate,
        triggered=triggered,
        accepted=float(accepted.mean()),
        wrong=float((accepted & ~right).mean()),
        rollouts=float(played.mean()),
        parent_rollouts=float(state[:, 2].mean()),
        max_rollouts=int(played.max()),
    )


def _decide(rule: Acceptance, row: Counts, rollouts: int, band: tuple[float, float]) -> Decision:
    trigger, won, n, new_won, new_n = (int(value) for value in row)
    direction: Direction = "harder" if trigger / rollouts >= band[1] else "easier"
    return rule.decide(Trial(direction, Tally(trigger, rollouts), Tally(new_won, new_n), band, Tally(won, n)))


class _Remembering:
    """A rule that decides each trial once: it is a pure function, and most trials of a grid occur in many cells."""

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
    """`simulate` each pair of rates for each rule, in this order."""
    return [
        simulate(rule, parent, candidate, trials=trials, rollouts=rollouts, band=band, seed=seed)
        for rule in map(_Remembering, rules)
        for parent in parents
        for candidate in candidates
    ]


@dataclass(frozen=True, slots=True)
class Figures:
    """Four shares of accepted candidates that say whether a rule can be trusted."""

    rule: str
    unchanged: float
    """Mean over `PARENTS`, the candidate being no different."""
    down_to_middle: float
    """From .9 to .5."""
    up_to_middle: float
    """From .1 to .5."""
    out_of_band: float
    """From .9 to .05: harder, but useless."""
    rollouts: float
    """Mean episodes of a trial, over all of these cells."""

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> "Figures":
        """From the cells of one rule.

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
