"""Rollouts of the next iteration during the updates of this one: by the policy before it, and none is lost."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.torch import load_file
from seeing import screen
from small_runs import SHORT

from rlanything_agents.config import ConfigError, RunConfig, WorkersConfig
from rlanything_agents.rollout.queries import QueriesAtEnd
from rlanything_agents.rollout.trajectory import PromptedTurn, Step, Trajectory
from rlanything_agents.rollout.workers import Play, Shard, open_workers
from rlanything_agents.rollout.workers.process import RolloutWorker
from rlanything_agents.runs import train as train_module
from rlanything_agents.runs.ahead import AheadBatch
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.preflight import check_ahead
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import open_run, train
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_agents.training.errors import TrainingError
from rlanything_agents.training.learner import Learner
from rlanything_envs.curriculum import Assignment
from rlanything_envs.message import Image
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN

TREE = {
    **SHORT,
    "name": "ahead",
    "iterations": 3,
    "rollout": {**SHORT["rollout"], "ahead": True, "environments": 3},
    "workers": {"judge": "after"},
}
CONFIG = RunConfig.model_validate(TREE)


class Copies:
    """A worker in a thread of this process, with a copy of the policy as workers in other processes have it."""

    def __init__(self, config: RunConfig, models: Learners) -> None:
        self.models = models
        self.worker = RolloutWorker({**config.model_dump(mode="json"), "workers": {"judge": "after"}})
        self.begin: Callable[[], object] = lambda: None
        self.played: list[tuple[str, dict[str, torch.Tensor]]] = []
        """Thread and weights of each rollout."""
        self.shards = 0

    def play(
        self, tasks: Sequence[Task], how: Play, tags: Any = None, progress: Any = None, ended: Any = None
    ) -> list[Trajectory]:
        thread = threading.current_thread().name
        if thread != "MainThread":
            self.begin()
        weights: Any = self.models.for_copies("policy")
        self.played.append((thread, weights))
        episodes = []
        for first in range(0, len(tasks), 3):
            shard = Shard(first, tuple(tasks[first : first + 3]), tuple(tags or [""] * len(tasks))[first : first + 3])
            episodes += self.worker.play(len(self.played), weights, shard, how)
            self.shards += 1
            if progress is not None:
                progress(len(shard.tasks))
        if ended is not None:
            ended(0, episodes)
        return episodes

    @contextlib.contextmanager
    def queries(self, params: Any) -> Iterator[QueriesAtEnd]:
        yield QueriesAtEnd(self.models.judge_model.generator, params)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Copies]]:
    """The workers of the runs of a test."""
    made: list[Copies] = []

    @contextlib.contextmanager
    def opened(config: RunConfig, models: Learners) -> Iterator[Copies]:
        made.append(Copies(config, models))
        yield made[-1]

    monkeypatch.setattr(train_module, "open_workers", opened)
    threads = torch.get_num_threads()
    yield made
    torch.set_num_threads(threads)


def state_of(folder: RunFolder, iteration: int = 3) -> Any:
    """Result of a run up to an iteration, without its times."""
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in folder.rows()][:iteration]
    with TaskPool.open(folder.checkpoints.folder(iteration) / "pool.sqlite") as pool:
        tasks = pool.counts(), pool.events()
    weights = {
        (role, name): weight.tolist()
        for role in ("policy", "judge")
        for name, weight in load_file(folder.checkpoints.folder(iteration) / role / "model.safetensors").items()
    }
    return rows, tasks, weights


@pytest.mark.slow
def test_a_batch_is_one_update_old_and_an_interrupted_run_has_it(copies: list[Copies], tmp_path: Path) -> None:
    """The first batch of an iteration is played with the weights before the last update, even where the play begins
    after the update. The same seed gives the same run, interrupted or not.
    """
    folder, after, updated = RunFolder(tmp_path / "straight"), [], threading.Semaphore(0)
    update = Learner.update

    def noticed(learner: Learner, *args: Any) -> Any:
        stats = update(learner, *args)
        if learner is copies[0].models.judge:
            updated.release()
        return stats

    with pytest.MonkeyPatch.context() as patch, open_run(CONFIG, folder, Reporter.silent()) as run:
        patch.setattr(Learner, "update", noticed)
        copies[0].begin = updated.acquire
        with run.loop() as step:
            after.append(copies[0].models.for_copies("policy"))
            while step():
                after.append(copies[0].models.for_copies("policy"))

    def same(one: Any, other: Any) -> bool:
        return all(torch.equal(weight, other[name]) for name, weight in one.items())

    assert not any(same(one, other) for one, other in pairwise(after)), "each update moved them"
    ahead = [weights for thread, weights in copies[0].played if thread != "MainThread"]
    assert len(ahead) == 2, "nothing is played for an iteration after the last"
    assert same(ahead[0], after[0])
    assert same(ahead[1], after[1])
    counts = [row["groups"]["ahead"] for row in folder.rows()]
    assert counts == [0, 3, 3]
    for thread, weights in copies[0].played:
        if thread == "MainThread":
            assert any(same(weights, present) for present in after[:-1])
    first, *older = [row["policy"]["sampler_kl"] for row in folder.rows() if row["policy"]]
    assert 100 * max(first, 1e-8) < min(older), "sampler and trainer have the same weights in the first iteration alone"

    resumed = RunFolder(tmp_path / "resumed")
    for left in (1, 2):  # the second run goes on with the batch of the first
        with open_run(CONFIG, resumed, Reporter.silent()) as run, run.loop() as step:
            for _ in range(left):
                assert step()
    assert state_of(resumed) == state_of(folder)


def test_a_failed_update_leaves_no_rollout_behind(
    copies: list[Copies], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, failed = threading.Event(), threading.Event()

    def fail(*args: Any) -> Any:
        assert begun.wait(60)
        failed.set()
        raise TrainingError("no gradient")

    monkeypatch.setattr(Learner, "update", fail)
    monkeypatch.setattr("rlanything_agents.runs.background.LAST_WRITE_S", 60.0)  # a shard may take longer than 1 s
    with open_run(CONFIG, RunFolder(tmp_path / "run"), Reporter.silent()) as run, run.loop() as step:
        copies[0].begin = lambda: (begun.set(), failed.wait(60))
        with pytest.raises(TrainingError, match="no gradient"):
            step()
    assert copies[0].shards == 3 + 1, "all of the first batch, one of the next"


def episodes() -> st.SearchStrategy[Trajectory]:
    numbers, texts = st.floats(), st.text(max_size=4)
    ids = st.integers(0, 2**31)
    allowed = st.none() | st.lists(ids, max_size=3).map(tuple)
    pictures = st.sampled_from([screen(0, width, 8) for width in range(1, 5)]).map(lambda one: Image(one.png))
    turns = st.builds(
        PromptedTurn,
        st.lists(ids, max_size=2),
        st.lists(ids, max_size=2),
        st.lists(numbers, max_size=2),
        st.none() | st.lists(allowed, max_size=2),
        st.lists(pictures, max_size=2).map(tuple),
    )
    steps = st.builds(Step, texts, texts, texts, texts, texts, st.none() | pictures)
    return st.builds(
        Trajectory,
        task_id=texts,
        tag=texts,
        opening=texts,
        steps=st.lists(steps, max_size=2).map(tuple),
        outcome=st.sampled_from([1, -1, None]),
        error=texts,
        score=numbers,
        prompt_ids=st.lists(ids, max_size=2),
        completion_ids=st.lists(ids, max_size=2),
        step_of_token=st.lists(st.none() | ids, max_size=2),
        logprobs=st.lists(numbers, max_size=2),
        allowed=st.lists(allowed, max_size=2),
        turns=st.lists(turns, max_size=2).map(tuple),
        message=texts,
        overlong=st.booleans(),
        screen=st.none() | pictures,
    )


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskPool]:
    tasks = [DOMAIN.generate(seed, rooms=["Bathroom"], kinds=["simple"]) for seed in range(2)]
    with TaskPool.create(tmp_path_factory.mktemp("pool") / "pool.sqlite", tasks) as pool:
        yield pool


@settings(max_examples=30)
@given(groups=st.lists(st.lists(episodes(), max_size=2), max_size=2))
def test_a_stored_batch_is_read_to_the_last_bit(
    pool: TaskPool, tmp_path_factory: pytest.TempPathFactory, groups: list[list[Trajectory]]
) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    assert AheadBatch.load(folder, pool) is None
    given = [Assignment(slot, pool.active(slot), "candidate") for slot in range(len(groups))]
    AheadBatch(given, groups).save(folder)
    found = AheadBatch.load(folder, pool)
    assert found is not None
    assert found.assignments == given
    assert repr(found.groups) == repr(groups), "repr, because no number equals NaN"


def test_this_process_cannot_do_both(tmp_path: Path) -> None:
    alone = CONFIG.model_copy(update={"workers": None})
    with pytest.raises(ConfigError, match=r"rollout\.ahead.*--workers"):
        train(alone, RunFolder(tmp_path / "run"), Reporter.silent(), command="")
    assert not (tmp_path / "run").exists()
    findings = {finding.topic: finding for finding in dry_run(alone, RunFolder(tmp_path / "run"))}
    assert findings["ahead"].good is False
    stored = RunConfig.model_validate(CONFIG.model_dump(mode="json"))
    assert stored.workers is None, "a stored run can be read without its workers"


PICTURES = {**TREE["rollout"], "screenshots": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": {"kind": "vllm"}, "workers": None}, r"rollout\.ahead.*choose vllm_server"),
        ({"engine": {"kind": "vllm_server", "policy": {}, "sleep": True}}, r"rollout\.ahead.*engine\.sleep"),
        ({"engine": {"kind": "vllm_server", "policy": {}}, "rollout": PICTURES}, r"screenshots.*rollout\.ahead"),
        ({"engine": {"kind": "vllm_server", "policy": {}}}, ""),
    ],
)
def test_who_can_play_ahead(changes: dict[str, Any], message: str) -> None:
    tree = {**TREE, "workers": None, **changes}
    if "policy" in tree.get("engine", {}):
        tree["engine"] = {**tree["engine"], "policy": {"base_url": "http://gpu-1:8000/v1", "model": "m"}}
    if message:
        with pytest.raises(ValidationError, match=message):
            RunConfig.model_validate(tree)
    else:
        check_ahead(RunConfig.model_validate(tree))


@pytest.mark.slow
def test_a_worker_that_is_killed_during_the_update_costs_nothing(
    copies: list[Copies], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On Ray: the run is the one whose worker lives, to the last bit."""
    workers = pytest.importorskip("rlanything_agents.rollout.workers.ray", reason="extra ray")
    folders = [RunFolder(tmp_path / name) for name in ("alive", "killed")]
    train(CONFIG, folders[0], Reporter.silent(), command="")
    monkeypatch.setattr(train_module, "open_workers", open_workers)
    update, ready = Learner.update, workers.RayWorkers._ready
    opened: list[Any] = []
    killed: list[int] = []
    monkeypatch.setattr(workers.RayWorkers, "_ready", lambda self, some: (opened.append(self), ready(self, some))[1])

    def kill(learner: Learner, *args: Any) -> Any:
        if not killed:
            killed.append(opened[0].processes[0])
            os.kill(killed[0], signal.SIGKILL)
        return update(learner, *args)

    monkeypatch.setattr(Learner, "update", kill)
    config = CONFIG.model_copy(update={"workers": WorkersConfig(number=2, judge="after")})
    train(config, folders[1], Reporter.silent(), command="")
    assert killed
    assert killed[0] not in opened[0].processes
    assert state_of(folders[0]) == state_of(folders[1])
