"""Too much breaks that has nothing to do with learning: episodes, or the service of a language model.

What breaks is masked and never a reward; but a run of which much is masked is not the run that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.runs.monitors.series import Rows, Series, pick

__all__ = ["infrastructure"]


def infrastructure(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """See the module."""
    limits = config.machinery
    errors = Series(rows, "behaviour.errors", config.window).now
    if errors is not None and errors >= limits.errors:
        yield f"{errors:.0%} of the episodes ended in an infrastructure error"
    elif rows and pick(rows[-1], "behaviour.errors") == 1.0:  # worth a word at once
        yield "every episode of this iteration ended in an infrastructure error"
    recent = rows[-config.window :]
    asked, lost = (
        sum(sum(pick(row, f"rewriter.{key}") or 0.0 for key in keys) for row in recent)
        for keys in (("requests",), ("unanswered", "skipped"))
    )
    if asked and lost / asked >= limits.unanswered:
        yield f"{lost:.0f} of {asked:.0f} requests to the rewriter's service had no answer"
