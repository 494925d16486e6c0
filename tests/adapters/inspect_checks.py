"""Tests of panels and logs for Inspect AI; `test_inspect.py` runs them where Inspect AI is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inspect_ai
import pytest
from canary_search import found_in
from canary_tasks import CASES, MARKERS, Case
from inspect_ai.agent import Agent, AgentState, agent
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from worlds import SEEN, WORLDS, World, break_engine

from rlanything_agents.domains.solutions import solution_of
from rlanything_agents.tools.benchmark import run_benchmark
from rlanything_envs.adapters.inspect_ai import panel_task
from rlanything_task_pools.panel import Entry, Panel, load_panel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))


def panel_of(world: World, count: int = 2) -> Panel:
    entries = tuple(Entry(world.task(seed)) for seed in range(count))
    return Panel(f"a {world.domain} panel", "", world.domain, world.arguments, entries, count)


def mock(answers: list[str]) -> Any:
    """Inspect's own model for tests, with these answers in order."""
    outputs = [ModelOutput.from_content("mockllm/model", answer) for answer in answers]
    for output in outputs:
        output.usage = ModelUsage()  # else they are counted with a table that is downloaded first
    return get_model("mockllm/model", custom_outputs=outputs, memoize=False)


def evaluated(task: inspect_ai.Task, answers: list[str], **settings: Any) -> EvalLog:
    (log,) = inspect_ai.eval(task, model=mock(answers), display="none", max_samples=1, **settings)
    return log


def scored(log: EvalLog) -> list[str]:
    return [sample.scores["outcome"].value for sample in log.samples or ()]


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_a_model_plays_the_tasks_of_a_panel(world: World) -> None:
    panel = panel_of(world)
    answers = [answer for entry in panel.entries for answer in world.answers(entry.task)]
    log = evaluated(panel_task(panel), answers)
    assert log.status == "success", log.error
    assert scored(log) == ["C", "C"]
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == 1
    sample = next(sample for sample in log.samples or () if sample.id == panel.entries[0].task.id)
    assert [message.role for message in sample.messages][:3] == ["user", "assistant", "user"]
    assert sum(message.role == "assistant" for message in sample.messages) == len(world.answers(panel.entries[0].task))
    assert sample.scores["outcome"].metadata == {
        "solved": True,
        "ended": True,
        "score": 1.0,
        "steps": len(world.answers(panel.entries[0].task)),
    }


def test_a_failure_and_a_limit_are_no_success() -> None:
    world = WORLDS[0]
    panel = panel_of(world, 1)
    failed = evaluated(panel_task(panel, environment={"max_episode_steps": 3}), [world.idle] * 3)
    assert scored(failed) == ["I"]
    assert failed.samples[0].scores["outcome"].metadata["ended"]
    limited = evaluated(panel_task(panel), [world.idle] * 50, message_limit=6)
    assert scored(limited) == ["I"]
    assert not limited.samples[0].scores["outcome"].metadata["ended"]
    assert limited.samples[0].limit is not None


def test_an_infrastructure_failure_is_an_error_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    from rlanything_envs.conversation import Conversation

    world = WORLDS[0]
    start = Conversation.start

    def breaks(self: Conversation, *arguments: Any, **options: Any) -> Any:
        turn = start(self, *arguments, **options)
        break_engine(self.env)
        return turn

    monkeypatch.setattr(Conversation, "start", breaks)
    log = evaluated(panel_task(panel_of(world, 1)), [world.idle] * 3)
    assert log.status == "error"
    assert log.samples[0].error is not None
    assert "InfrastructureError" in log.samples[0].error.traceback
    assert not log.samples[0].scores


@agent
def knows(answers: list[str]) -> Agent:
    """An agent of Inspect with answers of its own, in the model's place."""
    left: Iterator[str] = iter(answers)

    async def execute(state: AgentState) -> AgentState:
        text = next(left)
        state.messages.append(ChatMessageAssistant(content=text))
        state.output = ModelOutput.from_content("knows", text)
        return state

    return execute


def test_an_agent_of_inspect_answers_in_the_place_of_the_model() -> None:
    world = WORLDS[0]
    panel = panel_of(world, 1)
    log = evaluated(panel_task(panel, agent=knows(world.answers(panel.entries[0].task))), [])
    assert scored(log) == ["C"]


OFFLINE = """
from inspect_ai.model._model import ModelAPI

async def count(self, text):
    return len(text.split())

ModelAPI.count_text_tokens = count
from inspect_ai._cli.main import main
main()
"""
"""The command ``inspect``, which counts the tokens of its own model without the table that it would download."""


