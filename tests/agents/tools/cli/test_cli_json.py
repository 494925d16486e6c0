"""What scripts and shells read: JSON alone on standard output, exit codes in every help, names offered after Tab."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from small_runs import config_file, small_run
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app, options
from rlanything_agents.tools.cli.options import key_values
from rlanything_agents.tools.cli.output import print_json
from rlanything_task_pools import TaskPool


def run(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": None, "TERM": "dumb"}).invoke(app, list(words))
    assert result.exit_code in (0, 1), (result.output, result.exception)
    return result.stdout


def one(output: str) -> Any:
    return json.loads(output, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


def lines(output: str) -> list[Any]:
    return [one(line) for line in output.splitlines()]


@pytest.fixture(scope="module")
def folder() -> Path:
    return small_run("alfworld")


def test_every_view_of_a_pool(folder: Path) -> None:
    with TaskPool.open(folder / "pool.sqlite") as pool:
        slots, events = len(pool.slots), len(pool.events())
        rewritten = {event.slot for event in pool.events(kind="proposed")}
        first = pool.root(pool.slots[0]).id
    assert len(lines(run("pool", "show", str(folder), "--json"))) == slots
    assert len(lines(run("pool", "show", str(folder), "--log", "--json"))) == min(50, events)
    versions = lines(run("pool", "lineage", str(folder), "--json"))
    assert {row["slot"] for row in versions} == rewritten
    assert all((row["parent"] is None) == (row["state"] == "root") for row in versions)
    assert {row["task"] for row in lines(run("pool", "lineage", str(folder), first, "--json"))} >= {first}
    assert lines(run("pool", "verify", str(folder), "--json")) == []
    assert lines(run("pool", "metrics", str(folder), "--json"))[-1]["groups"] > 0


def test_a_desktop_and_a_machine() -> None:
    found = one(run("doctor", "--no-desktop", "--no-play", "--json"))
    assert {"topic", "state", "said", "remedy"} == set(found["findings"][0])
    assert found["healthy"] == all(finding["state"] != "broken" for finding in found["findings"])


def test_the_summary_of_a_run(folder: Path, tmp_path: Path) -> None:
    """A run that has ended is summarised again, and its curves are shown where they were not yet."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    file = config_file("alfworld", tmp_path)
    output = run("train", str(file), "--out", str(copy), "--tracker", "tensorboard", "--json")
    assert one(output) == json.loads((copy / "summary.json").read_text())
    assert list((copy / "tensorboard").glob("events.*"))


@given(
    st.recursive(st.floats() | st.text() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_any_value_is_printed_as_json(value: Any) -> None:
    printed: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer, "echo", printed.append)
        print_json({"value": value})
    found = one(printed[0])["value"]
    if isinstance(value, float):
        assert found == (value if math.isfinite(value) else None)


def test_options_of_pairs() -> None:
    assert key_values(["a=1", "b=[x, y]", "c=", "d=p=q"], "--x") == {"a": 1, "b": ["x", "y"], "c": None, "d": "p=q"}
    assert key_values(None, "--x") == {}


# -- help and completion -------------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    group = typer.main.get_command(app)
    found: list[list[str]] = []

    def walk(command: Any, path: list[str]) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(path)
        else:
            for name, other in inner.items():
                walk(other, [*path, name])

    walk(group, [])
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_exit_codes_are_told_in_every_help(words: list[str]) -> None:
    assert "Exit codes: 0 done" in " ".join(run(*words, "--help").split())


def completed(*words: str) -> list[str]:
    """What a shell is offered after Tab."""
    environment = {
        **os.environ,
        "_RLANYTHING_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["rlanything", *words]),
        "COMP_CWORD": str(len(words)),
    }
    script = "from rlanything_agents.tools.cli import app; app(prog_name='rlanything')"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    return done.stdout.split()


def test_the_shell_is_offered_names() -> None:
    assert {"alfworld", "coding", "osworld"} <= set(completed("play", ""))
    assert completed("train", "--tracker", "ten") == ["tensorboard"]
    assert "rollout.tasks=" in completed("train", "--set", "rollout.t")


def test_names_to_complete() -> None:
    assert options.domains("co") == ["coding"]
    assert options.splits("valid_s") == ["valid_seen"]
    assert options.trackers("w") == ["wandb"]
    keys = options.config_keys("")
    assert {"seed=", "rollout.tasks=", "curriculum.llm=", "feedback.lam=", "policy_trainer.learning_rate="} <= set(keys)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    environment = {**os.environ, "_RLANYTHING_COMPLETE": f"source_{shell}"}
    script = "from rlanything_agents.tools.cli import app; app(prog_name='rlanything')"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert "_RLANYTHING_COMPLETE" in done.stdout
