"""The table of an audit as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.tools.benchmark.report import NOTHING, success_text

__all__ = ["LISTS", "audit_table"]

LISTS = {
    "findings": "solved without the work",
    "voided": "left without an outcome by a cheat",
    "held": "held longer than the limit",
    "unsolved": "not solved by the known solution",
    "errors": "not played",
}
"""Lists of an audit that are empty where it is clean, and their titles."""

_HEADER = ("agent", "what it does", "episodes", "solved", "voided", "held", "longest", "mean score")


def audit_table(found: Mapping[str, Any]) -> tuple[Sequence[str], list[list[str]]]:
    """Header and rows of the agents, all cheats together last."""
    return _HEADER, [_cells(row) for row in (*found["agents"], found["cheats"])]


def _cells(row: Mapping[str, Any]) -> list[str]:
    if not (row["episodes"] or row["errors"]):
        return [row["agent"], row["about"], *[NOTHING] * 6]
    solved, voided = str(row["successes"]), str(row["voided"])
    if row["successes"] and row["rate"] < 1:
        solved += f" ({success_text(row)})"
    if row["voided"]:
        voided += f" ({100 * row['voided_share']:.1f} %)"
    score = NOTHING if row["score"] is None else f"{row['score']:.3g}"
    played = str(row["episodes"] + row["voided"])
    held, longest = str(row["held"]), f"{row['longest']:.1f} s"
    return [row["agent"], row["about"], played, solved, voided, held, longest, score]
