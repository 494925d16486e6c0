"""Did a run learn? One sentence from its held-out evaluations, and why not from its alarms, with keys to turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.monitors.signatures import Health

__all__ = ["Verdict", "apart", "verdict"]

REASONS = 3
"""Maximum number of reasons."""
LASTING = 0.5
"""Share of the iterations with alarms of a signature from which on they are a reason, unless the last one has some."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a run learnt, in words.

    Attributes:
        kind: ``learnt``: a panel's interval rose above the one before, and none fell below; ``worse``: the opposite;
            ``mixed``: both; ``unchanged``: neither; ``unknown``: no panel was measured twice.
        text: One sentence.
        why: Where it did not learn: what the monitors saw, each with a key to turn.
    """

    kind: Literal["learnt", "worse", "mixed", "unchanged", "unknown"]
    text: str
    why: tuple[str, ...] = ()


def apart(before: Sequence[float | None] | None, after: Sequence[float | None] | None) -> int:
    """1 if the second interval lies wholly above the first, -1 if below; 0 if they overlap, or an end is not known."""
    low, high = before or (None, None)
    new_low, new_high = after or (None, None)
    if low is None or high is None or new_low is None or new_high is None:
        return 0
    return int(new_low > high) - int(new_high < low)


def verdict(
    panels: Mapping[str, Sequence[Mapping[str, Any]]], found: Sequence[Health], iterations: int, *, finished: bool
) -> Verdict:
    """Say whether a run learnt.

    Args:
        panels: Evaluations of each panel in order, each with ``rate``, ``low`` and ``high`` from 0 to 1.
        found: Health of the run, see `rlanything_agents.runs.monitors.health`.
        iterations: Number of iterations so far.
        finished: Whether the last evaluation is the one after the loop.
    """
    ends = {
        name: (points[0], points[-1])
        for name, points in panels.items()
        if len(points) > 1 and None not in (points[0].get("rate"), points[-1].get("rate"))
    }
    if not ends:
        return Verdict("unknown", "Not known yet whether it learnt: held-out tasks were not measured a second time.")
    moved = {name: apart(*((point.get("low"), point.get("high")) for point in pair)) for name, pair in ends.items()}
    up, down = 1 in moved.values(), -1 in moved.values()
    kind: Literal["learnt", "worse", "mixed", "unchanged"] = (
        "mixed" if up and down else "learnt" if up else "worse" if down else "unchanged"
    )
    noise = "95 % intervals overlap" if kind == "unchanged" else "95 % intervals apart"
    noisy = {name for name, move in moved.items() if not move and kind != "unchanged"}
    changes = [
        f"{name} {percent(old['rate'])} → {percent(new['rate'])}{' (noise)' if name in noisy else ''}"
        for name, (old, new) in ends.items()
    ]
    text = f"{HEADS[kind] if finished else SO_FAR[kind]}: success on held-out tasks, {', '.join(changes)}; {noise}."
    return Verdict(kind, text, () if kind == "learnt" else _reasons(found, iterations))


HEADS = {
    "learnt": "The policy learnt",
    "worse": "The policy got worse",
    "mixed": "The policy got better on some tasks and worse on others",
    "unchanged": "No measurable change",
}
SO_FAR = {kind: f"So far: {head[0].lower()}{head[1:]}" for kind, head in HEADS.items()}


def _reasons(found: Sequence[Health], iterations: int) -> tuple[str, ...]:
    """Alarms of most of the run, or of its end, the most lasting and those of the policy first."""
    lasting = [
        line
        for line in found
        if line.iterations and (len(line.iterations) >= LASTING * iterations or line.iterations[-1] == iterations)
    ]
    lasting.sort(key=lambda line: (-len(line.iterations), line.name != "policy_collapse"))
    told = tuple(f"{line.said} (iterations {line.when})" for line in lasting[:REASONS])
    return told or (
        "no alarm was raised: train longer (iterations), or measure on more tasks (evaluation.episodes) to see a "
        "smaller change",
    )
