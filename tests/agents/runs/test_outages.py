"""Real runs whose rewriter's service is down, slow or lying for a whole iteration, over real HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file
from scripted_service import (
    Asked,
    Behaviour,
    Handler,
    Service,
    close_at_once_after_reading,
    hang,
    raw,
    say,
    served,
    status,
)
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig
from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs import rewriting
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.runs.train import train, warm_up
from rlanything_agents.tools.cli import app
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

KNOBS = {"rooms": ["Kitchen"], "kinds": ["heat"]}
SMALL = {"hidden_size": 32, "layers": 1}
SEED = 1


def config(service: Service, warm: Path | None, **llm: Any) -> RunConfig:
    """Two iterations on the two tasks of a pool, none of which is won: each asks for something easier."""
    return RunConfig.model_validate(
        {
            "name": "served",
            "seed": SEED,
            "threads": 1,
            "iterations": 2,
            "policy": SMALL,
            "reward_model": SMALL,
            "feedback": "masked",
            "judge": {"scope": "all"},
            "warm_start": {"demonstrations": 6, "epochs": 1, "judge_steps": 20, "judge_epochs": 1, "reuse": warm},
            "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 4},
            "evaluation": {"panels": ["valid_seen"], "episodes": 2, "max_steps": 4, "judge_episodes": 2},
            "curriculum": {
                "pool_size": 2,
                "knobs": KNOBS,
                "rewriter": "llm",
                "summariser": "scripted",
                "llm": {"base_url": service.base_url, "model": "tiny", "attempts": 1, **llm},
            },
        }
    )


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewriting, "PATIENCE_S", 2.0)


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warm start that all runs here share."""
    path = tmp_path_factory.mktemp("warm") / "served"
    threads = torch.get_num_threads()
    unused = Service()
    warm_up(config(unused, None), RunFolder(path), Reporter.silent())
    unused.server_close()
    torch.set_num_threads(threads)
    return path


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """For each task of the pool, an easier one that the domain accepts, but not for the other task."""
    roots = [DOMAIN.generate(seed_of(SEED, "pool", number), "train", **KNOBS) for number in range(2)]

    def proved(task: Task, proposal: dict[str, Any]) -> bool:
        return isinstance(DOMAIN.validate(task, proposal, direction="easier", author="a"), Task)

    found = []
    for root, other in zip(roots, roots[::-1], strict=True):
        drawn = (p for seed in range(20) for p in DOMAIN.propose(root, "easier", np.random.default_rng(seed)))
        good = next(proposal for proposal in drawn if proved(root, proposal) and not proved(other, proposal))
        found.append(f"Here it is:\n```json\n{json.dumps(good)}\n```")
    return found


