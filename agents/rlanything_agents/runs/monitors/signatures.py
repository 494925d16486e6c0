"""All signatures, what is seen of them in a run's newest row, and what a reader is told of the whole run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from rlanything_agents.config.monitors import MonitorsConfig, SignatureName
from rlanything_agents.runs.monitors.infrastructure import infrastructure
from rlanything_agents.runs.monitors.judge_collapse import judge_collapse
from rlanything_agents.runs.monitors.policy_collapse import policy_collapse
from rlanything_agents.runs.monitors.reward_hacking import reward_hacking
from rlanything_agents.runs.monitors.series import Rows
from rlanything_agents.runs.monitors.task_drift import task_drift

__all__ = ["SIGNATURES", "Health", "Signature", "health", "watch"]


@dataclass(frozen=True, slots=True)
class Signature:
    """A way in which learning goes wrong.

    Attributes:
        name: As in the configuration and in the metrics.
        meaning: What it is, for a reader.
        check: What of it is seen after the newest row, in sentences.
    """

    name: SignatureName
    meaning: str
    check: Callable[[Rows, MonitorsConfig], Iterable[str]]


SIGNATURES: tuple[Signature, ...] = (
    Signature("judge_collapse", "the reward model answers one thing, nonsense, or by chance", judge_collapse),
    Signature("reward_hacking", "the reward model is pleased while success does not rise", reward_hacking),
    Signature("policy_collapse", "the policy learns nothing, runs away, or forgets", policy_collapse),
    Signature("task_drift", "tasks leave their roots, become alike, or are not made any more", task_drift),
    Signature("infrastructure", "episodes or requests end in failures of the machinery", infrastructure),
)
assert {signature.name for signature in SIGNATURES} == set(get_args(SignatureName))  # nosec B101 # at import, of constants


def watch(rows: Rows, config: MonitorsConfig) -> dict[str, list[str]]:
    """What is wrong after the newest iteration: sentences by signature; empty where all is well.

    Args:
        rows: The metrics of all iterations.
        config: Limits.
    """
    found = {signature.name: list(signature.check(rows, config)) for signature in SIGNATURES}
    return {name: said for name, said in found.items() if said}


@dataclass(frozen=True, slots=True)
class Health:
    """What a reader is told of one signature.

    Attributes:
        name: Of the signature.
        meaning: What it is.
        iterations: Those in which it was seen.
        said: What was seen in the last of them.
    """

    name: str
    meaning: str
    iterations: tuple[int, ...]
    said: str

    @property
    def when(self) -> str:
        """The iterations as spells: ``3-7, 12``; empty where there were none."""
        spells: list[list[int]] = []
        for number in self.iterations:
            if spells and number == spells[-1][-1] + 1:
                spells[-1].append(number)
            else:
                spells.append([number])
        return ", ".join(f"{spell[0]}-{spell[-1]}" if len(spell) > 1 else str(spell[0]) for spell in spells)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for ``summary.json`` and the report."""
        return {
            "signature": self.name,
            "meaning": self.meaning,
            "iterations": list(self.iterations),
            "when": self.when,
            "said": self.said,
        }


def health(rows: Rows) -> list[Health]:
    """Every signature with the iterations in which it was seen, from the alarms on record."""
    return [
        Health(
            signature.name,
            signature.meaning,
            tuple(row["iteration"] for row in rows if signature.name in _alarms(row)),
            next(
                ("; ".join(_alarms(row)[signature.name]) for row in reversed(rows) if signature.name in _alarms(row)),
                "",
            ),
        )
        for signature in SIGNATURES
    ]


def _alarms(row: Mapping[str, Any]) -> Mapping[str, list[str]]:
    found: Mapping[str, list[str]] = row.get("alarms", {})
    return found
