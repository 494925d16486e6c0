"""Signature ``infrastructure``: too many episodes, or requests to the service of a language model, fail.

Infrastructure failures are masked and never a reward, but a run with many masked episodes learns from fewer than its
configuration says.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.monitors.series import Rows, Series, pick

__all__ = ["infrastructure"]


def infrastructure(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms of the signature; see the module."""
    limits = config.machinery
    errors = Series(rows, "behaviour.errors", config.window).now
    if errors is not None and errors >= limits.errors:
        yield f"{percent(errors, 0)} of the episodes ended in an infrastructure error"
    elif rows and pick(rows[-1], "behaviour.errors") == 1.0:  # reported at once, without a full window
        yield "every episode of this iteration ended in an infrastructure error"
    recent = rows[-config.window :]
    requests, failed = (
        sum(sum(pick(row, f"rewriter.{key}") or 0.0 for key in keys) for row in recent)
        for keys in (("requests",), ("unanswered", "skipped"))
    )
    if requests and failed / requests >= limits.unanswered:
        yield f"{failed:.0f} of {requests:.0f} requests to the rewriter's service had no answer"