@pytest.fixture(scope="module")
def straight(warm: Path, answers: list[str], tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run whose service answers all the time."""
    folder, threads = RunFolder(tmp_path_factory.mktemp("straight") / "run"), torch.get_num_threads()
    with served() as service:
        service.default = say(answers[1])
        train(config(service, warm), folder, Reporter.silent(), command="test")
    torch.set_num_threads(threads)
    return folder


def until_an_iteration_is_done(folder: RunFolder, outage: Behaviour, answers: list[str]) -> Behaviour:
    """An outage for the whole first iteration; then good answers, of which one of the two fits the task asked about."""

    def behave(handler: Handler, asked: Asked) -> None:
        if not folder.metrics.exists() or not folder.metrics.read_text():
            outage(handler, asked)
            return
        say(answers[len(asked.body["messages"][0]["content"]) % 2])(handler, asked)

    return behave


def rows_of(folder: RunFolder) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in folder.rows()]


def events_of(folder: RunFolder) -> list[tuple[str, str, str]]:
    with TaskPool.open(folder.pool) as pool:
        return [(event.kind, event.task_id or "", event.reason) for event in pool.events()]


def learned(row: dict[str, Any]) -> dict[str, Any]:
    """What an iteration did besides rewriting."""
    return {
        key: row[key] for key in ("env_steps", "success", "feedback", "policy", "judge", "judge_quality", "behaviour")
    }


NO_ANSWER: dict[str, Behaviour] = {
    "500": status(500),
    "429 with Retry-After": status(429, "busy", Retry_After="3600"),
    "silence": hang,
    "a page": raw(b"<html><body>502 Bad Gateway</body></html>"),
    "no such model": status(404, "the model `tiny` does not exist"),
    "half an answer": raw(b'{"choices": [{"message": {"content": "Y'),
    "another JSON": raw(b'{"detail": "ok"}'),
    "no choices": raw(b'{"choices": []}'),
    "hangs up": close_at_once_after_reading,
}
LIES: dict[str, Behaviour] = {
    "empty text": say(""),
    "blanks": say(" \n "),
    "chatter": say("I would love to help you with that!"),
    "a task of nonsense": say('{"goal": "fly to the moon", "objects": [1, 2, {"a": null}]}'),
    "an empty task": say("{}"),
    "megabytes": raw(b" " * (5 << 20)),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "silence" else [pytest.mark.slow]) for name in NO_ANSWER]
)
def test_a_run_degrades_for_an_iteration_and_recovers(
    service: Service, warm: Path, answers: list[str], tmp_path: Path, name: str
) -> None:
    folder = RunFolder(tmp_path / "run")
    service.default = until_an_iteration_is_done(folder, NO_ANSWER[name], answers)
    summary = train(config(service, warm), folder, Reporter.silent(), command="test")
    first, second = rows_of(folder)
    assert first["rewriter"] == {"requests": 2, "unanswered": 1, "skipped": 1}, "one outage costs one request"
    assert first["curriculum"]["discarded"] == {"generator_error": 2}
    assert first["tasks"]["proposed"] == 0
    assert "no answer" in first["alarms"]["infrastructure"][0]
    assert second["rewriter"] == {"requests": 2, "unanswered": 0, "skipped": 0}
    assert summary["iterations"] == 2
    health = {line["signature"]: line for line in summary["health"]}
    assert health["infrastructure"]["when"].startswith("1")
    assert "2 of 2 requests" in folder.report.read_text() or "2 of 4 requests" in folder.report.read_text()
    assert learned(first) == NORMAL.setdefault("first", learned(first)), "nothing but the rewriting is touched"


NORMAL: dict[str, Any] = {}
"""What the first iteration comes to, the same in every test here."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name != "empty text" else []) for name in LIES]
)
def test_a_lie_never_becomes_a_task(service: Service, warm: Path, tmp_path: Path, name: str) -> None:
    service.default = LIES[name]
    folder = RunFolder(tmp_path / "run")
    train(config(service, warm), folder, Reporter.silent(), command="test")
    for row in rows_of(folder):
        assert row["rewriter"]["unanswered"] == row["rewriter"]["skipped"] == 0
        assert row["tasks"]["proposed"] == row["tasks"]["accepted"] == 0
    reasons = {reason for kind, _, reason in events_of(folder)}
    assert {kind for kind, _, _ in events_of(folder)} == {"discarded"}
    assert reasons.isdisjoint({"generator_error"}) or (name, reasons) == ("megabytes", {"generator_error"})
    if name in ("empty text", "blanks"):
        assert reasons == {"empty"}
    assert learned(rows_of(folder)[0]) == NORMAL.setdefault("first", learned(rows_of(folder)[0]))


@pytest.mark.slow
def test_a_run_waits_shows_it_and_ends_as_if_nothing_had_been(
    service: Service,
    warm: Path,
    answers: list[str],
    straight: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rewriting, "PATIENCE_S", 120.0)
    waiting = RunFolder(tmp_path / "waiting")
    service.default = say(answers[1])
    service.script.extend([status(503, "[red]down\x1b[2J")] * 6)
    lines: list[str] = []
    reporter = Reporter.silent()
    reporter.say = lines.append  # type: ignore[method-assign]
    train(config(service, warm, on_failure="wait"), waiting, reporter, command="test")
    told = [line for line in lines if "waiting for" in line]
    assert told
    assert all("s at most" in line and "\x1b" not in line and "\\[red]" in line for line in told)
    assert rows_of(waiting) == rows_of(straight)
    assert events_of(waiting) == events_of(straight)


