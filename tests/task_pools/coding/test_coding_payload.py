"""Payloads are complete, bounded and consistent, or refused by name."""

from typing import Any

import pytest
from coding_problems import STATEMENT, sum_payload, sum_task
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from rlanything_task_pools import Task
from rlanything_task_pools.coding import TaskLimits, make_task, read_payload
from rlanything_task_pools.coding.payload import MAX_TEXT
from rlanything_task_pools.task import TaskFormatError


def test_defaults_are_tokens_two_seconds_and_half_a_gibibyte() -> None:
    payload = read_payload(sum_payload())
    assert payload.checker == {"kind": "tokens"}
    assert payload.limits == TaskLimits(cpu=2.0, memory=512 * 2**20)
    assert [test.stdin for test in payload.tests] == ["1 2\n", "2 2\n", "-5 3\n"]
    assert (payload.entry_point, payload.family, dict(payload.knobs)) == (None, None, {})


def test_a_task_comes_back_from_json_with_the_same_payload_and_id() -> None:
    task = sum_task()
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.id == task.id
    assert read_payload(again.payload) == read_payload(task.payload)
    assert task.goal == STATEMENT


def test_a_long_statement_is_cut_in_the_goal_only() -> None:
    statement = "x" * 30_000
    task = make_task(read_payload(sum_payload(statement=statement)))
    assert len(task.goal) == 10_000
    assert task.goal.endswith("\n[...]")
    assert task.payload["statement"] == statement


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"hidden": []}, "hidden"),
        ({"statement": ""}, "statement"),
        ({"statement": 3}, "statement"),
        ({"extra": 1}, "extra"),
        ({"hidden": [{"stdin": "1"}]}, "hidden.0.stdout"),
        ({"hidden": [{"stdin": "1", "stdout": 2}]}, "hidden.0.stdout"),
        ({"hidden": [{"stdin": "x" * (MAX_TEXT + 1), "stdout": ""}]}, "hidden.0.stdin"),
        ({"hidden": [{"stdin": str(i) + "x" * 999_000, "stdout": ""} for i in range(4)]}, "3000000 bytes of JSON"),
        ({"hidden": [{"stdin": "1\n" * 490_000, "stdout": str(i)} for i in range(3)]}, "3000000 bytes of JSON"),
        ({"hidden": [{"stdin": "1 2\n", "stdout": "4\n"}]}, "different outputs for the input '1 2"),
        ({"checker": {"kind": "magic"}}, "checker kind 'magic' is unknown"),
        ({"checker": {"kind": "float", "abs": -1}}, "abs"),
        ({"limits": {"cpu": 0}}, "limits.cpu"),
        ({"limits": {"cpu": float("inf")}}, "limits"),
        ({"limits": {"memory": 1}}, "limits.memory"),
        ({"entry_point": "os.system"}, "entry_point"),
        ({"entry_point": "f\n"}, "entry_point"),
        ({"knobs": {"size": [1]}}, "knobs"),
        ({"wrong": ["x" * 70_000]}, "wrong.0"),
        ({"wrong": ["pass"] * 40}, "wrong"),
    ],
)
def test_bad_fields_are_refused_by_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskFormatError, match=message):
        read_payload(sum_payload(**fields))


@given(st.dictionaries(st.sampled_from([*sum_payload(), "checker", "limits", "entry_point", "x"]), JSON, max_size=4))
def test_any_json_is_read_or_refused(fields: dict[str, Any]) -> None:
    try:
        payload = read_payload(sum_payload(**fields))
    except TaskFormatError:
        return
    assert read_payload(payload.to_dict()) == payload
