"""``rlanything audit``: tasks that are solved without the work are found, and sound ones are not."""

from __future__ import annotations

import ast
import builtins
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from click.testing import Result
from scripted_desktop import KINDS, SCRIPTED
from typer.testing import CliRunner

from rlanything_agents.domains import cheats as domain_cheats
from rlanything_agents.domains.alfworld import cheats as alfworld_cheats
from rlanything_agents.domains.cheats import COMMON, Cheat, always, cheats_of
from rlanything_agents.domains.coding import cheats
from rlanything_agents.tools.audit import audit_panel, probe_panel, run
from rlanything_agents.tools.audit.run import _summary
from rlanything_agents.tools.benchmark import episode as played_episode
from rlanything_agents.tools.benchmark.episode import World
from rlanything_agents.tools.cli import app
from rlanything_envs.conversation import Conversation, Turn
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.coding import make_task as coding_task
from rlanything_task_pools.coding import read_payload as coding_payload
from rlanything_task_pools.osworld import make_task as desktop_task
from rlanything_task_pools.osworld import read_payload as desktop_payload
from rlanything_task_pools.panel import Entry, Panel
from rlanything_verifiers.coding import asserts
from rlanything_verifiers.coding.sandbox import Run

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
        panel_of(true_at_once, sound, infeasible, **SCRIPTED, max_turns=3, screen=[800, 600]), workers=1
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
        ("osworld", {"kinds": KINDS}, {**SCRIPTED, "max_turns": 3, "screen": [800, 600]}),
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


# --- attacks on the judge ---


def test_the_probes_have_every_way_to_judge_a_program() -> None:
    panel = probe_panel()
    kinds = {read["kind"] for read in (entry.task.payload["checker"] for entry in panel.entries)}
    assert kinds == {"tokens", "asserts", "python", "interactor"}
    assert any(entry.task.payload.get("entry_point") and entry.task.payload["checker"]["kind"] == "tokens"
               for entry in panel.entries)  # fmt: skip
    assert probe_panel("coding-probes", 2).entries == panel.entries[:2]
    assert {entry.task.domain for entry in probe_panel("osworld-probes").entries} == {"osworld"}
    for entry in panel.entries:
        fault = get_domain("coding").verify(entry.task)
        if entry.task.traits["kind"] == "interactor":  # it reads numbers only: a pool would refuse it
            assert "does not decide on garbage" in str(fault)
        else:
            assert fault is None


def test_the_cheats_hold_every_name_in_every_place() -> None:
    named = next(cheat for cheat in cheats_of("coding") if cheat.name == "forged names")
    for name in dir(builtins):
        assert f"exception {name}" in named.variants
        assert f"type {name}" in named.variants


@pytest.mark.parametrize("domain", ["alfworld", "coding", "osworld"])
def test_every_answer_of_a_cheat_is_within_the_limits_of_an_action(domain: str) -> None:
    """Else the environment refuses the text, and the attack is none."""
    tasks = [entry.task for entry in probe_panel().entries]
    if domain != "coding":
        tasks = [
            get_domain(domain).generate(seed, **{"kinds": KINDS} if domain == "osworld" else {}) for seed in (0, 1)
        ]
    turn = Turn("", 0.0, False, False, {})
    played = 0
    for cheat in cheats_of(domain):
        for answer in cheat.variants.values():
            for task in filter(cheat.applies, tasks):
                said = answer(task, turn, 0)
                assert len(said) <= 131_072 or domain == "alfworld"
                if said.startswith("SUBMIT\n```python\n"):
                    ast.parse(said.removeprefix("SUBMIT\n```python\n").removesuffix("```"))
                if said.startswith("```python\n"):
                    ast.parse(said.removeprefix("```python\n").removesuffix("```"))
                played += 1
    assert played > {"alfworld": 10, "coding": 600, "osworld": 40}[domain]


