"""Signature ``task_drift``: tasks move far from their roots, become alike, or are no longer rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.monitors.series import Rows, Series
from rlanything_envs.curriculum.llm_rewriter import GENERATOR_ERROR

__all__ = ["task_drift"]


def task_drift(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms of the signature; see the module."""
    if not rows:
        return
    limits = config.tasks
    tasks, newest = rows[-1].get("tasks", {}), rows[-1].get("curriculum", {})
    slots = max(1, tasks.get("slots", 1))
    far, twice = len(newest.get("far", ())) / slots, newest.get("duplicates", 0) / slots
    if far >= limits.far:
        yield f"{percent(far, 0)} of the tasks are far from their roots"
    if twice >= limits.duplicates:
        yield f"{percent(twice, 0)} of the slots hold a task that another holds too"
    drift = Series(rows, "curriculum.drift", config.window).now
    if drift is not None and drift >= limits.drift:
        yield f"the tasks are {drift:.2f} from their roots in the mean"
    diversity = Series(rows, "curriculum.diversity", config.window)
    if diversity.first and diversity.now is not None:
        share = diversity.now / diversity.first
        if share <= limits.diversity:
            yield f"the tasks are {percent(share, 0)} as different from each other as they were"
    yield from _rewriting(rows, config)


def _rewriting(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms on the shares of proved proposals and of accepted tasks in the last window."""
    limits, window = config.tasks, config.window
    if len(rows) < window:
        return
    now, before = _Counts.of(rows[-1]), _Counts.of(rows[-window - 1]) if len(rows) > window else _Counts()
    proved, proposals = now.proved - before.proved, now.proposals - before.proposals
    accepted, decided = now.accepted - before.accepted, now.decided - before.decided
    if proposals >= limits.decisions and proved / proposals <= limits.valid:
        yield f"{proved} of {proposals} proposals could be proved"
    if decided >= limits.decisions and accepted / decided <= limits.accepted:
        yield f"{accepted} of {decided} tried tasks were accepted"


@dataclass(frozen=True, slots=True)
class _Counts:
    """Cumulative counts of proposals and decisions up to an iteration, without failures of the service."""

    proved: int = 0
    proposals: int = 0
    accepted: int = 0
    decided: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Counts:
        found = row.get("curriculum", {})
        proved, accepted = found.get("proposed", 0), found.get("accepted", 0)
        discarded = sum(n for reason, n in found.get("discarded", {}).items() if reason != GENERATOR_ERROR)
        return cls(proved, proved + discarded, accepted, accepted + sum(found.get("rejected", {}).values()))
