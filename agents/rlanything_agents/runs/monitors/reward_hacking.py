"""The policy pleases the reward model without doing the tasks.

A step reward that is right step by step can still be collected without end: going away from a goal and back earns a
good vote each time. So what counts is a judge that becomes kinder to lost episodes, and actions that only repeat
themselves, while success does not rise.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.runs.monitors.series import Rows, Series

__all__ = ["reward_hacking"]

_RISE = 0.02
"""A change of success below this is none: some two standard errors of the mean of five iterations of 128 episodes."""


def reward_hacking(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """See the module."""
    limits = config.hacking

    def series(key: str) -> Series:
        return Series(rows, key, config.window)

    success = series("success.active").change
    if success is None or success >= _RISE:
        return
    vote = series("behaviour.vote_lost").change
    if vote is not None and vote >= limits.rise:
        yield f"the mean vote on lost episodes has risen by {vote:.2f} while success changed by {success:+.0%}"
    repeated = series("behaviour.repeated")
    now, change = repeated.now, repeated.change
    if now is not None and change is not None and now >= limits.repeated and change >= limits.repeated_rise:
        yield f"{now:.0%} of the steps repeat an action just taken, {change:+.0%}; success changed by {success:+.0%}"