@pytest.mark.parametrize("policy", ["stop", pytest.param("wait", marks=pytest.mark.slow)])
def test_a_run_stops_with_its_checkpoint_and_goes_on_to_the_same_end(
    service: Service, warm: Path, answers: list[str], straight: RunFolder, tmp_path: Path, policy: str
) -> None:
    stopped = RunFolder(tmp_path / "stopped")
    asked = sum(row["rewriter"]["requests"] for row in rows_of(straight))

    def down_in_the_second(handler: Handler, asked: Asked) -> None:
        done = stopped.metrics.exists() and stopped.metrics.read_text()
        (status(500, "out of memory") if done else say(answers[1]))(handler, asked)

    service.default = down_in_the_second
    pattern = r"no answer.*(out of memory|no answer within).*the same command resumes"
    with pytest.raises(RunStopped, match=pattern) as caught:
        train(config(service, warm, on_failure=policy), stopped, Reporter.silent(), command="test")
    assert caught.value.exit_code == RunStopped.TRY_LATER
    assert stopped.checkpoints.latest() == (1, stopped.checkpoints.path / "0001")
    assert not stopped.summary.exists()

    service.default, before = say(answers[1]), len(service.asked)
    train(config(service, warm, on_failure="stop"), stopped, Reporter.silent(), command="test")
    assert len(service.asked) - before <= asked, "what was answered is not asked again"
    assert rows_of(stopped) == rows_of(straight)
    assert events_of(stopped) == events_of(straight)
    for role in ("policy", "judge"):
        ends = [
            load_file(folder.checkpoints.path / "0002" / role / "model.safetensors") for folder in (straight, stopped)
        ]
        assert all(torch.equal(ends[0][key], ends[1][key]) for key in ends[0])


def test_a_killed_degraded_run_takes_its_course_again(service: Service, warm: Path, tmp_path: Path) -> None:
    """Killed between the outage and the checkpoint; by then the service is well again."""
    folder = RunFolder(tmp_path / "run")
    service.default = status(401, "who are you")

    class Killed(BaseException):
        pass

    def killed(self: RunFolder, row: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RunFolder, "append_metrics", killed)
        with pytest.raises(Killed):
            train(config(service, warm), folder, Reporter.silent(), command="test")
    first = events_of(folder)
    asked = len(service.asked)
    seen: list[list[tuple[str, str, str]]] = []
    store = RunFolder.append_metrics

    def stored(self: RunFolder, row: Any) -> None:
        seen.append(events_of(folder))
        store(self, row)

    service.default = say("well again")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RunFolder, "append_metrics", stored)
        train(config(service, warm), folder, Reporter.silent(), command="test")
    assert seen[0] == first
    assert len(service.asked) > asked, "and is asked again in the next iteration"


def test_the_command_line_ends_with_a_code_and_a_line(service: Service, warm: Path, tmp_path: Path) -> None:
    service.default = status(500)
    file = tmp_path / "served.yaml"
    file.write_text(yaml.safe_dump(config(service, warm).model_dump(mode="json")))
    keys = ["--set", "curriculum.llm.on_failure=stop"]
    result = CliRunner().invoke(app, ["train", str(file), "--out", str(tmp_path / "served"), *keys])
    assert result.exit_code == 75, result.output
    assert "the same command resumes" in result.stderr
    assert "Traceback" not in result.stderr


def test_how_a_service_is_waited_for_is_no_part_of_a_run(service: Service) -> None:
    stored = config(service, None, on_failure="wait").model_dump(mode="json")["curriculum"]["llm"]
    assert "on_failure" not in stored


# -- monitors in a run -----------------------------------------------------------------------------------------


def test_a_monitor_stops_a_run_that_can_go_on(service: Service, warm: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    service.default = status(500)
    settings = config(service, warm)
    watched = settings.model_copy(update={"monitors": MonitorsConfig(stop=("infrastructure",))})
    said = r"stopped after iteration 1: .*\(infrastructure\).*monitors\.stop=\[\]"
    with pytest.raises(RunStopped, match=said) as caught:
        train(watched, folder, Reporter.silent(), command="test")
    assert caught.value.exit_code == RunStopped.UNHEALTHY
    assert folder.checkpoints.latest() == (1, folder.checkpoints.path / "0001")
    summary = train(settings, folder, Reporter.silent(), command="test")
    assert summary["iterations"] == 2
    assert {line["signature"]: line["when"] for line in summary["health"]}["infrastructure"] == "1-2"