@pytest.mark.parametrize("names", [("exec", "eval"), ("ValueError", "print")])
def test_a_forged_name_that_is_believed_is_found(names: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a judge that believes all that it is told, the audit says which variant did it."""
    monkeypatch.setattr(asserts.Exchange, "decide", _believing(names))
    named = next(cheat for cheat in cheats.CHEATS if cheat.name == "forged names")
    few = {name: answer for name, answer in named.variants.items() if name.split()[-1][0] in "epV"}
    monkeypatch.setattr(cheats, "CHEATS", (replace(named, answer=few),))
    probe = next(entry.task for entry in probe_panel().entries if entry.task.traits["kind"] == "asserts")
    found = audit_panel(panel_of(probe), workers=1)
    assert {item["variant"] for item in found["findings"]} == {f"exception {name}" for name in names}
    (row,) = [row for row in found["agents"] if row["agent"] == "forged names"]
    assert row["successes"] == 2
    assert not found["clean"]


def _believing(names: tuple[str, str]) -> Any:
    def decide(self: Any, program: bytes, limits: Any, asked: Any, runs: dict[int, Run], most: Any) -> dict[int, Any]:
        given = b"".join(run.stdout for run in runs.values())
        honest = b'["l", [' in given and b'"T"' not in given
        right = honest or any(f'"!", "{name}", '.encode() in given for name in names)
        return dict.fromkeys(runs, (("AC", "") if right else ("WA", ""), 0.0))

    return decide


class Void(gym.Wrapper[Any, Any, Any, Any]):
    """An environment in which one word voids an episode, and one takes its time."""

    def step(self, action: Any) -> Any:
        """Take an action."""
        if action == "void":
            observation, _, _, _, info = self.env.step("look")
            return observation, 0.0, False, True, {**info, "outcome": "error", "error": "the machine is overloaded"}
        if action == "slow":
            time.sleep(0.3)
        return self.env.step(action)


def test_voided_and_held_episodes_are_failures_of_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(world: Any) -> Conversation:
        conversation = Conversation("RLAnything/AlfWorld-v0", max_episode_steps=2)
        conversation.env = Void(conversation.env)
        return conversation

    plain = Cheat("plain", "looks", always("look"))
    several = Cheat("several", "voids, or looks", {"the void": always("void"), "a look": always("look")})
    monkeypatch.setattr(World, "open", opened)
    monkeypatch.setattr(domain_cheats, "COMMON", (plain, several, Cheat("slow", "waits", always("slow"))))
    monkeypatch.setattr(alfworld_cheats, "CHEATS", ())
    monkeypatch.setattr(alfworld_cheats, "limit", lambda task: 0.1)
    tasks = [get_domain("alfworld").generate(seed) for seed in range(2)]
    found = audit_panel(panel_of(*tasks), workers=1)
    rows = {row["agent"]: row for row in found["agents"]}
    assert (rows["several"]["voided"], rows["several"]["voided_share"], rows["several"]["episodes"]) == (2, 0.5, 2)
    assert (rows["plain"]["voided"], rows["plain"]["held"]) == (0, 0)
    assert (rows["slow"]["held"], rows["slow"]["episodes"]) == (2, 2)
    assert (found["cheats"]["voided"], found["cheats"]["voided_share"], found["cheats"]["held"]) == (2, 2 / 8, 2)
    assert [(item["agent"], item["variant"]) for item in found["voided"]] == [("several", "the void")] * 2
    assert all("overloaded" in item["error"] for item in found["voided"])
    assert (found["cheats"]["rate"], found["cheats"]["high"]) == (0, pytest.approx(0.39, abs=0.01))
    assert found["errors"] == []
    assert not found["clean"]


def test_the_rate_of_all_cheats_counts_each_variant() -> None:
    task = get_domain("coding").generate(0)
    cheats = (Cheat("one", "", always("a")), Cheat("many", "", {str(k): always("a") for k in range(99)}))
    played = [("one", 0, 1), *(("many", k, -1) for k in range(99))]
    results = [played_episode.Result(name, task.id, k, outcome, 0.0, 1, None, 0.1) for name, k, outcome in played]
    found = _summary(panel_of(task), cheats, results)["cheats"]
    assert (found["rate"], found["successes"], found["episodes"]) == (0.01, 1, 100)
    assert found["high"] == pytest.approx(0.0545, abs=1e-3)


def test_a_cheat_of_the_checker_plays_one_task_of_each() -> None:
    again = problem([("3 2\n", "5\n"), ("7 5\n", "12\n")], (("2 2\n", "4\n"),), SUM)
    own = {"kind": "python", "source": "print('WA')"}
    checked = [problem([("1 2\n", "3\n"), (f"{n} 5\n", f"{n + 5}\n")], checker=own) for n in range(2)]
    panel = panel_of(SOUND, again, *checked)
    played = [(episode.task.id, episode.group) for episode in run._episodes(panel, cheats_of("coding"), 1, 0)]
    assert {task for task, name in played if name == "garbage"} == {SOUND.id, *(task.id for task in checked)}
    assert {task for task, name in played if name == "empty"} == {SOUND.id, again.id, *(task.id for task in checked)}
    assert not {name for _, name in played} & {"stops", "compilers", "forged names"}  # for the probes alone


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
