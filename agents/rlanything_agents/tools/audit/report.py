"""The table of an audit as text, for the screen and for Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.tools.benchmark.report import NOTHING, escaped, markdown_table, success_text

__all__ = ["LISTS", "audit_markdown", "audit_table"]

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


def audit_markdown(found: Mapping[str, Any]) -> str:
    """An audit as a Markdown page."""
    panel = found["panel"]
    header, rows = audit_table(found)
    parts = [
        f"# Audit of {escaped(panel['name'])}",
        f"{panel['tasks']} tasks of {panel['domain']}, hash {panel['hash']}",
    ]
    if found["command"]:
        parts.append("    " + escaped(found["command"]))
    parts.append("\n".join(markdown_table(header, rows)))
    for name, title in LISTS.items():
        if found[name]:
            columns = ("task", "agent", "variant", "kind", "goal", "seconds", "error")
            listed = [[str(item[column]) for column in columns] for item in found[name]]
            parts.append(f"## Tasks {title}: {len(listed)}")
            parts.append("\n".join(markdown_table(columns, listed)))
    return "\n\n".join(parts) + "\n"
