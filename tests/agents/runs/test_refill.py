"""Groups without spread and the groups that are played in their place: real episodes whose outcomes are scripted."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rlanything_agents.config import RunConfig
from rlanything_agents.config.section import ANY
from rlanything_agents.config.seeds import rng_of
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.tasks import generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.loop import Loop, _Stopwatch
from rlanything_envs.curriculum import ScriptedRewriter
from rlanything_task_pools import Task, TaskPool, get_domain

SMALL = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32}
CONFIG = RunConfig.model_validate(
    {
        "name": "refill",
        "seed": 3,
        "threads": 1,
        "policy": SMALL,
        "reward_model": SMALL,
        "rollout": {"tasks": 3, "refill": 2, "rollouts": 2, "max_steps": 2, "environments": 4},
        "feedback": "outcome",
        "judge": {"train": False},
        "curriculum": {"pool_size": 8, "acceptance": "paper"},
    }
)


class Outcomes(LocalWorkers):
    """Workers whose episodes end as ``outcomes`` says of a slot; they keep what they were asked for."""

    def __init__(self, config: RunConfig, learners: Learners, envs: Sequence[Any]) -> None:
        super().__init__(config, learners, envs)
        self.outcomes: Callable[[int], tuple[int, int]] = lambda slot: (-1, -1)
        self.plays: list[tuple[list[int], Play]] = []

    def play(self, tasks: Sequence[Task], how: Play, tags: Any = None, progress: Any = None, ended: Any = None) -> Any:
        slots = [int(tag.split(",")[0].removeprefix("slot ")) for tag in tags]
        self.plays.append((slots[::2], how))
        found = super().play(tasks, how, tags, progress)
        episodes: list[Trajectory] = [
            dataclasses.replace(t, outcome=self.outcomes(slot)[place % 2])
            for place, (t, slot) in enumerate(zip(found, slots, strict=True))
        ]
        ended(0, episodes)
        return episodes


@pytest.fixture(scope="module")
def learners() -> Learners:
    return Learners(CONFIG)


@pytest.fixture
def loop_on(learners: Learners, tmp_path: Path) -> Iterator[Callable[..., Loop]]:
    pools: list[TaskPool] = []
    envs = make_envs(CONFIG, 4)

    def make(config: RunConfig = CONFIG, copy_of: TaskPool | None = None) -> Loop:
        file = tmp_path / f"{len(pools)}.sqlite"
        if copy_of is None:
            pool = TaskPool.create(file, generate_tasks(get_domain("alfworld"), "train", range(8), ANY))
        else:
            copy_of.copy(file)
            pool = TaskPool.open(file)
        pools.append(pool)
        reviewer = get_supervision("alfworld").reviewer(config, learners.judge_model)
        workers = Outcomes(config, learners, envs)
        return Loop(config, learners, reviewer, pool, [], ScriptedRewriter(), workers)

    yield make
    for pool in pools:
        pool.close()
    for env in envs:
        env.close()


def workers_of(loop: Loop) -> Outcomes:
    assert isinstance(loop.workers, Outcomes)
    return loop.workers


def changed(**rollout: int) -> RunConfig:
    return CONFIG.model_copy(update={"rollout": CONFIG.rollout.model_copy(update=rollout)})


def test_without_spread_further_batches_play_other_tasks_until_none_is_left(loop_on: Callable[..., Loop]) -> None:
    loop = loop_on()
    result = loop.iterate([])
    slots = [batch for batch, _ in workers_of(loop).plays]
    assert [len(batch) for batch in slots] == [3, 3, 2]
    assert sorted(slot for batch in slots for slot in batch) == loop.pool.slots
    assert result.metrics["groups"] == {"played": 8, "ahead": 0, "refilled": 5, "spread": 0.0}
    assert result.batches == [6, 6, 4]
    assert len(result.episodes) == len(loop.pool.outcomes()) == 16, "every group is in the pool"
    assert result.metrics["env_steps"] == sum(len(episode["turns"]) for episode in result.episodes) == 32
    proposed = {event.slot for event in loop.pool.events() if event.kind in ("proposed", "discarded")}
    assert proposed == set(loop.pool.slots), "the curriculum rewrites the tasks of all"


def test_a_full_batch_with_spread_is_enough(loop_on: Callable[..., Loop]) -> None:
    loop = loop_on()
    workers_of(loop).outcomes = lambda slot: (1, -1)
    assert loop.iterate([]).metrics["groups"] == {"played": 3, "ahead": 0, "refilled": 0, "spread": 1.0}


def test_only_what_is_missing_is_played(loop_on: Callable[..., Loop]) -> None:
    """The first batch of the seed has one group with spread, and the second one more; then the batches are used up."""
    loop = loop_on(changed(refill=1))
    drawn = [a.slot for a in loop.curriculum.assign(3, rng_of(3, "iteration", 1))]
    workers_of(loop).outcomes = lambda slot: (1, -1) if slot == drawn[0] or slot not in drawn else (1, 1)
    result = loop.iterate([])
    (first, one), (second, other) = workers_of(loop).plays
    assert first == drawn
    assert len(second) == 2
    assert not set(first) & set(second)
    assert result.metrics["groups"] == {"played": 5, "ahead": 0, "refilled": 2, "spread": 0.6}
    assert one.seed != other.seed, "episodes of both batches have numbers from 0"
    plain = loop_on(changed(refill=0))
    plain.iterate([])
    assert workers_of(plain).plays == [(first, one)], "the first batch is that of a run without refill"


def test_a_trial_counts_whatever_its_outcomes(loop_on: Callable[..., Loop]) -> None:
    loop = loop_on()
    workers_of(loop).outcomes = lambda slot: (1, 1)
    before = [loop.iterate([]).metrics]
    waiting = [slot for slot in loop.pool.slots if loop.pool.candidate(slot) is not None]
    assert len(waiting) > 3
    result = loop.iterate(before)
    tried = {episode["slot"] for episode in result.episodes if episode["role"] == "candidate"}
    assert tried == set(waiting), "waiting candidates come first, in further batches too"
    rejected = {event.slot for event in loop.pool.events() if event.kind == "rejected"}
    assert rejected == tried, "a candidate that is always solved is not harder"


def test_a_loop_on_a_copy_of_the_pool_takes_the_same_course(loop_on: Callable[..., Loop]) -> None:
    loop = loop_on()
    loop.iterate([])
    found = []
    for one in (loop, loop_on(copy_of=loop.pool)):
        workers_of(one).outcomes = lambda slot: (1, -1) if slot % 3 == 0 else (-1, -1)
        found.append(one._rollout_and_judge(2, rng_of(3, "iteration", 2), _Stopwatch()))
    assert found[0] == found[1]
    assert len(found[0][1]) > 1
