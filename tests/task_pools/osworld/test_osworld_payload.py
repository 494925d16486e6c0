"""Payloads and imported task files: untrusted data either becomes a task or an error that names the place."""

import base64
import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_task_pools.osworld import (
    DOMAIN,
    asset_urls,
    file_of,
    generate,
    import_folder,
    import_task,
    load,
    read_payload,
)
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.osworld import EvaluatorError

RULE = {"type": "rule", "rules": {"expected": "yes"}}
EVALUATOR = {"func": "exact_match", "result": {"type": "vm_command_line", "command": "cat /tmp/x"}, "expected": RULE}
PAYLOAD = {
    "instruction": "Do it",
    "config": [{"type": "launch", "parameters": {"command": ["gimp"]}}],
    "evaluators": {"evaluator1": EVALUATOR},
    "instructions": {"evaluator1": "Do it"},
    "current": "evaluator1",
}
FILE = {
    "id": "a",
    "snapshot": "os",
    "instruction": "Do it",
    "config": [{"type": "execute", "parameters": {"command": "true", "shell": True}}],
    "related_apps": ["os"],
    "evaluator": EVALUATOR,
}


def changed(value: dict, path: str, new: object) -> dict:
    """A copy with one value changed; `...` removes it."""
    made = spot = copy.deepcopy(value)
    *steps, last = path.split(".")
    for step in steps:
        spot = spot[int(step)] if isinstance(spot, list) else spot[step]
    if new is ...:
        del spot[last]
    else:
        spot[int(last) if isinstance(spot, list) else last] = new
    return made


def test_a_payload_comes_back_as_it_was():
    payload = read_payload(PAYLOAD)
    assert payload.evaluator == EVALUATOR
    assert read_payload(payload.to_dict()) == payload
    generated = generate(3)
    assert json.loads(json.dumps(read_payload(generated.payload).to_dict())) == json.loads(
        json.dumps(generated.payload)
    )


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        ("instruction", ..., "instruction"),
        ("instruction", "", "instruction"),
        ("instruction", 5, "instruction"),
        ("current", "evaluator2", "current: 'evaluator2' is none of the evaluators evaluator1"),
        ("evaluators", {}, "evaluators"),
        ("evaluators", {"a b": EVALUATOR}, "evaluators"),
        ("instructions", {}, "instructions"),
        ("instructions", {"other": "x"}, "instructions: they are for other"),
        ("config.0.type", "format_disk", "config.0: the step type 'format_disk' is unknown; there are activate_window"),
        ("config.0.parameters", [], "config.0.parameters"),
        ("config.0", "x", "config.0"),
        ("hints", {"evaluator9": ["x"]}, "hints: 'evaluator9'"),
        ("hints", {"evaluator1": ["x"] * 50}, "hints.evaluator1"),
        ("steps", {"evaluator1": -1}, "steps.evaluator1"),
        ("more", 1, "more"),
    ],
)
def test_payloads_that_are_none(path, new, message):
    with pytest.raises(TaskFormatError, match=message.replace("(", r"\(")):
        read_payload(changed(PAYLOAD, path, new))


def test_a_payload_too_large():
    with pytest.raises(TaskFormatError, match="more than 2000000 characters"):
        read_payload(changed(PAYLOAD, "source", {"x": "y" * 2_000_000}))


def test_unknown_functions_are_refused_when_a_task_is_read():
    with pytest.raises(EvaluatorError, match="'judge_by_feeling'"):
        read_payload(changed(PAYLOAD, "evaluators.evaluator1.func", "judge_by_feeling"))
    with pytest.raises(EvaluatorError, match="'crystal_ball'"):
        import_task(changed(FILE, "evaluator.result.type", "crystal_ball"))


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"path": "/x"},
        {"path": "/x", "text": "a", "base64": "YQ=="},
        {"path": "/x", "base64": "%%"},
        {"path": "/x", "text": 5},
        {"path": "/x", "base64": base64.b64encode(b"x" * 64_001).decode()},
        {"path": "x", "text": "a"},
        {"path": "/a/../etc/passwd", "text": "a"},
        {"path": "//x", "text": "a"},
        {"path": "/x\0", "text": "a"},
        {"path": 5, "text": "a"},
        {"path": "/x", "text": "a", "mode": "777"},
        {"path": "/x", "text": "\ud800"},
    ],
)
def test_files_that_a_task_cannot_carry(parameters):
    with pytest.raises(TaskFormatError, match="write_file"):
        file_of(parameters)
    with pytest.raises(TaskFormatError):
        read_payload(changed(PAYLOAD, "config.0", {"type": "write_file", "parameters": parameters}))


