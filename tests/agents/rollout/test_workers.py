"""Workers on a local Ray: the same episodes and votes as in one process, whichever worker is killed."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from small_runs import config_file

from rlanything_agents.config import RunConfig, WorkersConfig, load_config
from rlanything_agents.config.section import ANY
from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.queries import ChunkedQueries, Query
from rlanything_agents.rollout.tasks import generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers, shards_of
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.player import Player
from rlanything_agents.runs.progress import Reporter, Stopwatch
from rlanything_agents.runs.train import train
from rlanything_envs.curriculum import Curriculum, ScriptedRewriter
from rlanything_envs.errors import InfrastructureError
from rlanything_task_pools import TaskPool, get_domain

ray = pytest.importorskip("ray", reason="extra ray")

from rlanything_agents.rollout.workers import ray as ray_workers  # noqa: E402
from rlanything_agents.rollout.workers.ray import RayWorkers  # noqa: E402

SHARD = 3
SERVER = {"base_url": "http://gpu-1:8000/v1", "model": "m"}
OTHER = {**SERVER, "base_url": "http://gpu-2:8000/v1"}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    plain = load_config(config_file("alfworld", tmp_path_factory.mktemp("config")))
    rollout = plain.rollout.model_copy(update={"environments": SHARD, "tasks": 6, "top_p": 0.9})
    return plain.model_copy(update={"rollout": rollout, "workers": WorkersConfig()})


@pytest.fixture(scope="module")
def learners(config: RunConfig) -> Learners:
    return Learners(config)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray of the user's own, with room for the workers of two tests; it starts a process for each core."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    assert ray.is_initialized(), "a Ray that was there before is left running"
    ray.shutdown()


@pytest.fixture(scope="module")
def workers(config: RunConfig, learners: Learners, cluster: None) -> Iterator[RayWorkers]:
    assert config.workers is not None
    with RayWorkers.open(config, config.workers, learners) as opened:
        yield opened


def engine_of(learners: Learners) -> Any:
    """Generator of the reward model."""
    return learners.judge_model.generator.generator  # type: ignore[attr-defined]


def reviewer_of(config: RunConfig, learners: Learners) -> Any:
    return get_supervision(config.domain).reviewer(config, learners.judge_model)


def tasks(count: int) -> list[Any]:
    return generate_tasks(get_domain("alfworld"), "train", range(count), ANY)


def locally(config: RunConfig, learners: Learners, count: int, how: Play) -> list[Trajectory]:
    envs = make_envs(config, SHARD)
    return LocalWorkers(config, learners, envs).play(tasks(count), how)


HOW = Play(max_steps=10, seed=11, temperature=1.0)


@pytest.mark.slow
def test_a_run_with_workers_is_the_run_without(config: RunConfig, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    folders = {}
    for name, some in (("ray", config), ("local", config.model_copy(update={"workers": None}))):
        folders[name] = RunFolder(tmp_path / name)
        train(some, folders[name], Reporter.silent(), command="rlanything train")
    torch.set_num_threads(threads)
    rows = {
        name: [{key: value for key, value in row.items() if key != "seconds"} for row in folder.rows()]
        for name, folder in folders.items()
    }
    assert rows["ray"] == rows["local"]
    assert json.loads((tmp_path / "ray" / "config.json").read_text()) == json.loads(
        (tmp_path / "local" / "config.json").read_text()
    ), "who plays is no part of a run"
    for role in ("policy", "judge"):
        file = f"0002/{role}/model.safetensors"
        weights = [load_file(folder.checkpoints.path / file) for folder in folders.values()]
        assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())


def test_workers_play_what_one_process_plays(config: RunConfig, learners: Learners, workers: RayWorkers) -> None:
    ended: list[int] = []
    assert workers.play(tasks(8), HOW, progress=ended.append) == locally(config, learners, 8, HOW)
    assert sorted(filter(None, ended)) == [2, 3, 3]
    whole = config.model_copy(update={"rollout": config.rollout.model_copy(update={"top_p": 1.0})})
    assert locally(whole, learners, 8, HOW) != locally(config, learners, 8, HOW)


def test_workers_play_with_the_weights_as_they_are(config: RunConfig, learners: Learners, workers: RayWorkers) -> None:
    before = workers.play(tasks(4), HOW)
    with torch.no_grad():
        for weight in learners.policy.model.parameters():
            weight.mul_(1.5)
    after = workers.play(tasks(4), HOW)
    assert after != before
    assert after == locally(config, learners, 4, HOW)


@pytest.mark.slow
def test_what_a_killed_worker_played_is_played_again_and_counted_once(
    config: RunConfig, learners: Learners, workers: RayWorkers
) -> None:
    long = Play(max_steps=60, seed=5, temperature=1.0)
    expected = locally(config, learners, 24, long)
    processes = list(workers.processes)
    found: list[list[Trajectory]] = []
    player = threading.Thread(target=lambda: found.append(workers.play(tasks(24), long)))
    player.start()
    time.sleep(0.3)
    os.kill(processes[0], signal.SIGKILL)
    player.join()
    assert found == [expected]
    assert all(trajectory.outcome is not None for trajectory in found[0])
    assert workers.processes[0] != processes[0], "another worker has taken its place"


@pytest.fixture
def game(config: RunConfig, learners: Learners, tmp_path: Path) -> Iterator[Callable[..., list[Any]]]:
    """Plays and judges the groups of an iteration, in shards and chunks that are much smaller than the whole."""
    pool = TaskPool.create(tmp_path / "pool.sqlite", tasks(config.curriculum.pool_size))
    tokens, engine_of(learners).tokens = engine_of(learners).tokens, 2400

    def play(workers: Workers | None) -> list[Any]:
        own = workers or LocalWorkers(config, learners, make_envs(config, SHARD))
        curriculum = Curriculum(pool, ScriptedRewriter(), rollouts=config.rollout.rollouts)
        player = Player(config.rollout, own, reviewer_of(config, learners), curriculum, config.seed)
        return player.play(1, rng_of(config.seed, "iteration", 1), Stopwatch())

    yield play
    engine_of(learners).tokens = tokens
    pool.close()


@pytest.mark.parametrize("judge", ["after", "meanwhile", "workers"])
def test_the_votes_are_the_same_whoever_asks_and_when(
    game: Callable[..., list[Any]], workers: RayWorkers, monkeypatch: pytest.MonkeyPatch, judge: str
) -> None:
    monkeypatch.setattr(workers, "judge", judge)
    events: list[str] = []
    for name in ("_submit_rest", "answers"):
        was = getattr(ChunkedQueries, name)
        monkeypatch.setattr(ChunkedQueries, name, lambda *a, was=was, name=name: (events.append(name), was(*a))[1])
    found = game(workers)
    assert found == game(None)
    assert len(found) == 6
    votes = [vote for group in found for steps in group.votes for step in steps for vote in step.votes]
    assert len({tuple(vote.token_ids) for vote in votes}) > 5
    assert (events[:1] == ["_submit_rest"]) == (judge != "after"), "the first part is asked before all are known"


@pytest.mark.slow
def test_what_a_killed_worker_judged_is_judged_again(
    game: Callable[..., list[Any]], workers: RayWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, killed = ChunkedQueries.answers, []

    def kill(asking: ChunkedQueries) -> list[Any]:
        killed.append(workers.processes[1])
        os.kill(killed[0], signal.SIGKILL)
        return answers(asking)

    monkeypatch.setattr(ChunkedQueries, "answers", kill)
    assert game(workers) == game(None)
    assert killed[0] not in workers.processes


@pytest.mark.slow
def test_a_reward_model_that_writes_unit_tests_does_so_on_workers(cluster: None, tmp_path: Path) -> None:
    config = load_config(config_file("coding", tmp_path), ["rollout.environments=3"])
    learners = Learners(config)
    engine_of(learners).tokens = 1  # a task with its two tests
    tasks = generate_tasks(get_domain("coding"), "train", range(2), config.curriculum.knobs)
    pool = TaskPool.create(tmp_path / "pool.sqlite", tasks)
    found = []
    with pool, RayWorkers.open(config, WorkersConfig(), learners) as workers:
        for some in (None, workers):
            envs = [] if some else make_envs(config, 3)
            own = some or LocalWorkers(config, learners, envs)
            curriculum = Curriculum(pool, ScriptedRewriter(), rollouts=config.rollout.rollouts)
            player = Player(config.rollout, own, reviewer_of(config, learners), curriculum, config.seed)
            found.append(player.play(1, rng_of(config.seed, "iteration", 1), Stopwatch()))
            for env in envs:
                env.close()
    for one, other in zip(*found, strict=True):
        for wrote, copied in zip(one.tests, other.tests, strict=True):  # copies count their versions by themselves
            assert wrote == replace(copied, answer=replace(copied.answer, weights_version=wrote.answer.weights_version))
        assert len(one.tests) == config.judge.votes
        for ours, theirs in zip(one.trajectories, other.trajectories, strict=True):
            assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-5), "other batches round differently"
            assert replace(ours, logprobs=[]) == replace(theirs, logprobs=[])
        assert np.array_equal(one.passes, other.passes, equal_nan=True)


def test_an_invalid_query_ends_it_and_leaves_no_work_behind(
    config: RunConfig, learners: Learners, workers: RayWorkers
) -> None:
    params = reviewer_of(config, learners).judge.params(votes=2, seed=0)

    def fail(first: int, episodes: Any) -> None:
        raise ValueError("unreadable")

    with workers.queries(params) as asking:
        asking.add([Query([1, 2], None)] * 400)
        with pytest.raises(ValueError, match="unreadable"):
            workers.play(tasks(6), HOW, ended=fail)
    assert workers.play(tasks(6), HOW) == locally(config, learners, 6, HOW)
    with workers.queries(params) as asking:
        asking.add([Query([], None)])
        with pytest.raises(ValueError, match="at least one token"):
            asking.answers()


@pytest.mark.slow
def test_a_shard_that_kills_its_workers_ends_the_run_with_an_error(
    config: RunConfig, learners: Learners, cluster: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "REPEATS", 0)
    settings = WorkersConfig(number=1)
    with RayWorkers.open(config, settings, learners) as one:
        killer = threading.Timer(0.2, os.kill, (one.processes[0], signal.SIGKILL))
        killer.start()
        with pytest.raises(InfrastructureError, match="lost with their worker 1 times"):
            one.play(tasks(60), Play(max_steps=200, seed=0, temperature=1.0))


def test_what_no_node_has_is_named(
    config: RunConfig, learners: Learners, workers: RayWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_workers, "START_S", 1.0)
    settings = WorkersConfig(number=1000)
    with (
        pytest.raises(InfrastructureError, match=r"each needs 1 CPU, the cluster has .*CPU"),
        RayWorkers.open(config, settings, learners),
    ):
        pass


@pytest.mark.parametrize(("count", "size", "sizes"), [(8, 3, [3, 3, 2]), (3, 3, [3]), (2, 3, [2]), (0, 3, [])])
def test_shards_have_every_episode_once(count: int, size: int, sizes: list[int]) -> None:
    shards = shards_of(list(range(count)), [str(k) for k in range(count)], size)  # type: ignore[arg-type]
    assert [len(shard.tasks) for shard in shards] == sizes
    assert [task for shard in shards for task in shard.tasks] == list(range(count))
    assert all(shard.tags == tuple(map(str, shard.tasks)) and shard.tasks[0] == shard.first for shard in shards)


def test_shards_have_a_tag_for_each_task() -> None:
    with pytest.raises(ValueError, match="1 tags for 0 tasks"):
        shards_of([], ["one"], 2)


@pytest.mark.parametrize(
    ("engine", "workers", "message"),
    [
        ({"kind": "vllm"}, {}, r"cannot share an engine inside this process.*choose vllm_server"),
        ({"kind": "vllm_server", "judge": SERVER, "sleep": True}, {}, r"one server be awake.*choose after"),
        ({"kind": "vllm_server", "judge": SERVER, "sleep": True}, {"judge": "after"}, None),
        ({"kind": "vllm_server", "policy": SERVER, "judge": OTHER}, {"judge": "meanwhile"}, None),
    ],
)
def test_engines_that_workers_can_use(engine: dict[str, Any], workers: dict[str, Any], message: str | None) -> None:
    model = {"checkpoint": "some/model"}
    tree = {"name": "x", "policy": model, "reward_model": model, "engine": engine, "workers": workers}
    if message is None:
        assert RunConfig.model_validate(tree).workers is not None
    else:
        with pytest.raises(ValidationError, match=message):
            RunConfig.model_validate(tree)
