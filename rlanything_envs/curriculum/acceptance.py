"""Acceptance rules: whether a candidate replaces its parent, is rejected, or needs more episodes.

A rule sees only counts, so it can be tested by enumeration and simulated without an environment.

The group that triggers a rewrite lies outside the band partly by chance, so its success rate is biased: compared with
it, an unchanged task looks harder in 25 to 50 of 100 trials, and more episodes of the candidate do not help.
`PaperAcceptance` and `ReferenceAcceptance` make this comparison, as published; `RecommendedAcceptance` compares
posteriors, which know how little one group says.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from rlanything_envs.errors import SettingError
from rlanything_task_pools import Outcome
from rlanything_task_pools.task import Direction

TrialRole = Literal["active", "candidate"]
"""Task that is played: a slot's active task, or its rewrite ("candidate")."""

Density = npt.NDArray[np.float64]

CELLS = 1000
"""Number of cells of the unit interval."""
_RATES = (np.arange(CELLS) + 0.5) / CELLS
_RATES.flags.writeable = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of solved episodes among `n` valid ones; infrastructure errors are in neither number."""

    successes: int
    n: int

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Tally":
        """Count a group, leaving out infrastructure errors."""
        valid = [outcome.success for outcome in outcomes if outcome.success is not None]
        return cls(sum(valid), len(valid))

    @property
    def accuracy(self) -> float:
        """Share of solved episodes; 0 for an empty tally."""
        return self.successes / self.n if self.n else 0.0

    @property
    def spread(self) -> bool:
        """Whether some episodes were solved and some failed."""
        return 0 < self.successes < self.n


@dataclass(frozen=True, slots=True)
class Trial:
    """Episode counts of a candidate and its parent."""

    direction: Direction
    parent: Tally
    """The parent's group that triggered the rewrite."""
    candidate: Tally
    """The candidate's episodes since it was proposed."""
    band: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Decision:
    """Accept, reject, or play another group of the candidate first."""

    verdict: Literal["accept", "reject", "more"]
    reason: str
    """Short identifier of the reason, as the pool's events store it."""
    probability: float | None = None
    """Probability that the candidate meets the rule's criterion; None for a rule that does not compute it."""

    @property
    def accepted(self) -> bool:
        """Whether the candidate takes the slot."""
        return self.verdict == "accept"


class Acceptance(Protocol):
    """A rule that decides on tried candidates."""

    @property
    def name(self) -> str:
        """The name in configurations and on record."""
        ...

    def decide(self, trial: Trial) -> Decision:
        """Decide a trial; called when the candidate is proposed and after each of its groups. A pure function."""
        ...


class PaperAcceptance:
    """As published: harder iff ``low < acc(q') < acc(q)``, easier iff ``acc(q) < acc(q') < high``."""

    name = "paper"

    def decide(self, trial: Trial) -> Decision:
        """The published rule."""
        low, high = trial.band
        return _published(trial, too_hard=trial.candidate.accuracy <= low, too_easy=trial.candidate.accuracy >= high)


class ReferenceAcceptance:
    """As in the released code: the edges of the band count as inside, and at least one episode must be solved."""

    name = "reference"

    def decide(self, trial: Trial) -> Decision:
        """The released code's rule."""
        low, high = trial.band
        hard = trial.candidate.accuracy < low or trial.candidate.successes == 0
        return _published(trial, too_hard=hard, too_easy=trial.candidate.accuracy > high)


def _published(trial: Trial, *, too_hard: bool, too_easy: bool) -> Decision:
    """The published rule: first the side of the parent, then the far edge of the band."""
    if not trial.candidate.n:
        return Decision("more", "untried")
    moved = trial.candidate.accuracy - trial.parent.accuracy
    if trial.direction == "harder":
        if moved >= 0:
            return Decision("reject", "not-harder")
        return Decision("reject", "too-hard") if too_hard else Decision("accept", "harder")
    if moved <= 0:
        return Decision("reject", "not-easier")
    return Decision("reject", "too-easy") if too_easy else Decision("accept", "easier")


CONFIDENCE, FUTILITY, BUDGET = 0.91, 0.3, 32
"""Of `RecommendedAcceptance`: probabilities that accept and that reject, and episodes of the candidate in one trial."""


class RecommendedAcceptance:
    """Accepts when the candidate is probably harder (easier) than its parent and inside the band.

    Success rates have independent Beta posteriors; that of the parent is from the group that triggered the rewrite,
    which a posterior may use although it was chosen for being outside the band. Groups of the candidate are played
    until

    - P(right side of the parent and inside the band) reaches `CONFIDENCE`: accepted;
    - that probability is at most `FUTILITY`: rejected;
    - the candidate has `BUDGET` episodes: rejected as unclear.

    The constants were tuned by simulation (``rlanything curriculum power`` at commit ac01d4a) for groups of 8 and the
    band (0.2, 0.8). There it accepts 2.7 % of unchanged tasks (the published rule 44 %), 95 % of those moved from .9 or
    .1 to .5, and none of 4,000 moved from .9 to .05, by 17 episodes a trial on average.
    """

    name = "recommended"

    def decide(self, trial: Trial) -> Decision:
        """Accept, reject, or ask for another group of the candidate."""
        candidate, parent, (low, high) = trial.candidate, trial.parent, trial.band
        if not candidate.n:
            return Decision("more", "untried")
        new = posterior(candidate.successes, candidate.n)
        old = posterior(parent.successes, parent.n)
        side = below if trial.direction == "harder" else above
        right = side(new, old, low, high)
        if right >= CONFIDENCE:
            return Decision("accept", trial.direction, right)
        if right <= FUTILITY:
            harder, hard = trial.direction == "harder", candidate.accuracy < (low + high) / 2
            # "Beyond" where leaving the band on the far side is the likelier fault; on the near side it did not move.
            beyond = harder == hard and inside(new, low, high) < side(new, old)
            reason = f"not-{trial.direction}" if not beyond else "too-hard" if harder else "too-easy"
            return Decision("reject", reason, right)
        return Decision("more" if candidate.n < BUDGET else "reject", "unclear", right)


class AlwaysAcceptance:
    """Accepts every candidate without a trial: a control, and the rule for tasks that need none."""

    name = "always"

    def decide(self, trial: Trial) -> Decision:
        """Accept."""
        return Decision("accept", trial.direction)


_RULES: dict[
    str, type[PaperAcceptance] | type[ReferenceAcceptance] | type[RecommendedAcceptance] | type[AlwaysAcceptance]
] = {rule.name: rule for rule in (PaperAcceptance, ReferenceAcceptance, RecommendedAcceptance, AlwaysAcceptance)}


def get_acceptance(rule: str | Acceptance) -> Acceptance:
    """The rule of a name; a rule object is returned as it is.

    Raises:
        SettingError: there is no rule of this name; the message lists them.
    """
    if not isinstance(rule, str):
        return rule
    if rule not in _RULES:
        raise SettingError(f"unknown acceptance rule {rule!r}; choose from {', '.join(sorted(_RULES))}")
    return _RULES[rule]()


@lru_cache(maxsize=4096)
def posterior(successes: int, n: int) -> Density:
    """Mass of each cell of a success rate, shape (CELLS,), under Beta(1 + successes, 1 + n - successes).

    The density is evaluated at the midpoints of equal cells, with an error of about 0.002 for the counts of a trial.
    That is enough for a decision and needs no library of special functions.

    Args:
        successes: number of solved episodes.
        n: number of episodes.
    """
    log = successes * np.log(_RATES) + (n - successes) * np.log1p(-_RATES)
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