@given(st.binary(max_size=2000))
def test_files_that_a_task_carries(data):
    assert file_of({"path": "~/a b/é", "base64": base64.b64encode(data).decode()}) == ("~/a b/é", data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(FILE)), JSON)
def test_any_field_may_be_anything(name, value):
    try:
        task = import_task({**FILE, name: value})
    except (TaskFormatError, EvaluatorError):
        return
    assert DOMAIN.verify(task) is None


# --- published files ---


def test_every_published_task_is_read(osworld_data):
    tasks, refused = import_folder(osworld_data)
    files = sorted(osworld_data.rglob("*.json"))
    assert not refused
    assert len(tasks) == len(files) >= 14
    by_id = {task.payload["source"]["id"]: task for task in tasks}
    for file in files:
        row = json.loads(file.read_text())
        task = by_id[row["id"]]
        payload = read_payload(task.payload)
        assert [step.type for step in payload.config] == [step["type"] for step in row["config"]]
        listed = row.get("evaluator_list", {"evaluator1": row["evaluator"]})
        assert payload.evaluators == listed
        assert payload.instructions == row.get("task_template", {"evaluator1": row["instruction"]})
        assert {payload.current: task.goal} == row.get("current_task", {"evaluator1": row["instruction"]})
        assert DOMAIN.verify(task) is None
        assert DOMAIN.load(file) == task
        assert set(asset_urls(payload)) == {part for part in json.dumps(row).split('"') if "/resolve/main/" in part}


def test_infeasible_tasks_say_so(osworld_data):
    tasks, _ = import_folder(osworld_data / "upstream")
    infeasible = [task for task in tasks if task.traits.get("infeasible")]
    assert len(infeasible) == 2
    assert all(task.payload["evaluators"]["evaluator1"]["func"] == "infeasible" for task in infeasible)


def test_load_names_file_and_place(tmp_path):
    path = tmp_path / "task.json"
    with pytest.raises(TaskFormatError, match=r"task\.json: cannot be read"):
        load(path)
    path.write_text("{")
    with pytest.raises(TaskFormatError, match=r"task\.json: not JSON"):
        load(path)
    path.write_text("[" * 100_000)
    with pytest.raises(TaskFormatError, match=r"task\.json: not JSON"):
        load(path)
    path.write_text("[]")
    with pytest.raises(TaskFormatError, match=r"task\.json: expected a JSON object, got list"):
        load(path)
    path.write_text(json.dumps(changed(FILE, "evaluator", ...)))
    with pytest.raises(TaskFormatError, match="evaluator: the field is missing"):
        load(path)
    path.write_text(json.dumps(changed(FILE, "evaluator.func", "nothing")))
    with pytest.raises(EvaluatorError):
        load(path)
    path.write_text(json.dumps({**FILE, "current_task": {}, "evaluator_list": {}, "task_template": {}}))
    with pytest.raises(TaskFormatError, match="current_task: expected just one evaluator, there are 0"):
        load(path)
    with pytest.raises(TaskFormatError, match="no such folder"):
        import_folder(path)
    _, refused = import_folder(tmp_path)
    assert list(refused) == [str(path)]


def test_load_reads_our_own_tasks(tmp_path):
    task = generate(1)
    path = tmp_path / "own.json"
    path.write_text(task.to_json())
    assert load(path) == task
    path.write_text(task.to_json().replace('"domain":"osworld"', '"domain":"coding"'))
    with pytest.raises(TaskFormatError, match="of the domain 'coding'"):
        load(path)
