"""Signature ``policy_collapse``: the policy gets no gradient, loses or gains too much entropy, diverges, or forgets.

A nearly deterministic policy solves all episodes of a group or none; the filter drops such groups, and no gradient is
left. Adapting the tasks is the remedy; without it, check whether the pool is too easy or too hard.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.monitors.series import Rows, Series

__all__ = ["policy_collapse"]


def policy_collapse(rows: Rows, config: MonitorsConfig) -> Iterator[str]:
    """Alarms of the signature; see the module."""
    limits = config.policy

    def series(key: str) -> Series:
        return Series(rows, key, config.window)

    for key in ("policy.loss", "policy.grad_norm"):
        if series(key).broken:
            yield f"the policy's {key.partition('.')[2]} is not a finite number"
    readable = series("actions.readable").soon
    if readable is not None and 1 - readable >= limits.unreadable:
        yield f"{percent(1 - readable, 0)} of its answers hold no action that can be read"
    success = series("success.active")
    kept = series("feedback.policy_kept").now
    others = (series(f"feedback.{key}").now for key in ("silent_kept", "policy_format"))
    if kept is not None and (total := kept + sum(share or 0.0 for share in others)) <= limits.kept:
        won = "" if success.now is None else f", {percent(success.now, 0)} of the episodes are won"
        yield f"{percent(total, 0)} of the groups teach the policy anything{won}"
    entropy = series("policy.entropy")
    if entropy.now is not None and entropy.now <= limits.entropy:
        yield f"the policy is all but deterministic: entropy {entropy.now:.4f} nats"
    if entropy.first and entropy.now is not None and (rise := entropy.now / entropy.first) >= limits.entropy_rise:
        yield f"the policy's entropy is {rise:.1f} times what it was"
    moves = series("policy.kl").last
    if moves and (move := median(moves)) >= limits.kl:
        yield f"the policy moves by {move:.2f} nats a token in an update"
    words = series("behaviour.words")
    if words.first and words.now is not None:
        growth = words.now / words.first
        if growth >= limits.length or growth <= 1 / limits.length:
            yield f"a turn has {words.now:.0f} words, and had {words.first:.0f}"
    if success.best is not None and success.now is not None and success.best >= limits.had:
        share = success.now / success.best
        if share <= limits.lost:
            yield f"success is {percent(success.now, 0)}, and was {percent(success.best, 0)}"
