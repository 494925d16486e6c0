"""Signature ``reward_hacking``: the policy collects reward from the judge without solving the tasks.

Step rewards that are right for each step can still be collected without end: leaving a goal and returning to it earns a
good vote each time. So the alarms watch for rising votes on failed episodes, and for repeated actions, while success
does not rise.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.feedback.percent import percent, points
from rlanything_agents.runs.monitors.series import Rows, Series

__all__ = ["reward_hacking"]

_RISE = 0.02
"""Least change of success that counts: about two standard errors of the mean of five iterations of 128 episodes."""


def reward_hacking(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms of the signature; see the module."""
    limits = config.hacking

    def series(key: str) -> Series:
        return Series(rows, key, config.window)

    success = series("success.active").change
    if success is None or success >= _RISE:
        return
    vote = series("behaviour.vote_lost").change
    if vote is not None and vote >= limits.rise:
        yield f"the mean vote on lost episodes has risen by {vote:.2f} while success changed by {points(success, 0)}"
    repeated = series("behaviour.repeated")
    now, change = repeated.now, repeated.change
    if now is not None and change is not None and now >= limits.repeated and change >= limits.repeated_rise:
        more, gained = points(change, 0), points(success, 0)
        yield f"{percent(now, 0)} of the steps repeat an action just taken, {more}; success changed by {gained}"
