"""Another start of a desktop task: what it may have, what proves it, and what a model can write that is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.llm.schema import example_of, form_of_schema
from rlanything_task_pools import Rejection
from rlanything_task_pools.osworld import DOMAIN, generate, import_folder, import_task, keys, read_payload
from rlanything_task_pools.osworld.gate import score
from rlanything_task_pools.osworld.generate import draw_state
from rlanything_task_pools.osworld.guest import FileGuest
from rlanything_task_pools.osworld.kinds import KINDS
from rlanything_task_pools.osworld.start import Origin, read_start
from rlanything_task_pools.task import Refused, Task

DESKTOP = "/home/user/Desktop"
RENAMES = generate(0, kinds="rename_files", difficulty=1)
FOLDER = Origin.of(read_payload(RENAMES.payload)).windows()[0]


def validate(task, proposal):
    return DOMAIN.validate(task, proposal, direction="harder", author="test")


def started(task, instruction=None, **start):
    made = validate(task, {"instruction": instruction, "start": start})
    assert isinstance(made, Task), made
    assert DOMAIN.verify(made) is None
    return made


def refused(task, start, reason):
    found = validate(task, {"start": start})
    assert isinstance(found, Rejection), found
    assert found.reason == reason, found
    assert found.detail


def types(task):
    return [step["type"] for step in task.payload["config"]]


def parts(task):
    return Origin.of(read_payload(task.payload)).several_parts()


def test_one_proposal_decides_evaluator_instruction_and_start():
    task = generate(0, kinds="rename_files", difficulty=0)
    name = "evaluator2"
    words = f"{task.payload['instructions'][name]} {task.payload['hints'][name][0]}"
    renamed = parts(generate(0, kinds="rename_files", difficulty=0.5))[0]
    made = started(task, {name: words}, closed=[FOLDER], done=[renamed])
    assert (made.payload["current"], made.goal) == (name, words)
    assert (types(task)[-1], types(made)[-1]) == ("open", "write_file")
    assert renamed in FileGuest.of(read_payload(made.payload)).files
    assert made.rewrite.change["start"] == {"closed": (FOLDER,), "done": (renamed,)}
    assert made.traits["hints"] == 1
    assert (made.proof, keys(made)) == ((), []), "the known keys are for the other start"


def test_the_schema_lists_the_work_of_every_evaluator():
    task = generate(0, kinds="rename_files", difficulty=0)

    def listed(domain):
        schema = domain.proposal_schema(task)["properties"]["start"]["properties"]
        return schema["done"]["items"]["enum"] if "done" in schema else []

    assert listed(DOMAIN) == [
        *dict.fromkeys([*parts(generate(0, kinds="rename_files", difficulty=0.5)), *parts(RENAMES)])
    ]
    assert listed(DOMAIN.with_operators(["start"])) == [], "one file is the whole work"


def test_a_closed_window_and_back():
    made = started(RENAMES, closed=[FOLDER])
    assert made.payload["config"] == RENAMES.payload["config"][:-1]
    assert made.payload["evaluators"] == RENAMES.payload["evaluators"]
    assert made.traits["difficulty"] > RENAMES.traits["difficulty"]
    kept = validate(made, {"evaluator1": made.payload["instructions"]["evaluator1"]})
    assert types(kept) == types(made), "a proposal in the published form leaves the start as it is"
    back = started(made, closed=[])
    assert back.id == RENAMES.id
    assert back.root == RENAMES.id


def test_a_part_of_the_work_is_done():
    for number, path in enumerate(parts(RENAMES)):
        made = started(RENAMES, done=[path])
        state, start = draw_state("rename_files", "train", 0)[0], FileGuest.of(read_payload(made.payload))
        assert len(start.files) == len(state.files), "the file has another name and is not there twice"
        assert made.traits["difficulty"] < RENAMES.traits["difficulty"]
        assert score(read_payload(made.payload).evaluator, start) == 0
        other = parts(RENAMES)[number - 1]
        assert len(FileGuest.of(read_payload(started(made, done=[path, other]).payload)).files) == len(state.files)
    refused(RENAMES, {"done": list(parts(RENAMES))}, "already_true")


def test_another_evaluator_undoes_what_it_does_not_ask_for():
    last = parts(RENAMES)[-1]
    made = validate(started(RENAMES, done=[last]), {"evaluator1": RENAMES.payload["instructions"]["evaluator1"]})
    assert isinstance(made, Task), made
    assert "start" not in made.payload["source"]
    assert made.id == generate(0, kinds="rename_files", difficulty=0).id


def test_a_file_that_changes_in_place_is_no_part():
    task = generate(0, kinds="write_files", difficulty=0.67)
    assert task.payload["current"] == "evaluator3"
    (new,) = parts(task)
    made = started(task, done=[new])
    old = next(path for path, data in draw_state("write_files", "train", 0)[0].files.items() if data != b"keep\n")
    refused(made, {"done": [old]}, "unknown_part")
    assert FileGuest.of(read_payload(made.payload)).files[old] == FileGuest.of(read_payload(task.payload)).files[old]


def test_copies_lie_on_the_desktop():
    path = next(iter(draw_state("rename_files", "train", 0)[0].files))
    made = started(RENAMES, copies=[path, path])
    files = FileGuest.of(read_payload(made.payload)).files
    assert files[f"{DESKTOP}/old_{path.rpartition('/')[2]}"] == files[path]
    assert len(files) == len(draw_state("rename_files", "train", 0)[0].files) + 1
    profile = generate(0, kinds="bookmarks")
    assert "copies" not in json.dumps(DOMAIN.proposal_schema(profile)), "what a program keeps for itself is not copied"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_random_starts_of_every_kind_are_proved(kind):
    """As a proposer without sense writes them: each is proved by the task's evaluator, or refused with a reason."""
    rng, proved = np.random.default_rng(0), 0
    split = "train" if kind in {task for task in KINDS if generate_kind(task)} else "valid_unseen"
    for seed in range(3):
        task = generate(seed, split, kinds=kind, difficulty=1)
        schema = DOMAIN.with_operators(["start", "evaluator"]).proposal_schema(task)
        assert form_of_schema(schema)
        for _ in range(4):
            made = validate(task, example_of(schema, rng))
            if isinstance(made, Rejection):
                assert made.reason in ("unchanged", "already_true", "in_the_way", "unknown_part"), made
                continue
            proved += 1
            assert DOMAIN.verify(made) is None
            payload = read_payload(made.payload)
            start = FileGuest.of(payload)
            assert score(payload.evaluator, start) == 0
            for step in payload.config:
                path = step.parameters.get("path", "")
                assert step.type != "open" or path in start.files or start.list_directory(path), (
                    "it opens what is there"
                )
    assert proved


