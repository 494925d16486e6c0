"""All signatures, the alarms after the newest row of a run, and the health of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from rlanything_agents.config.monitors import SignatureName
from rlanything_agents.runs.monitors.alarms import (
    Alarm,
    infrastructure,
    judge_collapse,
    policy_collapse,
    reward_hacking,
    task_drift,
)
from rlanything_agents.runs.monitors.series import Rows

__all__ = ["SIGNATURES", "WINDOW", "Health", "Signature", "health", "watch"]

WINDOW = 5
"""Iterations over which values are averaged, and number of "the first iterations". A shorter run has one window of its
length; shares of what cannot be read raise an alarm from the first iteration on."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of failure of learning.

    Attributes:
        name: Name in the configuration and in the metrics.
        meaning: Explanation for readers.
        turn: Keys of the configuration that help, unless an alarm brings others.
        check: Function from the rows and the window to alarms after the newest row.
    """

    name: SignatureName
    meaning: str
    turn: str
    check: Callable[[Rows, int], Iterable[Alarm]]


SIGNATURES: tuple[Signature, ...] = (
    Signature(
        "judge_collapse",
        "the reward model is constant, unreadable, or no better than chance",
        "play more groups (rollout.tasks, rollout.rollouts), teach it longer (warm_start.judge_steps), or learn from "
        "outcomes alone (feedback: recommended)",
        judge_collapse,
    ),
    Signature(
        "reward_hacking",
        "rewards rise while success does not",
        "learn from outcomes alone (feedback: recommended) or lower feedback.lam",
        reward_hacking,
    ),
    Signature(
        "policy_collapse",
        "the policy gets no gradient, diverges, or forgets",
        "lower policy_trainer.learning_rate, imitate longer (warm_start.demonstrations), or change the tasks "
        "(curriculum.knobs)",
        policy_collapse,
    ),
    Signature(
        "task_drift",
        "tasks drift from their roots, become alike, or are no longer rewritten",
        "curriculum.acceptance: recommended, other curriculum.operators, or a larger curriculum.pool_size",
        task_drift,
    ),
    Signature(
        "infrastructure",
        "episodes or requests end in infrastructure failures",
        "the log names the failures; rlanything doctor checks this machine",
        infrastructure,
    ),
)
assert {signature.name for signature in SIGNATURES} == set(get_args(SignatureName))  # nosec B101 # at import, of constants


def watch(rows: Rows, window: int = WINDOW) -> dict[str, list[str]]:
    """Alarms after the newest iteration, as sentences by signature, with keys to turn; empty without any.

    Args:
        rows: The metrics of all iterations.
        window: Iterations over which values are averaged.
    """
    found: dict[str, list[str]] = {}
    for signature in SIGNATURES:
        if alarms := [(alarm, "") if isinstance(alarm, str) else alarm for alarm in signature.check(rows, window)]:
            said = found[signature.name] = [f"{said}: {turn}" if turn else said for said, turn in alarms]
            if not any(turn for _, turn in alarms):
                said[-1] += f": {signature.turn}"
    return found


@dataclass(frozen=True, slots=True)
class Health:
    """Alarms of one signature over a whole run.

    Attributes:
        name: Name of the signature.
        meaning: Explanation of the signature.
        iterations: Iterations with alarms.
        said: Alarms of the last of these iterations; empty without any.
    """

    name: str
    meaning: str
    iterations: tuple[int, ...]
    said: str

    @property
    def when(self) -> str:
        """The iterations as ranges: ``3-7, 12``; empty without any."""
        spells: list[list[int]] = []
        for number in self.iterations:
            if spells and number == spells[-1][-1] + 1:
                spells[-1].append(number)
            else:
                spells.append([number])
        return ", ".join(f"{spell[0]}-{spell[-1]}" if len(spell) > 1 else str(spell[0]) for spell in spells)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``summary.json`` and the report."""
        return {
            "signature": self.name,
            "meaning": self.meaning,
            "iterations": list(self.iterations),
            "when": self.when,
            "said": self.said,
        }


def health(rows: Rows) -> list[Health]:
    """Health of every signature, from the alarms in the metrics rows."""
    found = []
    for signature in SIGNATURES:
        seen = [row for row in rows if signature.name in _alarms(row)]
        said = "; ".join(_alarms(seen[-1])[signature.name]) if seen else ""
        found.append(Health(signature.name, signature.meaning, tuple(row["iteration"] for row in seen), said))
    return found


def _alarms(row: Mapping[str, Any]) -> Mapping[str, list[str]]:
    found: Mapping[str, list[str]] = row.get("alarms", {})
    return found
