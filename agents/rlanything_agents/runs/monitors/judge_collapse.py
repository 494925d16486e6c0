"""Signature ``judge_collapse``: the reward model gives one answer, writes nonsense, or is at chance.

A judge that starts at chance on mostly failed episodes is rewarded for calling every step wrong; then all votes agree,
and no gradient leads out of it. Its own training reward does not show this, so the alarms compare votes with outcomes,
and with the true labels where the domain has them.
"""

from __future__ import annotations

from collections.abc import Iterator

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.monitors.series import Rows, Series

__all__ = ["judge_collapse"]

TRUTH = {
    "judge_quality.process_balanced": "balanced accuracy of its votes against the planner",
    "judge_quality.ut": "share of its tests that agree with every correct program",
}
"""Metrics against the ground truth, each from the domains that have it, with their descriptions."""


def judge_collapse(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms of the signature; see the module."""
    limits = config.judge

    def series(key: str) -> Series:
        return Series(rows, key, config.window)

    if series("judge.loss").broken:
        yield "the reward model's loss is not a number"
    unparsable = series("feedback.unparsable_rate").soon  # of many votes already in the first iteration
    if unparsable is not None and unparsable >= limits.unparsable:
        yield f"{percent(unparsable, 0)} of what it writes cannot be read"
        return  # the other metrics are of few votes
    for key, calls in (("p_plus", "won episode right"), ("p_minus", "lost episode wrong")):
        share = series(f"feedback.{key}").now
        if share is not None and share <= limits.one_sided:
            yield f"{percent(share, 0)} of the votes call a step of a {calls}: one answer for all"
    mu = series("feedback.mu").now
    if mu is not None and mu <= limits.mu:
        yield f"votes tell nothing of outcomes: mu = p+ + p- is {mu:.2f}"
    mixed = series("feedback.mixed_rate")
    if mixed.first is not None and mixed.now is not None and mixed.first > limits.mixed >= mixed.now:
        yield f"its votes agree on all but {percent(mixed.now)} of the steps: there is nothing for it to learn from"
    balanced = series("judge_quality.process_balanced").now
    if balanced is not None and balanced <= limits.chance:
        yield f"its balanced accuracy against the planner is {percent(balanced, 0)}, as by chance"
    for key, what in TRUTH.items():
        change = series(key).change
        if change is not None and -change >= limits.fall:
            yield f"the {what} has fallen by {-100 * change:.0f} points"
