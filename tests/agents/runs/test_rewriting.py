"""A run whose tasks a language model rewrites, over real HTTP to a service that knows one answer."""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlanything_agents.config import CurriculumConfig, RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.rewriting import open_rewriter
from rlanything_agents.runs.train import train
from rlanything_envs.curriculum import Request, ScriptedRewriter
from rlanything_envs.llm import read_log
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

KEY = "Plain0123456789abcdefXYZ"
KNOBS = {"rooms": ["Kitchen"], "kinds": ["heat"]}
SMALL = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64}


class Service(ThreadingHTTPServer):
    """Always answers `text`."""

    daemon_threads = True

    def __init__(self, text: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.text = text
        self.keys: list[str] = []


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.keys.append(self.headers["authorization"])
        message = {"role": "assistant", "content": self.server.text}
        body = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 500, "completion_tokens": 50},
        }
        raw = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def root() -> Task:
    """The only task of the pool."""
    return DOMAIN.generate(seed_of(1, "pool", 0), "train", **KNOBS)


@pytest.fixture
def service(root: Task) -> Iterator[Service]:
    """Proposes an easier task for the root that the domain accepts."""
    proposals = DOMAIN.propose(root, "easier", np.random.default_rng(0))
    good = next(p for p in proposals if isinstance(DOMAIN.validate(root, p, direction="easier", author="a"), Task))
    service = Service(f"Here it is:\n```json\n{json.dumps(good)}\n```")
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield service
    service.shutdown()
    service.server_close()


def config(service: Service, **llm: Any) -> RunConfig:
    address = f"http://127.0.0.1:{service.server_port}/v1"
    return RunConfig.model_validate(
        {
            "name": "rewritten",
            "seed": 1,
            "threads": 1,
            "iterations": 1,
            "policy": SMALL,
            "reward_model": SMALL,
            "warm_start": {"demonstrations": 6, "epochs": 1, "judge_steps": 20, "judge_epochs": 1},
            "rollout": {"tasks": 1, "rollouts": 2, "max_steps": 4},
            "evaluation": {"panels": ["valid_seen"], "episodes": 2, "max_steps": 4, "judge_episodes": 2},
            "curriculum": {
                "pool_size": 1,
                "knobs": KNOBS,
                "rewriter": "llm",
                "llm": {"base_url": address, "model": "some/model", "api_key_env": "TEST_KEY", **llm},
            },
        }
    )


def test_the_answers_are_logged_and_not_asked_for_twice(
    service: Service, root: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    train(config(service), folder, Reporter.silent(), command="test")
    assert service.keys == [f"Bearer {KEY}"]
    with TaskPool.open(folder.pool) as pool:
        candidate = pool.candidate(0)
    assert candidate is not None
    assert candidate.parent == root.id
    assert candidate.rewrite is not None
    assert candidate.rewrite.author == "some/model"
    (record,) = read_log(folder.prompts)
    assert record.text == service.text
    assert all(KEY not in path.read_text(errors="replace") for path in folder.path.rglob("*") if path.is_file())

    shutil.rmtree(folder.checkpoints.path / "0001")  # as if the run had been killed in its first iteration
    folder.summary.unlink()
    train(config(service), folder, Reporter.silent(), command="test")
    assert len(service.keys) == 1
    with TaskPool.open(folder.pool) as pool:
        assert pool.candidate(0) == candidate


def test_an_empty_budget_ends_the_rewriting_and_not_the_run(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    folder = RunFolder(tmp_path / "run")
    summary = train(config(service, budget=10), folder, Reporter.silent(), command="test")
    assert service.keys == []
    assert summary["iterations"] == 1
    with TaskPool.open(folder.pool) as pool:
        assert [event.reason for event in pool.events(kind="discarded")] == ["generator_error"]


def test_operators_reach_the_scripted_rewriter(tmp_path: Path, root: Task) -> None:
    changed = set()
    for operators in (None, ("start",)):
        with open_rewriter(CurriculumConfig(operators=operators), tmp_path / "absent.jsonl") as rewriter:
            assert isinstance(rewriter, ScriptedRewriter)
            result = rewriter.rewrite(Request(root, "easier", 0.0), np.random.default_rng(0))
            assert result.candidate is not None
            assert result.candidate.rewrite is not None
            changed.add(result.candidate.payload["goal"] == root.payload["goal"])
    assert changed == {False, True}, "the domain's own choice changes the goal, `start` leaves it"
    assert not (tmp_path / "absent.jsonl").exists()
