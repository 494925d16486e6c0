"""Curves of a run: the metrics that the report and the viewer draw, with titles, units and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.runs.stored.values import mapping, number

__all__ = ["CHARTS", "READING", "draw", "pick"]

READING = (
    "Success on held-out tasks, before and after, says what was learnt. Success in training need not rise: tasks that "
    "adapt get harder as the policy gets better.",
    "A group of episodes teaches the policy where its outcomes differ. The charts of groups say how many do; tasks "
    "outside the band are rewritten to get them back.",
    "Signs of trouble: entropy near 0, jumps of a KL divergence, a largest ratio of sampler to trainer far above 1, "
    "votes or actions that cannot be read. Health lists those that the monitors saw.",
)
"""How to read the curves, in three lines."""

Line = tuple[str, str, str]
"""Dotted key of the metrics row, label, and the name of a colour."""
Chart = tuple[str, str, str, tuple[Line, ...]]
"""Title, unit, kind (``share``: from 0 to 1, ``stack``: shares that add up, ``count``: from 0, ``free``), lines."""

CHARTS: tuple[Chart, ...] = (
    (
        "Training success",
        "share of episodes solved",
        "share",
        (
            ("success.active", "active tasks", "blue"),
            ("success.candidate", "candidates on trial", "amber"),
            ("overlong.share", "cut off at the context", "red"),
            ("agent_crash.share", "desktop broken by the agent", "green"),
        ),
    ),
    (
        "Actions of the policy",
        "share of turns",
        "share",
        (("actions.readable", "readable", "blue"), ("actions.admissible", "admissible", "green")),
    ),
    (
        "Tasks rewritten",
        "tasks, cumulative",
        "count",
        (
            ("tasks.accepted", "accepted", "green"),
            ("tasks.rejected", "rejected after a trial", "red"),
            ("tasks.discarded", "never tried", "grey"),
        ),
    ),
    (
        "Groups by the curriculum's band",
        "share of groups on active tasks",
        "stack",
        (
            ("curriculum.below", "below: too hard", "red"),
            ("curriculum.inside", "inside: teaches", "green"),
            ("curriculum.above", "above: too easy", "blue"),
        ),
    ),
    (
        "Reward model against the planner",
        "share",
        "share",
        (
            ("judge_quality.process_balanced", "process accuracy, balanced", "violet"),
            ("judge_quality.outcome", "outcome accuracy", "amber"),
            ("judge_quality.outcome_auc", "outcome AUC", "blue"),
            ("judge_quality.mid_auc", "outcome AUC in mid-episode", "green"),
            ("judge_quality.calibration", "calibration error", "red"),
            ("judge_quality.unparsable", "votes that cannot be read", "grey"),
        ),
    ),
    (
        "Tests the reward model wrote",
        "share of tests, against the policy's programs",
        "share",
        (
            ("judge_quality.ut", "every correct program passes", "green"),
            ("judge_quality.detect", "and every wrong one fails", "violet"),
            ("judge_quality.unreadable", "no test in the answer", "grey"),
        ),
    ),
    (
        "Votes against outcomes",
        "probability; above 1 informs",
        "count",
        (
            ("feedback.mu", "mu = p+ + p−", "violet"),
            ("feedback.p_plus", "p+", "green"),
            ("feedback.p_minus", "p−", "red"),
            ("feedback.unparsable_rate", "share that cannot be read", "grey"),
        ),
    ),
    (
        "Groups that teach",
        "share of groups",
        "share",
        (
            ("groups.spread", "outcomes differ", "red"),
            ("feedback.policy_kept", "the policy", "blue"),
            ("feedback.judge_kept", "the reward model", "violet"),
            ("feedback.policy_format", "the policy, its format alone", "green"),
            ("feedback.judge_format", "the reward model, its format alone", "amber"),
            ("feedback.mixed_rate", "steps with mixed votes", "grey"),
        ),
    ),
    ("Turns per episode", "mean", "count", (("turns.episode", "turns", "blue"),)),
    ("Tokens per answer", "sampled tokens, mean", "count", (("turns.tokens", "tokens", "blue"),)),
    (
        "Learning rate",
        "of AdamW",
        "count",
        (("policy.learning_rate", "policy", "blue"), ("judge.learning_rate", "reward model", "violet")),
    ),
    (
        "Gradient norm",
        "before clipping",
        "count",
        (("policy.grad_norm", "policy", "blue"), ("judge.grad_norm", "reward model", "violet")),
    ),
    ("Policy: loss", "loss", "free", (("policy.loss", "policy loss", "blue"),)),
    ("Reward model: loss", "loss", "free", (("judge.loss", "reward model loss", "violet"),)),
    ("Policy: KL of the update", "nats", "free", (("policy.kl", "policy", "blue"),)),
    ("Reward model: KL of the update", "nats", "free", (("judge.kl", "reward model", "violet"),)),
    (
        "Sampler against trainer: KL",
        "nats a token",
        "count",
        (("policy.sampler_kl", "policy", "blue"), ("judge.sampler_kl", "reward model", "violet")),
    ),
    (
        "Sampler against trainer: largest ratio",
        "factor of a token's probability",
        "count",
        (("policy.sampler_ratio", "policy", "blue"), ("judge.sampler_ratio", "reward model", "violet")),
    ),
    (
        "Clipped tokens",
        "share",
        "share",
        (("policy.clip_fraction", "policy", "blue"), ("judge.clip_fraction", "reward model", "violet")),
    ),
    (
        "Entropy",
        "nats a token",
        "count",
        (("policy.entropy", "policy", "blue"), ("judge.entropy", "reward model", "violet")),
    ),
    (
        "Drift of the tasks",
        "distance of the goals",
        "share",
        (
            ("curriculum.drift", "from their roots, mean", "blue"),
            ("curriculum.drift_max", "farthest slot", "red"),
            ("curriculum.diversity", "between slots", "violet"),
        ),
    ),
    (
        "Seconds per iteration",
        "s",
        "count",
        (
            ("seconds.rollout", "rollout", "blue"),
            ("seconds.judge", "judge", "violet"),
            ("seconds.policy_update", "policy update", "amber"),
            ("seconds.judge_update", "judge update", "red"),
        ),
    ),
)


def draw(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All charts with data and their points; a row without a number is a gap (None).

    Of lines that are 0 throughout, such as the share of an error that did not happen, a chart shows only the first.
    """
    charts = []
    for title, unit, kind, lines in CHARTS:
        series = [(label, colour, [_short(pick(row, key)) for row in rows]) for key, label, colour in lines]
        known = [line for line in series if any(point is not None for point in line[2])]
        drawn = [
            {"label": label, "colour": colour, "points": points}
            for label, colour, points in known[:1] + [line for line in known[1:] if any(line[2])]
        ]
        if drawn and not (kind == "count" and not any(any(points) for _, _, points in known)):
            charts.append({"title": title, "unit": unit, "kind": kind, "lines": drawn})
    return charts


def pick(row: Mapping[str, Any], dotted: str) -> float | None:
    """The finite number at a dotted key of a metrics row; None where there is none."""
    value: Any = row
    for part in dotted.split("."):
        value = mapping(value).get(part)
    return number(value)


def _short(value: float | None) -> float | None:
    """Round to five significant digits, more than a chart can show."""
    return None if value is None else float(f"{value:.5g}")