def test_the_command_on_a_shipped_panel(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OFFLINE, "eval", "examples/inspect_panel.py"]
    command += ["-T", "panel=alfworld-easy", "-T", "limit=2", "-T", "environment={max_episode_steps: 3}"]
    command += ["--model", "mockllm/model", "--display", "none", "--log-dir", str(tmp_path / "mine")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    (found,) = list_eval_logs(str(tmp_path / "mine"))
    log = read_eval_log(found)
    assert log.eval.model == "mockllm/model"
    assert scored(log) == ["I", "I"]
    assert log.eval.metadata is not None
    assert log.eval.metadata["panel_hash"] == load_panel("alfworld-easy", 2).hash


def test_the_known_solutions_score_as_in_our_benchmark(tmp_path: Path) -> None:
    panel = load_panel("alfworld-easy", 2)
    answers = []
    for entry in panel.entries:
        solution, given = solution_of(entry.task), []
        while (answer := solution(given)) is not None:
            given.append(answer)
        answers += given
    log = evaluated(panel_task(panel), answers)
    ours = run_benchmark(panel, "expert", tmp_path / "ours", workers=1)
    assert scored(log) == ["C", "C"]
    assert ours["total"]["rate"] == 1.0
    assert [sample.scores["outcome"].metadata["steps"] for sample in log.samples] == [
        t["steps"][0] for t in ours["tasks"]
    ]


# --- logs of runs ---


RECORD = {
    "iteration": 1,
    "slot": 0,
    "role": "active",
    "goal": "put a mug on a desk",
    "task_id": "alfworld-0123456789abcdef",
    "outcome": 1,
    "score": 1.0,
    "opening": "You are in a room.",
    "turns": [
        {"thought": "A mug.", "action": "take mug 1", "observation": "You take it.", "votes": [1.0, None]},
        {"thought": "", "action": "put mug 1", "observation": "Done. <|im_end|>", "reward": 1.0},
    ],
}


def run_folder(path: Path) -> Path:
    """A run with two iterations, as one that stopped after them leaves it."""
    import gzip

    (path / "trajectories").mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"name": "small", "domain": "alfworld"}))
    failed = {**RECORD, "outcome": -1, "score": 0.0}
    broken = {**RECORD, "outcome": None, "score": 0.0, "error": "the engine broke"}
    for number, records in enumerate([[RECORD, failed, broken], [RECORD]], 1):
        with gzip.open(path / "trajectories" / f"{number:04d}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps({**record, "iteration": number}) + "\n" for record in records)
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    from typer.testing import CliRunner

    from rlanything_agents.tools.cli import app

    run_folder(tmp_path / "run")
    words = ["export", str(tmp_path / "run"), "--out", str(tmp_path / "exported"), "--format", "inspect"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "iteration-0001.eval: 3 samples" in done.stdout
    again = CliRunner().invoke(app, words)
    assert (again.exit_code, "exists" in again.stderr) == (2, True)
    mixed = CliRunner().invoke(app, [*words[:3], str(tmp_path / "o"), *words[4:], "--what", "turns"])
    assert (mixed.exit_code, "whole episodes" in mixed.stderr) == (2, True)
    return tmp_path / "exported"


def test_logs_of_a_run_come_back_from_the_real_reader(logs: Path) -> None:
    found = [read_eval_log(log) for log in sorted(list_eval_logs(str(logs)), key=lambda log: log.name)]
    assert [log.status for log in found] == ["success", "success"]
    first = found[0]
    assert first.eval.task == "small-iteration-1"
    assert first.eval.model == "rlanything/small"
    assert first.results is not None
    assert first.results.scores[0].metrics["accuracy"].value == 0.5
    assert (first.results.total_samples, first.results.completed_samples) == (3, 2)
    won, lost, broken = first.samples or []
    assert [(sample.id, sample.epoch) for sample in (won, lost, broken)] == [(RECORD["task_id"], k) for k in (1, 2, 3)]
    assert [won.scores["outcome"].value, lost.scores["outcome"].value] == ["C", "I"]
    assert broken.scores is None
    assert broken.error is not None
    assert broken.error.message == "the engine broke"
    assert [message.role for message in won.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert "You are in a room." in won.messages[0].text
    assert won.messages[1].text == "A mug.\nAction: take mug 1"
    assert won.messages[-1].text == "Done. <|im_end|>"
    assert won.metadata["turns"][0]["votes"] == [1.0, None]


def test_inspect_view_serves_them(logs: Path) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("inspect")), "view", "--log-dir", str(logs), "--port", str(port)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    ) as view:
        try:
            listed = _fetch(f"http://127.0.0.1:{port}/api/logs", view)
            names = [item["name"] for item in listed["files"]]
            assert [Path(name).name for name in sorted(names)] == ["iteration-0001.eval", "iteration-0002.eval"]
        finally:
            view.terminate()


def _fetch(address: str, process: subprocess.Popen[str]) -> Any:
    """The JSON of an address, as soon as the server is up."""
    wait = threading.Event()
    for _ in range(300):
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.loads(answer.read())
        except OSError:
            assert process.poll() is None, process.stdout.read() if process.stdout else ""
            wait.wait(0.2)
    raise AssertionError(f"{address} does not answer")


@pytest.mark.parametrize("case", [CASES[0], CASES[-2], CASES[-1]], ids=str)
def test_nothing_secret_of_a_task_is_in_a_message(case: Case) -> None:
    """A sample's metadata hold the task, for the solver that opens the environment; a model reads messages."""
    panel = Panel("canary", "", case.task.domain, case.arguments, (Entry(case.task),), 1)
    for answers in case.episodes[1:3]:
        log = evaluated(panel_task(panel), [*answers, *answers[-1:] * 60], message_limit=20)
        (sample,) = log.samples
        asked = [event.input for event in sample.events if event.event == "model"]
        assert asked
        assert found_in([sample.input, sample.messages, sample.scores, asked], MARKERS) == set()


def test_screens_are_images_of_a_message() -> None:
    log = evaluated(panel_task(panel_of(SEEN, 1), limit=1), ["WAIT", "DONE"])
    assert log.status == "success", log.error
    (sample,) = log.samples or ()
    for message in sample.messages:
        if message.role == "user":
            image, text = message.content
            assert (image.type, text.type) == ("image", "text")
