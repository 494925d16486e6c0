"""Tasks are rewritten by a service while models are trained: the same run, sooner, and nothing is left behind."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scripted_service import Asked, Handler, Service, say, served, status

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs import rewriting as rewriting_module
from rlanything_agents.runs.background import BackgroundRewriter
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train
from rlanything_agents.training.learner import Learner
from rlanything_envs.curriculum import Request, Rewriting
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

KNOBS = {"rooms": ["Kitchen"], "kinds": ["heat"]}
SMALL = {"hidden_size": 32, "layers": 1}
SEED = 1


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


def config(service: Service) -> RunConfig:
    """One iteration on three tasks, none of which is won: each asks for something easier."""
    return RunConfig.model_validate(
        {
            "name": "beside",
            "seed": SEED,
            "threads": 1,
            "iterations": 1,
            "policy": SMALL,
            "reward_model": SMALL,
            "warm_start": {"demonstrations": 6, "epochs": 1, "judge_steps": 20, "judge_epochs": 1},
            "rollout": {"tasks": 3, "rollouts": 2, "max_steps": 4},
            "feedback": {"policy_band": None, "judge_band": None},
            "evaluation": {"panels": ["valid_seen"], "episodes": 2, "max_steps": 4, "judge_episodes": 2},
            "curriculum": {
                "pool_size": 3,
                "knobs": KNOBS,
                "rewriter": "llm",
                "llm": {"base_url": service.base_url, "model": "tiny", "attempts": 2},
            },
        }
    )


def good_answer() -> str:
    """An easier task in place of the first of the pool; for the others it is none."""
    root = DOMAIN.generate(seed_of(SEED, "pool", 0), "train", **KNOBS)
    proposals = DOMAIN.propose(root, "easier", np.random.default_rng(0))
    good = next(p for p in proposals if isinstance(DOMAIN.validate(root, p, direction="easier", author="a"), Task))
    return f"Here it is:\n```json\n{json.dumps(good)}\n```"


def end_of(folder: RunFolder) -> tuple[Any, ...]:
    """What a run came to: metrics, log of the pool, weights."""
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in folder.rows()]
    with TaskPool.open(folder.pool) as pool:
        events = [(event.kind, event.slot, event.task_id, event.reason) for event in pool.events()]
    weights = {
        (role, name): weight.tolist()
        for role in ("policy", "judge")
        for name, weight in load_file(folder.checkpoints.path / "0001" / role / "model.safetensors").items()
    }
    return rows, events, weights


def test_a_run_is_the_same_and_rewrites_while_it_trains(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, asked, trained = good_answer(), threading.Event(), threading.Event()
    update, threads = Learner.update, torch.get_num_threads()
    service.script.append(status(500))  # the first of them is asked for twice
    service.default = say(answer)
    folders = {name: RunFolder(tmp_path / name) for name in ("after", "beside")}
    with monkeypatch.context() as patched:
        patched.setattr(rewriting_module, "BackgroundRewriter", lambda rewriter: rewriter)
        train(config(service), folders["after"], Reporter.silent(), command="test")

    def wait(self: Learner, *args: Any) -> Any:
        assert asked.wait(60), "nobody rewrites while the models are trained"
        try:
            return update(self, *args)
        finally:
            trained.set()

    def answer_when_trained(handler: Handler, question: Asked) -> None:
        asked.set()
        assert trained.wait(60)
        status(500)(handler, question)

    monkeypatch.setattr(Learner, "update", wait)
    service.script.append(answer_when_trained)
    train(config(service), folders["beside"], Reporter.silent(), command="test")
    torch.set_num_threads(threads)
    assert end_of(folders["beside"]) == end_of(folders["after"])
    assert [kind for kind, *_ in end_of(folders["beside"])[1]].count("proposed") > 1


class Slow:
    """A rewriter that waits."""

    name = "slow"

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()

    def rewrite(self, request: Request, rng: np.random.Generator) -> Rewriting:
        self.asked.set()
        assert self.go.wait(60)
        return Rewriting(None)


def test_what_comes_after_a_failure_is_let_go_of() -> None:
    slow, done, ended = Slow(), [], threading.Event()
    beside = BackgroundRewriter(slow)
    request: Any = None

    def first() -> None:
        try:
            beside.rewrite(request, np.random.default_rng(0))
            done.append("written")
        except RunMustStop:
            done.append("abandoned")
        finally:
            ended.set()

    def fail_meanwhile() -> None:
        with beside.running([first, lambda: done.append("second")]):
            assert slow.asked.wait(60)
            raise MemoryError

    with pytest.raises(MemoryError):
        fail_meanwhile()
    slow.go.set()
    assert ended.wait(60)
    assert done == ["abandoned"]


def test_what_goes_wrong_beside_is_raised_where_it_is_waited_for() -> None:
    def fail() -> None:
        raise ValueError("no such task")

    after: list[str] = []
    with BackgroundRewriter(Slow()).running([fail, lambda: after.append("x")]) as wait:
        after.append("trained")
        with pytest.raises(ValueError, match="no such task"):
            wait()
    assert after == ["trained"]
