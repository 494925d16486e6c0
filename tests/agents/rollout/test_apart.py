"""Episodes that do not wait for each other, on an engine that serves many calls at once, against lock step."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import pytest
from families import policy

from rlanything_agents.rollout import episode, turns
from rlanything_agents.rollout.rollout import Policy, rollout
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams
from rlanything_task_pools import Task

Games = Callable[..., list[Task]]
Envs = list[gym.Env[str, str]]
PATIENCE_S = 60


class Served:
    """An engine that serves many calls at once, and answers each after a while."""

    parallel_calls = trainable = True

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.before: Callable[[SamplingParams], None] = lambda params: None
        self.fails: Callable[[SamplingParams], bool] = lambda params: False
        self.calls: list[int] = []
        self._lock, self._delays = threading.Lock(), random.Random(0)

    def generate(self, prompts: Sequence[Prompt], params: SamplingParams) -> list[list[Completion]]:
        assert len(prompts) == 1
        self.calls.append(params.keys[0])
        self.before(params)
        time.sleep(self._delays.random() / 100)
        if self.fails(params):
            return [[Completion("", "error", error="ServerBusy: HTTP 500")]]
        with self._lock:  # the model in this process serves one at a time
            return self.engine.generate(prompts, params)  # type: ignore[no-any-return]


@pytest.fixture
def served(untrained: Policy) -> Policy:
    return replace(untrained, engine=Served(untrained.engine))  # type: ignore[arg-type]


def gist(trajectory: Trajectory) -> tuple[Any, ...]:
    return trajectory.completion_ids, trajectory.steps, trajectory.outcome, trajectory.error, trajectory.task_id


@pytest.mark.parametrize("temperature", [1.0, 0.01])
def test_the_same_as_in_lock_step(
    untrained: Policy, served: Policy, envs: Envs, games: Games, temperature: float
) -> None:
    tasks, how = games(6), {"max_steps": 4, "seed": 3, "temperature": temperature, "first": 2}
    expected = rollout(untrained, envs, tasks, **how)
    for number, threads in ((6, 1), (6, 3), (2, 1)):
        ended: list[int] = []
        found = rollout(served, envs[:number], tasks, threads=threads, progress=ended.append, **how)
        assert [gist(one) for one in found] == [gist(one) for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        assert sum(ended) == 6


def test_a_slow_episode_holds_nobody_up(served: Policy, envs: Envs, games: Games) -> None:
    others_are_over, ended = threading.Event(), list[int]()

    def wait(params: SamplingParams) -> None:
        if params.keys == (0,):
            assert others_are_over.wait(PATIENCE_S), "they wait for the slow episode"

    def progress(number: int) -> None:
        ended.append(number)
        if sum(ended) == 7:
            others_are_over.set()

    served.engine.before = wait  # type: ignore[attr-defined]
    played = rollout(served, envs[:2], games(8), max_steps=3, seed=0, progress=progress)
    assert len(played) == sum(ended) == 8
    calls = served.engine.calls  # type: ignore[attr-defined]
    turns_of_the_slow_one = [at for at, key in enumerate(calls) if key == 0][1:]
    assert turns_of_the_slow_one == [len(calls) - 2, len(calls) - 1], "after all turns of all others"


class Slow(gym.Wrapper[Any, Any, Any, Any]):
    """An environment whose steps take ten seconds of a clock."""

    def __init__(self, env: gym.Env[Any, Any], clock: list[float]) -> None:
        super().__init__(env)
        self.clock = clock

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.clock[0] += 10
        return self.env.step(action)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]  # seconds, which episodes and turns read
    for module in (episode, turns):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture(params=["apart", "lock step"])
def playing(request: pytest.FixtureRequest, untrained: Policy, served: Policy) -> Policy:
    return served if request.param == "apart" else untrained


def test_an_episode_beyond_its_deadline_fails_by_its_own_steps(
    playing: Policy, envs: Envs, games: Games, clock: list[float]
) -> None:
    slow: Envs = [Slow(env, clock) for env in envs[:2]]
    (late,) = rollout(playing, slow[:1], games(1), max_steps=5, seed=0, deadline=25)
    assert (len(late.steps), late.outcome, late.error, late.late) == (3, -1, "", True)
    assert late.to_dict()["late"] is True
    both = rollout(playing, slow, games(2), max_steps=2, seed=0, deadline=5)
    assert [one.outcome for one in both] == [-1, -1]
    (free,) = rollout(playing, slow[:1], games(1), max_steps=5, seed=0)
    assert (len(free.steps), free.error, free.late) == (5, "", False)


def test_an_episode_that_waited_beyond_its_deadline_has_no_outcome(
    playing: Policy, envs: Envs, games: Games, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = playing.engine.generate

    def slowly(*given: Any) -> Any:
        clock[0] += 10
        return generate(*given)

    monkeypatch.setattr(playing.engine, "generate", slowly)
    (late,) = rollout(playing, envs[:1], games(1), max_steps=5, seed=0, deadline=25)
    assert (len(late.steps), late.outcome, late.late) == (3, None, False)
    assert late.error == "InfrastructureError: the episode took more than 25 s (rollout.deadline)"
    both = rollout(playing, envs[:2], games(2), max_steps=2, seed=0, deadline=5)
    assert [one.outcome for one in both] == [None, None], "and no service is lost"


def test_one_failed_answer_ends_one_episode_and_all_end_the_run(served: Policy, envs: Envs, games: Games) -> None:
    served.engine.fails = lambda params: params.keys == (1,)  # type: ignore[attr-defined]
    played = rollout(served, envs[:3], games(3), max_steps=2, seed=0)
    assert [one.outcome for one in played] == [-1, None, -1]
    assert "ServerBusy" in played[1].error
    served.engine.fails = lambda params: True  # type: ignore[attr-defined]
    with pytest.raises(RunMustStop, match=r"none of its last 3 turns: .*ServerBusy"):
        rollout(served, envs[:3], games(3), max_steps=2, seed=0)


def test_a_mistake_is_raised_once_the_others_have_stopped(served: Policy, envs: Envs, games: Games) -> None:
    stuck, raised = threading.Event(), threading.Event()

    def stick(params: SamplingParams) -> None:
        if params.keys == (0,):
            stuck.set()
            assert raised.wait(PATIENCE_S)
        elif stuck.wait(PATIENCE_S):
            raised.set()
            raise ValueError("no such parameter")

    served.engine.before = stick  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="no such parameter"):
        rollout(served, envs[:2], games(2), max_steps=3, seed=0)
    calls = len(served.engine.calls)  # type: ignore[attr-defined]
    assert calls == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "episode"]


def test_chat_models_too(full_envs: Envs, games: Games) -> None:
    whole = policy("qwen3", thinking="strip")
    apart_ = replace(whole, engine=Served(whole.engine))  # type: ignore[arg-type]
    played = [rollout(each, full_envs[:2], games(2), max_steps=2, seed=1) for each in (whole, apart_)]
    assert [gist(one) for one in played[0]] == [gist(one) for one in played[1]]
