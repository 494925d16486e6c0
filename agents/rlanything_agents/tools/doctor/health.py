"""Alarms of a run: those on record, or those of the monitors' default limits where none are recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["examine_health"]


def examine_health(rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """One finding per signature with alarms, or one that there was none.

    Args:
        rows: Untrusted metrics of all iterations; those of older versions have no alarms on record.
    """
    from rlanything_agents.runs.monitors import health, watch

    if not rows:
        return
    try:
        watched = [
            row if "alarms" in row else {**row, "alarms": watch(rows[:number])} for number, row in enumerate(rows, 1)
        ]
        found = [line for line in health(watched) if line.said]
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError) as error:
        yield Finding("health", None, f"the metrics are not those of a run ({type(error).__name__})")
        return
    for line in found:
        remedy = f"{line.meaning}: look at the report, or at `rlanything view`"
        yield Finding("health", None, f"iterations {line.when}: {line.name}: {line.said}", remedy)
    if not found:
        yield Finding("health", True, "no monitor has raised an alarm")
