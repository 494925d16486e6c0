"""Task records: frozen, identified by content, and safe to read from anywhere."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rlanything_task_pools import Outcome, Rewrite, Task, TaskFormatError
from rlanything_task_pools.frozen import MAX_DEPTH, FrozenDict, freeze

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4))
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)
REWRITES = st.builds(
    Rewrite,
    direction=st.sampled_from(["harder", "easier"]),
    author=st.text(min_size=1, max_size=20),
    change=OBJECTS,
    critique=st.text(),
)
TASKS = st.builds(
    Task,
    domain=st.text(min_size=1, max_size=20),
    goal=st.text(min_size=1, max_size=50),
    payload=OBJECTS,
    proof=st.lists(st.text(), max_size=4).map(tuple),
    traits=st.dictionaries(st.text(), st.booleans() | st.integers() | st.text(), max_size=4),
    parent=st.none() | st.text(),
    root=st.none() | st.text(),
    rewrite=st.none() | REWRITES,
)

SMALL = Task(domain="d", goal="g", payload={"b": [1, {"c": None}], "a": "é"})


@given(TASKS)
def test_json_round_trip(task: Task) -> None:
    again = Task.from_json(task.to_json())
    assert again == task
    assert again.id == task.id
    assert again.to_json() == task.to_json()
    assert pickle.loads(pickle.dumps(task)) == task


@given(st.sampled_from(sorted(Task.model_fields)), JSON)
def test_one_wrong_field(field: str, value: object) -> None:
    record = json.loads(SMALL.to_json()) | {field: value}
    try:
        task = Task.from_dict(record)
    except TaskFormatError:
        with pytest.raises(TaskFormatError, match=field):
            Task.from_dict(record)
        return
    assert json.loads(task.to_json())[field] == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"domain":"d","goal":"g","payload":{"x":NaN}}',
        '{"domain":"d","goal":"g","payload":{"x":1e999}}',
        '{"domain":"d","goal":"g","payload":' + '{"a":' * 100 + "1" + "}" * 101,
        '{"domain":"d","goal":"g","payload":{},"surprise":1}',
        '{"domain":"d","goal":"g","payload":[]}',
        '{"domain":"","goal":"g","payload":{}}',
        '{"domain":"d","goal":"g","payload":{},"proof":"look"}',
        '{"domain":"d","goal":"g","payload":{},"traits":{"a":[1]}}',
        '{"domain":"d","goal":"g","payload":{},"rewrite":{"direction":"up","author":"a","change":{}}}',
        '{"domain":"d","goal":"g","payload":{"x":' + "9" * 5000 + "}}",
    ],
)
def test_hostile_json(text: str) -> None:
    with pytest.raises(TaskFormatError):
        Task.from_json(text)


def test_too_large_is_not_parsed() -> None:
    with pytest.raises(TaskFormatError, match="not read"):
        Task.from_json(" " * 5_000_000)


def test_depth_limit_is_exact() -> None:
    def nested(levels: int) -> object:
        value: object = 1
        for _ in range(levels):
            value = [value]
        return value

    freeze(nested(MAX_DEPTH))
    with pytest.raises(ValueError, match="deeper"):
        freeze(nested(MAX_DEPTH + 1))


def test_its_repr_fits_an_error_message() -> None:
    world = {"things": [{"name": f"thing {n}"} for n in range(1000)]}
    task = Task(domain="demo", goal="put it there", payload=world, proof=("go",) * 100)
    assert repr(task) == f"Task(id='{task.id}', goal='put it there')"


def test_known_id_and_what_it_depends_on() -> None:
    # SHA-256 of '["d","g",{"a":"\\u00e9","b":[1,{"c":null}]}]', by hand with sha256sum.
    assert SMALL.id == "d-10ded7d3349c7139"
    moved = SMALL.model_copy(update={"parent": "p", "root": "r", "traits": {"x": 1}, "proof": ("go",)})
    assert moved.id == Task.from_json(moved.to_json()).id == SMALL.id
    assert SMALL.model_copy(update={"goal": "h"}).id == Task(domain="d", goal="h", payload=SMALL.payload).id
    assert Task(domain="d", goal="h", payload=SMALL.payload).id != SMALL.id
    assert Task(domain="d", goal="g", payload={"a": "é"}).id != SMALL.id
    assert Task(domain="d", goal="g", payload={"a": "é", "b": (1, {"c": None})}).id == SMALL.id


def test_nothing_can_be_changed() -> None:
    payload = {"list": [1], "map": {"x": 1}}
    task = Task(domain="d", goal="g", payload=payload)
    before = task.to_json()
    payload["list"].append(2)  # type: ignore[attr-defined]
    payload["map"]["x"] = 2  # type: ignore[index]
    assert task.to_json() == before
    for change in (
        lambda: task.payload["map"].update(x=2),
        lambda: task.payload.__setitem__("map", 1),  # type: ignore[attr-defined]
        lambda: task.traits.__setitem__("x", 1),  # type: ignore[attr-defined]
        lambda: task.payload.pop("map"),  # type: ignore[attr-defined]
        lambda: task.payload["list"].append(3),
        lambda: task.payload.__ior__({"y": 1}),  # type: ignore[attr-defined]
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    with pytest.raises(ValidationError):
        task.goal = "other"  # type: ignore[misc]
    assert task.to_json() == before


def test_frozen_dict_copies() -> None:
    frozen = freeze({"a": {"b": [1]}})
    assert freeze(frozen) is frozen
    assert copy.deepcopy(frozen) == frozen == pickle.loads(pickle.dumps(frozen))
    assert isinstance(pickle.loads(pickle.dumps(frozen))["a"], FrozenDict)
    assert {**frozen, "c": 1} == {"a": {"b": (1,)}, "c": 1}


@pytest.mark.parametrize(
    "wrong", [{"score": float("nan")}, {"steps": -1}, {"role": "other"}, {"success": 1}, {"success": "yes"}]
)
def test_outcome_is_checked(wrong: dict[str, object]) -> None:
    fields: dict[str, object] = {"success": True, "score": 1.0, "steps": 3, "actor": "a", "role": "active"}
    Outcome(**fields)  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Outcome(**(fields | wrong))  # type: ignore[arg-type]
