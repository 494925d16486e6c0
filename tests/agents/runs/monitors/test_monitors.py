"""Each signature on rows that have it and on rows that have not; numbers that are no numbers; nothing else raised."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.monitors import SIGNATURES, behaviour, health, watch
from rlanything_agents.runs.monitors.series import Series, pick

HEALTHY: dict[str, Any] = {
    "success": {"active": 0.4},
    "feedback": {
        "p_plus": 0.8, "p_minus": 0.5, "mu": 1.3, "mixed_rate": 0.2, "unparsable_rate": 0.0, "policy_kept": 0.5,
        "silent_kept": 0.0,
    },
    "judge_quality": {"process_balanced": 0.7},
    "policy": {"entropy": 0.3, "kl": 0.002, "loss": 0.01, "grad_norm": 0.5},
    "judge": {"loss": 0.01},
    "tasks": {"slots": 16},
    "curriculum": {
        "drift": 0.3, "diversity": 0.66, "far": [], "duplicates": 0, "proposed": 40, "accepted": 20,
        "rejected": {"too-hard": 10}, "discarded": {"no-proposal": 2},
    },
    "behaviour": {"errors": 0.0, "vote_won": 0.6, "vote_lost": -0.1, "repeated": 0.05, "words": 6.0},
}  # fmt: skip


def changed(**values: Any) -> dict[str, Any]:
    """A healthy row with other values at dotted keys, written with two underscores."""
    row = json.loads(json.dumps(HEALTHY))
    for dotted, value in values.items():
        *sections, key = dotted.split("__")
        part = row
        for section in sections:
            part = part.setdefault(section, {})
        part[key] = value
    return row


def run(healthy: int, *rows: dict[str, Any], times: int = 5) -> list[dict[str, Any]]:
    """So many healthy iterations, then others, each so many times."""
    found = [changed() for _ in range(healthy)] + [row for row in rows for _ in range(times)]
    return [{"iteration": number, **row} for number, row in enumerate(found, 1)]


def test_healthy_runs_raise_no_alarm() -> None:
    rows = run(30)
    assert all(watch(rows[:end]) == {} for end in range(1, 31))
    assert watch([]) == {}


@pytest.mark.parametrize(
    ("signature", "sick", "said"),
    [
        ("judge_collapse", {"feedback__p_plus": 0.0, "feedback__p_minus": 1.0}, "0 % of the votes on"),
        ("judge_collapse", {"feedback__p_plus": 1.0, "feedback__p_minus": 0.02}, "2 % of the votes on"),
        ("judge_collapse", {"feedback__mu": 0.98}, "mu = p+ + p- is 0.98"),
        ("judge_collapse", {"feedback__mixed_rate": 0.001}, "differ on only 0.1 %"),
        ("judge_collapse", {"feedback__unparsable_rate": 0.5}, "50 % of the reward model's answers cannot be read"),
        ("judge_collapse", {"judge_quality__process_balanced": 0.5}, "no better than chance"),
        ("judge_collapse", {"judge_quality__process_balanced": 0.58}, "has fallen by 12 points"),
        ("judge_collapse", {"judge__loss": float("nan")}, "loss is not a number"),
        ("judge_collapse", {"behaviour__judge_idle": 1.0}, "no sample to learn from in 100 % of the iterations"),
        ("reward_hacking", {"behaviour__vote_lost": 0.5, "success__active": 0.35}, "risen by 0.60"),
        ("reward_hacking", {"behaviour__repeated": 0.5}, "50 % of the steps repeat"),
        ("policy_collapse", {"feedback__policy_kept": 0.0}, "0 % of the groups gave the policy a gradient"),
        ("policy_collapse", {"curriculum__below": 1.0}, "100 % of the groups are too hard"),
        ("policy_collapse", {"curriculum__above": 0.98}, "98 % of the groups are too easy: take harder tasks"),
        ("policy_collapse", {"actions__readable": 0.4}, "60 % of the policy's answers contain no readable action"),
        ("policy_collapse", {"policy__entropy": 0.002}, "almost deterministic"),
        ("policy_collapse", {"policy__entropy": 1.2}, "4.0 times what it was"),
        ("policy_collapse", {"policy__kl": 3.0}, "3.00 nats a token"),
        ("policy_collapse", {"policy__loss": float("nan")}, "loss is not a finite number"),
        ("policy_collapse", {"policy__grad_norm": float("inf")}, "grad_norm is not a finite number"),
        ("policy_collapse", {"behaviour__words": 60.0}, "60 words; at first it had 6"),
        ("policy_collapse", {"behaviour__words": 1.0}, "1 words; at first it had 6"),
        ("policy_collapse", {"success__active": 0.0}, "success fell from 40 % to 0 %"),
        ("task_drift", {"curriculum__far": [1, 2, 3, 4]}, "25 % of the tasks are far"),
        ("task_drift", {"curriculum__duplicates": 8}, "50 % of the slots hold a duplicate"),
        ("task_drift", {"curriculum__drift": 0.8}, "roots is 0.80"),
        ("task_drift", {"curriculum__diversity": 0.2}, "30 % of the first diversity"),
        ("infrastructure", {"behaviour__errors": 0.2}, "20 % of the episodes ended in an infrastructure error"),
        ("infrastructure", {"rewriter": {"requests": 8, "unanswered": 1, "skipped": 7}}, "40 of 40 requests"),
    ],
)  # fmt: skip
def test_a_signature_is_seen_where_it_is_and_only_then(signature: str, sick: dict[str, Any], said: str) -> None:
    rows = run(10, changed(**sick))
    found = watch(rows)
    assert list(found) == [signature]
    assert any(said in line for line in found[signature]), found
    assert watch(rows[:10]) == {}


def test_one_bad_iteration_is_none() -> None:
    for sick in ({"feedback__p_plus": 0.0}, {"feedback__mu": 0.5}, {"judge__kl": 489.0}, {"policy__kl": 9.0}):
        assert watch(run(10, changed(**sick), times=1)) == {}


def test_a_judge_that_is_kinder_because_the_policy_is_better_is_no_hacking() -> None:
    better = changed(behaviour__vote_lost=0.5, behaviour__repeated=0.5, success__active=0.8)
    assert watch(run(10, better)) == {}


def test_votes_that_always_agreed_are_an_oracle_and_no_collapse() -> None:
    assert watch([{"iteration": 1, **changed(feedback__mixed_rate=0.0)}] * 12) == {}


def test_a_rewriter_of_no_use_is_seen_but_its_service_is_not_blamed_on_it() -> None:
    nonsense = changed(curriculum__proposed=40, curriculum__discarded={"no-proposal": 2, "no_json": 30})
    assert watch(run(10, nonsense))["task_drift"][0].startswith("0 of 30 proposals could be proved")
    outage = changed(curriculum__discarded={"no-proposal": 2, "generator_error": 300})
    assert watch(run(10, outage)) == {}
    missed = changed(curriculum__rejected={"too-hard": 40}, curriculum__unsolved=14)
    assert watch(run(10, missed))["task_drift"] == [f"0 of 30 tried tasks were accepted: {SIGNATURES[3].turn}"]
    unsolved = changed(curriculum__rejected={"not-easier": 22}, curriculum__unsolved=6)
    assert "6 of 12 trials compared a task never solved" in watch(run(10, unsolved))["task_drift"][0]


def test_every_episode_of_one_iteration_lost_is_worth_a_word_at_once() -> None:
    assert list(watch(run(1, changed(behaviour__errors=1.0), times=1))) == ["infrastructure"]


def test_a_run_shorter_than_the_window_has_alarms_too() -> None:
    silent = changed(feedback__unparsable_rate=1.0, actions__readable=0.0)
    alarms = watch(run(0, silent, times=1))
    judge, policy = (SIGNATURES[number].turn for number in (0, 2))
    assert alarms["judge_collapse"] == [f"100 % of the reward model's answers cannot be read: {judge}"]
    assert alarms["policy_collapse"] == [f"100 % of the policy's answers contain no readable action: {policy}"]
    untaught = run(0, changed(feedback__policy_kept=0.0), times=3)
    assert watch(untaught) == {}, "three of many iterations tell little"
    (ended,) = watch(untaught, 3)["policy_collapse"]
    assert ended.startswith("0 % of the groups gave the policy a gradient, 40 % of the episodes are solved: lower ")
    assert "`rlanything pool profile RUN --agent run:RUN`" in ended
    assert watch(untaught[:2], 3) == {}


def test_the_health_of_a_run_names_the_spells() -> None:
    sick = {"judge_collapse": ["mu is low"]}
    rows = [{"iteration": n, "alarms": sick if n in (3, 4, 5, 9) else {}} for n in range(1, 11)] + [{"iteration": 11}]
    first, *others = health(rows)
    assert (first.name, first.when) == ("judge_collapse", "3-5, 9")
    assert first.said == "mu is low"
    assert [(other.when, other.said) for other in others] == [("", "")] * (len(SIGNATURES) - 1)


def test_who_watches_is_no_part_of_a_run() -> None:
    watched = RunConfig.model_validate({"name": "a", "monitors": {"stop": ["judge_collapse"]}})
    assert watched.monitors.stop == ("judge_collapse",)
    assert "monitors" not in watched.model_dump(mode="json")
    with pytest.raises(ValueError, match="judge_colapse"):
        RunConfig.model_validate({"name": "a", "monitors": {"stop": ["judge_colapse"]}})


# -- what episodes show ----------------------------------------------------------------------------------------


def episode(outcome: int | None, *turns: tuple[str, list[int | None]]) -> dict[str, Any]:
    return {"outcome": outcome, "turns": [{"thought": "I try", "action": a, "votes": v} for a, v in turns]}


def test_behaviour_by_hand() -> None:
    found = behaviour(
        [
            episode(1, ("go 1", [1, 1, None]), ("take 2", [1, -1, 1])),
            episode(-1, ("go 1", [-1, -1]), ("go 2", [-1, 1]), ("go 1", [None, None]), ("go 1", [])),
            episode(None, ("look", [1])),
        ]
    )
    assert found == {
        "errors": pytest.approx(1 / 3, abs=1e-4),
        "vote_won": pytest.approx(0.6),
        "vote_lost": pytest.approx(-0.5),
        "repeated": pytest.approx(2 / 6, abs=1e-4),
        "words": 4.0,
    }
    assert behaviour([]) == {"errors": None, "vote_won": None, "vote_lost": None, "repeated": None, "words": None}


# -- series ----------------------------------------------------------------------------------------------------


def test_now_and_first_are_apart() -> None:
    rows = [{"a": {"b": float(n)}} for n in range(10)]
    assert Series(rows[:9], "a.b", 5).first is None
    series = Series(rows, "a.b", 5)
    assert (series.first, series.now, series.change, series.best) == (2.0, 7.0, 5.0, 7.0)


def test_too_few_values_are_no_measurement() -> None:
    rows: list[dict[str, Any]] = [{"a": 1.0}, {}, {}, {}, {"a": None}]
    assert Series(rows, "a", 5).now is None
    assert Series(rows[:4], "a", 5).now is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers(-5, 5) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=8,
    )
)
def test_whatever_a_row_holds_a_key_gives_a_number_or_none(value: Any) -> None:
    found = pick({"a": value}, "a.b.c")
    assert found is None or isinstance(found, float)


NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([float("nan"), float("inf")]) | st.none()


@given(st.lists(NUMBERS, max_size=15), st.integers(2, 5))
def test_any_series_gives_finite_numbers_or_none(values: list[float | None], window: int) -> None:
    series = Series([{"a": value} for value in values], "a", window)
    known = [value for value in values if value is not None and math.isfinite(value)]
    for found in (series.now, series.first, series.best):
        assert found is None or min(known) - 1e-6 <= found <= max(known) + 1e-6
