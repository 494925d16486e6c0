"""The sentence on whether a run learnt: by intervals that are apart, and with the alarms that lasted."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.runs.monitors import Health, apart, verdict

LOW, HIGH, NEAR = (0.30, 0.28, 0.32), (0.60, 0.58, 0.62), (0.33, 0.31, 0.35)


def point(rate: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    return {"rate": rate, "low": low, "high": high}


def panels(**ends: tuple[tuple[float, float, float], ...]) -> dict[str, list[dict[str, Any]]]:
    return {name: [point(*one) for one in points] for name, points in ends.items()}


@pytest.mark.parametrize(
    ("seen", "unseen", "kind", "text"),
    [
        (
            (LOW, LOW, HIGH), (LOW, NEAR), "learnt",
            "The policy learnt: success on held-out tasks, seen 30.0 % → 60.0 %, unseen 30.0 % → 33.0 % (noise); "
            "95 % intervals apart.",
        ),
        ((HIGH, LOW), (HIGH, HIGH), "worse", "The policy got worse: success on held-out tasks, seen 60.0 % → 30.0 %"),
        ((HIGH, LOW), (LOW, HIGH), "mixed", "The policy got better on some tasks and worse on others"),
        ((LOW, NEAR), (NEAR, LOW), "unchanged", "No measurable change: success on held-out tasks, seen 30.0 %"),
        ((LOW,), (LOW,), "unknown", "Not known yet"),
    ],
)  # fmt: skip
def test_the_kind_follows_from_intervals_that_are_apart(seen: Any, unseen: Any, kind: str, text: str) -> None:
    found = verdict(panels(seen=seen, unseen=unseen), [], 12, finished=True)
    assert found.kind == kind
    assert found.text.startswith(text)
    assert bool(found.why) == (kind in ("worse", "mixed", "unchanged"))


def test_the_reasons_are_the_alarms_that_lasted_or_are_there_at_the_end() -> None:
    found = [
        Health("judge_collapse", "", (11, 12), "no samples"),
        Health("reward_hacking", "", (2, 3), "votes rise"),
        Health("policy_collapse", "", tuple(range(2, 13)), "too hard: curriculum.knobs"),
        Health("task_drift", "", (), ""),
    ]
    told = verdict(panels(seen=(LOW, NEAR)), found, 12, finished=False)
    assert told.text.startswith("So far: no measurable change")
    assert told.why == ("too hard: curriculum.knobs (iterations 2-12)", "no samples (iterations 11-12)")
    assert "train longer" in verdict(panels(seen=(LOW, NEAR)), found[3:], 12, finished=True).why[0]


ENDS = st.none() | st.tuples(*[st.none() | st.floats(0, 1)] * 2)


@given(ENDS, ENDS)
def test_unknown_ends_are_never_apart_and_order_turns_the_sign(one: Any, other: Any) -> None:
    assert apart(one, other) in ((-1, 0, 1) if one and other and None not in (*one, *other) else (0,))
    if one is None or other is None or None in (*one, *other) or one[0] > one[1] or other[0] > other[1]:
        return
    assert apart(one, other) == -apart(other, one)