def generate_kind(kind):
    from rlanything_task_pools.osworld.generate import HELD_OUT

    return kind not in HELD_OUT


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ({"closed": ["/etc/passwd"]}, "unknown_window"),
        ({"closed": FOLDER}, "malformed"),
        ({"closed": [5]}, "malformed"),
        ({"closed": ["x" * 1001]}, "malformed"),
        ({"closed": [FOLDER] * 65}, "malformed"),
        ({"copies": [f"{DESKTOP}/../.bashrc"]}, "unknown_file"),
        ({"copies": [{"path": "a", "text": "rm -rf"}]}, "malformed"),
        ({"done": ["/home/user/.profile"]}, "unknown_part"),
        ({"done": [next(iter(draw_state("rename_files", "train", 0)[0].files))]}, "unknown_part"),
        ({"execute": ["rm -rf ~"]}, "malformed"),
        ({"config": []}, "malformed"),
        ({"closed": None}, "unchanged"),
        ({"closed": [], "done": [], "copies": []}, "unchanged"),
        ([], "malformed"),
        ("closed", "unknown_evaluator"),
    ],
)
def test_what_a_model_may_not_write(start, reason):
    refused(RENAMES, start, reason)


def test_a_copy_takes_no_place_that_the_task_needs():
    path = next(iter(draw_state("rename_files", "train", 0)[0].files))
    payload = read_payload(RENAMES.payload)
    origin = Origin.of(payload)
    copy = f"{DESKTOP}/old_{path.rpartition('/')[2]}"
    for taken in (copy, f"{copy}/", f"{copy}/inside.txt"):
        level = type(origin.level)(
            **{
                **{name: getattr(origin.level, name) for name in ("goal", "evaluator", "steps")},
                "after": {**origin.level.after, taken: b""},
            }
        )
        with pytest.raises(Refused, match="in_the_way"):
            Origin(origin.config, level).started(payload, read_start({"copies": [path]}))


def test_other_shapes_of_a_proposal():
    assert validate(RENAMES, {"instruction": None, "start": None}).reason == "unchanged"
    assert validate(RENAMES, {"instruction": {}, "start": {"closed": [FOLDER]}}).reason == "malformed"
    assert validate(RENAMES, {"start": {"closed": [FOLDER]}, "evaluators": {"x": {}}}).reason == "malformed"
    assert validate(RENAMES, {"instruction": {"evaluator9": "x"}, "start": None}).reason == "unknown_evaluator"
    off = DOMAIN.with_operators(["evaluator"])
    found = off.validate(RENAMES, {"start": {"closed": [FOLDER]}}, direction="harder", author="x")
    assert found.reason == "operator_off"


# --- task files ---


