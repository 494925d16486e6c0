"""Acceptance: whether a tried rewrite may take its parent's place.

A rule sees only counts, so it can be tested by enumeration and simulated without an environment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rlanything_task_pools import Outcome
from rlanything_task_pools.task import Direction


@dataclass(frozen=True, slots=True)
class Tally:
    """How many of `n` episodes were won; episodes that the infrastructure broke are in neither number."""

    successes: int
    n: int

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> "Tally":
        """Count a group, leaving out infrastructure errors."""
        valid = [outcome.success for outcome in outcomes if outcome.success is not None]
        return cls(sum(valid), len(valid))

    @property
    def accuracy(self) -> float:
        """Share of won episodes; 0 for an empty tally."""
        return self.successes / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known when a candidate has been tried."""

    direction: Direction
    parent: Tally
    """The parent's group that called for the rewrite."""
    candidate: Tally
    band: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Decision:
    """Accept or not, and why, as a short slug to count by."""

    accepted: bool
    reason: str


class Acceptance(Protocol):
    """A rule that decides on tried candidates."""

    @property
    def name(self) -> str:
        """The name in configurations and on record."""
        ...

    def decide(self, trial: Trial) -> Decision:
        """The rule's word on one trial."""
        ...


class PaperAcceptance:
    """As published: harder iff ``low < acc(q') < acc(q)``, easier iff ``acc(q) < acc(q') < high``."""

    name = "paper"

    def decide(self, trial: Trial) -> Decision:
        """The published rule."""
        low, high = trial.band
        return _decide(trial, too_hard=trial.candidate.accuracy <= low, too_easy=trial.candidate.accuracy >= high)


class ReferenceAcceptance:
    """As the released code decides: the edge of the band itself is inside it, and something must succeed."""

    name = "reference"

    def decide(self, trial: Trial) -> Decision:
        """The released code's rule."""
        low, high = trial.band
        hard = trial.candidate.accuracy < low or trial.candidate.successes == 0
        return _decide(trial, too_hard=hard, too_easy=trial.candidate.accuracy > high)


def _decide(trial: Trial, *, too_hard: bool, too_easy: bool) -> Decision:
    """Side first, then the edge of the band that the parent does not lie beyond."""
    moved = trial.candidate.accuracy - trial.parent.accuracy
    if trial.direction == "harder":
        if moved >= 0:
            return Decision(False, "not-harder")
        return Decision(False, "too-hard") if too_hard else Decision(True, "harder")
    if moved <= 0:
        return Decision(False, "not-easier")
    return Decision(False, "too-easy") if too_easy else Decision(True, "easier")


_RULES: dict[str, type[PaperAcceptance] | type[ReferenceAcceptance]] = {
    rule.name: rule for rule in (PaperAcceptance, ReferenceAcceptance)
}


def get_acceptance(rule: str | Acceptance) -> Acceptance:
    """The rule of a name; a rule object is returned as it is.

    Raises:
        ValueError: there is no rule of this name; the message lists them.
    """
    if not isinstance(rule, str):
        return rule
    if rule not in _RULES:
        raise ValueError(f"unknown acceptance rule {rule!r}; choose from {', '.join(sorted(_RULES))}")
    return _RULES[rule]()
