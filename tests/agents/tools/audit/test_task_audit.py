"""``rlanything audit``: tasks that are solved without the work are found, and sound ones are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from rlanything_agents.domains.cheats import COMMON, cheats_of
from rlanything_agents.tools.audit import audit_panel
from rlanything_agents.tools.cli import app
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.coding import make_task as coding_task
from rlanything_task_pools.coding import read_payload as coding_payload
from rlanything_task_pools.osworld import make_task as desktop_task
from rlanything_task_pools.osworld import read_payload as desktop_payload
from rlanything_task_pools.panel import Entry, Panel

FUNCTION = "def double(values):\n    return [2 * value for value in values]\n"


def panel_of(*tasks: Task, **environment: Any) -> Panel:
    return Panel("hand-made", "", tasks[0].domain, environment, tuple(Entry(task) for task in tasks), len(tasks))


def found_by(found: dict[str, Any]) -> dict[str, set[str]]:
    """Agents that solved each task."""
    by: dict[str, set[str]] = {}
    for item in found["findings"]:
        by.setdefault(item["task"], set()).add(item["agent"])
    return by


def problem(
    hidden: list[tuple[str, str]], public: tuple[tuple[str, str], ...] = (), proof: str = "", **more: Any
) -> Task:
    payload = {
        "statement": "Add two numbers.",
        "public": [{"stdin": stdin, "stdout": stdout} for stdin, stdout in public],
        "hidden": [{"stdin": stdin, "stdout": stdout} for stdin, stdout in hidden],
        **more,
    }
    return coding_task(coding_payload(payload), (proof,) if proof else ())


SUM = "print(sum(map(int, input().split())))"
SOUND = problem([("1 2\n", "3\n"), ("5 5\n", "10\n")], (("2 2\n", "4\n"),), SUM)


def test_weak_tests_of_programs_are_found() -> None:
    one_answer = problem([("1 2\n", "3\n"), ("2 1\n", "3\n")], (("0 0\n", "0\n"),), SUM)
    samples_again = problem([("1 2\n", "3\n"), ("5 5\n", "10\n")], (("1 2\n", "3\n"), ("5 5\n", "10\n")), SUM)
    nothing = problem([("", "")])
    echoed = problem([("7\n", "7\n"), ("8\n", "8\n")])
    found = audit_panel(panel_of(SOUND, one_answer, samples_again, nothing, echoed), workers=1)
    by = found_by(found)
    assert SOUND.id not in by
    assert by[one_answer.id] == {"constant"}
    assert by[samples_again.id] == {"samples"}
    assert by[nothing.id] >= {"empty", "exit 0"}
    assert by[echoed.id] == {"echo"}
    assert not found["clean"]
    assert (found["unsolved"], found["errors"]) == ([], [])
    rows = {row["agent"]: row for row in found["agents"]}
    assert (rows["solution"]["successes"], rows["solution"]["episodes"]) == (3, 3)
    assert rows["samples"]["episodes"] == 3  # the two others have no samples


def test_functions_are_judged_by_their_values() -> None:
    calls = [("[[1, 2]]", "[2, 4]"), ("[[5]]", "[10]")]
    typed = problem(calls, (("[[3]]", "[6]"),), FUNCTION, entry_point="double")
    asserted = problem(
        [("assert candidate([1]) == [2]", ""), ("assert candidate([3, 4]) == [6, 8]", "")],
        (),
        FUNCTION,
        entry_point="double",
        checker={"kind": "asserts"},
    )
    hollow = problem([("candidate([1])", "")], (), FUNCTION, entry_point="double", checker={"kind": "asserts"})
    found = audit_panel(panel_of(typed, asserted, hollow), workers=1)
    by = found_by(found)
    assert set(by) == {hollow.id}
    assert "empty" in by[hollow.id]


def test_a_known_solution_that_fails_is_reported() -> None:
    wrong = problem([("1 2\n", "3\n")], (), "print(4)")
    found = audit_panel(panel_of(wrong), workers=1)
    assert [item["task"] for item in found["unsolved"]] == [wrong.id]
    assert found["findings"] == []  # of a single test the answer would be known to `constant`


def test_games_that_are_won_at_the_start_are_reported() -> None:
    domain = get_domain("alfworld")
    sound = domain.generate(0, kinds=["simple"])
    payload = json.loads(sound.to_json())["payload"]
    thing = next(item for item in payload["scene"]["things"] if item[1] == payload["goal"]["object_type"])
    place = next(item[0] for item in payload["scene"]["receptacles"] if item[1] == payload["goal"]["receptacle_type"])
    thing[2] = [place]
    met = Task(domain="alfworld", goal=sound.goal, payload=payload, proof=("look",), traits={})
    found = audit_panel(panel_of(sound, met), workers=1)
    assert found["findings"] == []
    assert {item["task"] for item in found["errors"]} == {met.id}
    assert all("solved from the start" in item["error"] for item in found["errors"])
    assert not found["clean"]


def desktop(path: str, func: str = "compare_text_file", expected: str = "hello", **more: Any) -> Task:
    return desktop_task(
        desktop_payload(
            {
                "instruction": "Write hello into the file a.txt on the Desktop.",
                "config": [{"type": "write_file", "parameters": {"path": "~/Desktop/a.txt", "text": "hello"}}],
                "evaluators": {
                    "e": {
                        "func": func,
                        "result": {"type": "vm_file", "path": path, "dest": "a.txt"},
                        "expected": {"type": "cloud_file", "path": f"data:,{expected}", "dest": "b.txt"},
                        **more,
                    }
                },
                "instructions": {"e": "Write hello into the file a.txt on the Desktop."},
                "current": "e",
            }
        )
    )


def test_desktop_checks_that_hold_at_the_start_are_found() -> None:
    true_at_once = desktop("/home/user/Desktop/a.txt")
    sound = desktop("/home/user/Desktop/a.txt", expected="bye")
    infeasible = desktop("/home/user/Desktop/a.txt", func="infeasible")
    found = audit_panel(
        panel_of(true_at_once, sound, infeasible, backend="simulator", max_turns=3, screen=[800, 600]), workers=1
    )
    by = found_by(found)
    assert set(by) == {true_at_once.id}  # FAIL is the right answer of an infeasible task, and not a cheat
    assert by[true_at_once.id] >= {"done", "wait", "silent"}
    assert "fail" not in by[true_at_once.id]


@pytest.mark.parametrize(
    ("domain", "knobs", "environment"),
    [
        ("alfworld", {}, {"max_episode_steps": 30}),
        ("coding", {}, {}),
        ("osworld", {"simulated": True}, {"backend": "simulator", "max_turns": 3, "screen": [800, 600]}),
    ],
)
def test_generated_tasks_are_clean(domain: str, knobs: dict[str, Any], environment: dict[str, Any]) -> None:
    tasks = [get_domain(domain).generate(seed, **knobs) for seed in range(2)]
    found = audit_panel(panel_of(*tasks, **environment), workers=1)
    assert found["findings"] == []
    for row in found["agents"]:
        if row["agent"] not in ("random", "solution"):
            assert (row["successes"], row["score"] or 0) == (0, 0), row
    assert next(row for row in found["agents"] if row["agent"] == "random")["episodes"] == 2


def test_agents_for_every_domain() -> None:
    assert cheats_of("numberpath") == COMMON
    assert cheats_of("../x") == COMMON
    names = [cheat.name for cheat in cheats_of("coding")]
    assert len(names) == len(set(names))
    assert {"silent", "repeat", "empty", "samples"} <= set(names)


Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_command(invoke: Invoke) -> None:
    TaskPool.create("weak.sqlite", [SOUND, problem([("7\n", "7\n")])]).close()
    weak = invoke("audit", "weak.sqlite", "--workers", "1", "--out", "found")
    assert weak.exit_code == 1, weak.output
    assert "solved without the work: coding-" in weak.stdout
    assert "clean" not in weak.stdout
    assert "## Tasks solved without the work" in Path("found/audit.md").read_text()
    stored = json.loads(Path("found/audit.json").read_text())
    assert {item["agent"] for item in stored["findings"]} == {"echo"}
    courses = [json.loads(path.read_text()) for path in Path("found/episodes").glob("*.json")]
    assert sum(course["outcome"] == 1 for course in courses) >= 3  # with the control
    assert Path("found/trajectories/0000.jsonl.gz").exists()
    TaskPool.create("sound.sqlite", [SOUND]).close()
    sound = invoke("audit", "sound.sqlite", "--workers", "2", "--json")
    assert sound.exit_code == 0, sound.output
    result = json.loads(sound.stdout)
    assert result["clean"]
    assert result["panel"]["tasks"] == 1


def test_bad_input(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    bad = [
        (("audit",), "either --panel"),
        (("audit", "none.sqlite"), "no task pool"),
        (("audit", "--panel", "none"), "alfworld-easy"),
        (("audit", "--panel", "alfworld-easy", "--limit", "1", "--env", "x"), "expected key=value"),
        (("audit", "--panel", "alfworld-easy", "--limit", "1", "--out", "full"), "not empty"),
    ]
    for words, told in bad:
        refused = invoke(*words)
        assert (refused.exit_code, refused.stdout) == (2, ""), words
        assert told in refused.stderr, words
        assert len(refused.stderr.splitlines()) == 1