def test_a_published_task_may_start_with_nothing_open(osworld_data):
    tasks, _ = import_folder(osworld_data / "rlanything")
    assert tasks
    for task in tasks:
        window = task.payload["config"][-1]["parameters"]["path"]
        made = started(task, closed=[window])
        assert made.payload["config"] == task.payload["config"][:-1]
        assert import_task(json.loads(made.to_json())) == made
        assert started(made, closed=[]).id == task.id
        refused(task, {"done": [window]}, "unknown_part")
        refused(task, {"copies": [window]}, "unknown_file")


def published(getter, *steps):
    path = {"parameters": {"path": "/home/user/a.xlsx"}}
    evaluator = {
        "func": "file_contains" if "dest" in getter else "exact_match",
        "result": getter,
        "expected": {"type": "rule", "rules": {"expected": ["1"] if "dest" in getter else "1"}},
    }
    config = [{"type": "download", "parameters": {"files": []}}, {"type": "open", **path}, *steps]
    return import_task({"instruction": "Close the window.", "config": config, "evaluator": evaluator})


FILE = {"type": "vm_file", "path": "/home/user/a.xlsx", "dest": "a.xlsx"}
WINDOW = {"type": "activate_window", "parameters": {"window_name": "a.xlsx"}}


def test_an_imported_task_that_looks_at_windows_keeps_them():
    """Else a task that asks to close one would be solved from the start, with no solution that could tell."""
    closed = {"closed": ["/home/user/a.xlsx"]}
    assert types(started(published(FILE, WINDOW), **closed)) == ["download"]
    for path in ("/home/user/.config/app/settings", "~/.profile"):
        refused(published({**FILE, "path": path}), closed, "reads_windows")
    for getter in ({"type": "vm_window_size", "app_class_name": "a"}, {"type": "vm_command_line", "command": "wmctrl"}):
        refused(published(getter), closed, "reads_windows")


def test_windows_that_later_steps_need_stay_open():
    closed = {"closed": ["/home/user/a.xlsx"]}
    keys_pressed = {"type": "execute", "parameters": {"command": ["python", "-c", "import pyautogui"]}}
    refused(published(FILE, keys_pressed), closed, "unknown_window")
    service = {"type": "launch", "parameters": {"command": ["socat", "tcp-listen:9222,fork", "tcp:localhost:1337"]}}
    made = started(published(FILE, service), **closed)
    assert types(made) == ["download", "launch"]
    refused(made, {"closed": ["socat tcp-listen:9222,fork tcp:localhost:1337"]}, "unknown_window")


@pytest.mark.parametrize(
    "start", [5, [], {"closed": "x"}, {"closed": [FOLDER], "done": 5}, {"x": []}, {"copies": ["/etc/passwd"]}]
)
def test_a_task_file_that_says_another_start_is_found_out(start):
    forged = {**RENAMES.payload, "source": {**RENAMES.payload["source"], "start": start}}
    task = RENAMES.model_copy(update={"payload": forged})
    assert DOMAIN.verify(task)
    assert validate(task, {"start": {"closed": [FOLDER]}}).reason == "bad_parent"
    assert DOMAIN.propose(task, "harder", np.random.default_rng(0)) is not None
    assert set(DOMAIN.proposal_schema(task)["properties"]) == set(forged["evaluators"])


@pytest.mark.parametrize(
    "config", [[], [{"type": "format_disk"}], 5, [5], [{"type": "open", "parameters": {"path": 5}}]]
)
def test_an_imported_start_comes_with_its_set_up(config):
    task = started(published(FILE), closed=["/home/user/a.xlsx"])
    assert DOMAIN.verify(task) is None
    source = {**task.payload["source"], "start": {"closed": ["/home/user/a.xlsx"], "config": config}}
    assert DOMAIN.verify(task.model_copy(update={"payload": {**task.payload, "source": source}}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from([FOLDER, *parts(RENAMES)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["closed", "done", "copies", "x"]), JSON, max_size=3) | JSON)
def test_any_start_is_a_proved_task_or_refused(start):
    found = validate(RENAMES, {"start": start})
    if isinstance(found, Task):
        assert DOMAIN.verify(found) is None
    else:
        assert found.reason
        assert found.detail


# --- an episode ---


@pytest.mark.slow
def test_a_task_that_starts_with_nothing_open_is_won_on_a_desktop(bwrap_desktop):
    from rlanything_envs.osworld.env import OSWorldEnv

    task = generate(0, kinds="write_files", difficulty=0.67)
    made = started(task, closed=["gnome-terminal"], done=parts(task))
    env = OSWorldEnv(backend=bwrap_desktop, observation="text")
    env.reset(options={"task": made})
    open_terminal = "pyautogui.hotkey('ctrl', 'alt', 't'); time.sleep(3)"
    rewards = [env.step(action)[1] for action in (open_terminal, keys(task)[-1], "DONE")]
    assert rewards == [0, 0, 1]
