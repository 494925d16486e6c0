"""Set-up steps as they are written: what is accepted, and how mistakes are told. Tasks are untrusted."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON

from rlanything_envs.osworld.setup import check_steps, substitute
from rlanything_task_pools import TaskFormatError
from rlanything_task_pools.osworld import STEP_TYPES

GOOD = [
    {"type": "launch", "parameters": {"command": ["google-chrome", "--remote-debugging-port=1337"]}},
    {"type": "launch", "parameters": {"command": "libreoffice --calc", "shell": "true"}},
    {"type": "execute", "parameters": {"command": "echo {CLIENT_PASSWORD}", "shell": True, "stdout": "out.txt"}},
    {"type": "command", "parameters": {"command": ["ls"], "until": {"returncode": 0}}},
    {"type": "open", "parameters": {"path": "/home/user/a.xlsx"}},
    {"type": "activate_window", "parameters": {"window_name": "Terminal", "strict": True, "by_class": False}},
    {"type": "close_window", "parameters": {"window_name": "Terminal"}},
    {"type": "sleep", "parameters": {"seconds": 0.5}},
    {"type": "download", "parameters": {"files": [{"url": "https://x.org/a", "path": "a"}]}},
    {"type": "upload_file", "parameters": {"files": [{"local_path": "a", "path": "/home/user/a"}]}},
    {"type": "write_file", "parameters": {"path": "~/Desktop/a", "text": ""}},
    {"type": "write_file", "parameters": {"path": "/home/user/a", "base64": "AAE="}},
    {"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["https://x.org"]}},
    {"type": "chrome_close_tabs", "parameters": {"urls_to_close": ["https://x.org"]}},
    {"type": "change_wallpaper", "parameters": {"path": "/home/user/a.png"}},
    {
        "type": "update_browse_history",
        "parameters": {"history": [{"url": "https://x.org", "title": "", "visit_time_from_now_in_seconds": 60}]},
    },
]


def test_good_steps():
    check_steps(GOOD, "config")
    assert {step["type"] for step in GOOD} >= set(STEP_TYPES) - {"googledrive", "login"}


def bad(kind, **parameters):
    return {"type": kind, "parameters": parameters}


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (bad("reboot"), "the step 'reboot' is unknown; there are activate_window"),
        (bad(["open"]), "is unknown"),
        ({"parameters": {}}, "the step None is unknown"),
        ("open", "a step is"),
        ({"type": "open", "parameters": []}, "a step is"),
        (bad("open"), "open needs the parameter 'path'"),
        (bad("open", path=""), "open: path must be a text"),
        (bad("open", path="a", mode="r"), "no parameter 'mode'"),
        (bad("launch", command=[]), "command must be"),
        (bad("launch", command=["a", 1]), "command must be"),
        (bad("launch", command="a", shell="yes"), "shell must be true or false"),
        (bad("sleep", seconds=-1), "seconds must be"),
        (bad("sleep", seconds=float("nan")), "seconds must be"),
        (bad("sleep", seconds=True), "seconds must be"),
        (bad("download", files=[{"url": "x"}]), "files must be a text"),
        (bad("download", files="x"), "files must be a list"),
        (bad("execute", command="a", until={"when": 1}), "until must have"),
        (bad("write_file", path="relative", text="x"), "must begin with /"),
        (bad("write_file", path="/a/../b", text="x"), "not a plain path"),
        (bad("write_file", path="/a", base64="?"), "cannot be decoded"),
        (bad("write_file", path="/a"), "text or as base64"),
        (bad("update_browse_history", history=[{"url": "x", "title": "y"}]), "visit_time_from_now_in_seconds"),
    ],
)
def test_bad_steps_are_named_with_their_place(step, words):
    with pytest.raises(TaskFormatError, match=r"config\[1\]") as caught:
        check_steps([GOOD[0], step], "config")
    assert words in str(caught.value)
    assert isinstance(caught.value, TaskFormatError)


@pytest.mark.parametrize("kind", ["googledrive", "login"])
def test_steps_that_need_an_account_are_refused_when_the_task_is_read(kind):
    step = bad(kind, settings_file="evaluation_examples/settings/googledrive/settings.yml")
    with pytest.raises(TaskFormatError, match=rf"config\[0\]: the step '{kind}' needs an? .*account"):
        check_steps([step], "config")


def test_names_in_braces():
    value = {"a": ["{W} {W}", 3, {"b": "{H}"}], "c": ("{X}",)}
    found = substitute(value, {"{W}": "1", "{H}": "2"})
    assert found == {"a": ["1 1", 3, {"b": "2"}], "c": ["{X}"]}
    assert value["a"][0] == "{W} {W}"


@pytest.fixture
def published() -> list[Path]:
    """OSWorld's own task files, from ``$RLANYTHING_TEST_DATA`` or ``shared/data``; else the test is skipped."""
    root, named = Path(__file__).resolve().parents[2], os.environ.get("RLANYTHING_TEST_DATA")
    places = [Path(named)] if named else [root / "shared" / "data", root.parent / "shared" / "data"]
    for place in places:
        if files := sorted((place / "osworld").rglob("*.json")):
            return files
    pytest.skip("no published tasks: set RLANYTHING_TEST_DATA to a folder with osworld/**/*.json")


def test_published_tasks(published):
    for file in published:
        task = json.loads(file.read_text())
        check_steps(task["config"], file.name)
        for evaluator in [task["evaluator"], *task.get("evaluator_list", {}).values()]:
            check_steps(evaluator.get("postconfig", []), file.name)


NAMES = st.sampled_from(sorted({name for step in GOOD for name in step["parameters"]} | {"other"}))


@given(st.sampled_from(STEP_TYPES) | JSON, st.dictionaries(NAMES, JSON, max_size=4) | JSON)
def test_any_step_is_accepted_or_refused_by_name(kind, parameters):
    try:
        check_steps([{"type": kind, "parameters": parameters}], "config")
    except TaskFormatError as error:
        said = str(error)
    else:
        said = "config[0]"
    assert "config[0]" in said
