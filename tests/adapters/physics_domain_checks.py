"""Tests of the example of a domain without texts; `test_example_domains.py` runs them where it is installed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hill_car import DOMAIN, ENV_ID, HARDER, HOLD, LIMITS, OPERATORS, PUSHES, Car, Hill, make_task, proof_of
from hypothesis import given, settings
from hypothesis import strategies as st

from rlanything_envs import AdaptiveDifficulty, Conversation
from rlanything_envs.errors import EpisodeOver, InvalidAction, SettingError
from rlanything_envs.testing import ConformanceError, check_task_env, check_text_env
from rlanything_task_pools import Domain, KnobError, Rejection, Task, TaskFormatError, TaskPool, get_domain

GYMNASIUMS = Hill(power=1.0, mass=1.0, gravity=1.0, drag=0.0, goal=0.45, start=-0.5)
"""The physics of `MountainCarContinuous-v0`, and a start that it may draw."""


def test_it_is_found_by_its_name() -> None:
    assert get_domain("hillcar") is DOMAIN
    assert isinstance(DOMAIN, Domain)


def test_its_environment_keeps_the_contract_but_has_no_texts() -> None:
    check_task_env(ENV_ID)
    with pytest.raises(ConformanceError, match="of the type ndarray has no text"):
        check_text_env(ENV_ID)
    with Conversation(ENV_ID) as conversation, pytest.raises(SettingError, match="ndarray has no text and"):
        conversation.start(seed=0)


def test_with_gymnasiums_numbers_it_is_gymnasiums_car() -> None:
    theirs = gym.make("MountainCarContinuous-v0").unwrapped
    theirs.reset(seed=0)
    car = Car()
    car.place(GYMNASIUMS)
    theirs.state = car.state.copy()
    for throttle in np.random.default_rng(0).uniform(-1, 1, 40):
        car.push(float(throttle))
        for _ in range(HOLD):
            theirs.step(np.array([throttle], dtype=np.float32))
        assert car.state.tolist() == pytest.approx(theirs.state.tolist(), abs=1e-5)  # theirs rounds to float32 between


def test_a_step_worked_by_hand() -> None:
    hill = Hill(power=1.2, mass=1.5, gravity=1.4, drag=0.015, goal=0.5, start=-0.6)
    car = Car()
    car.place(hill)
    position, velocity = -0.6, 0.0
    for _ in range(HOLD):
        velocity = velocity * (1 - 0.015 / 1.5) + 0.0015 * 1.2 / 1.5 - 0.0025 * 1.4 * math.cos(3 * position)
        position += velocity
    assert not car.push(1.0)
    assert car.state.tolist() == pytest.approx([position, velocity], abs=1e-6)


@pytest.mark.parametrize(
    ("hill", "swings"),
    [
        (replace(GYMNASIUMS, power=2.0, goal=0.1), 0),  # 0.003 exceeds the slope's greatest 0.0025: straight up
        (GYMNASIUMS, 1),  # 0.0015 does not: the car has to gain height on the left first
        (replace(GYMNASIUMS, power=0.3, mass=2.0, gravity=2.0), None),  # 0.000225 against 0.005
    ],
)
def test_the_controller_on_hills_worked_by_hand(hill: Hill, swings: int | None) -> None:
    proof = proof_of(hill)
    assert (None if proof is None else sum(before != after for before, after in pairwise(proof))) == swings
    if proof is not None:
        assert DOMAIN.verify(make_task(hill, proof)) is None
        assert "short of" in (DOMAIN.verify(make_task(hill, proof[:-1])) or "")
        assert "no list of" in (DOMAIN.verify(make_task(hill, (*proof[:-1], "fly"))) or "")
        assert "no list of" in (DOMAIN.verify(make_task(hill, ("-1",) * (PUSHES + 1))) or "")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_generated_tasks_are_proved_and_won_in_the_environment(seed: int) -> None:
    task = DOMAIN.generate(seed)
    assert task == DOMAIN.generate(seed)
    assert set(task.proof) == {"+1", "-1"}
    env = gym.make(ENV_ID)
    observation, info = env.reset(options={"task": Task.from_json(task.to_json())})
    assert info["task_id"] == task.id
    for push in task.proof:
        assert observation in env.observation_space
        observation, reward, terminated, _, info = env.step(np.array([float(push)], dtype=np.float32))
        assert reward == float(terminated)
    assert (reward, terminated, info["outcome"]) == (1.0, True, 1)
    with pytest.raises(EpisodeOver):
        env.unwrapped.step(np.zeros(1, np.float32))


@pytest.mark.parametrize("action", [None, 0.5, "left", np.zeros(2), np.array([np.nan]), np.array([np.inf])])
def test_an_action_that_is_no_throttle_is_refused_and_changes_nothing(action: Any) -> None:
    env = gym.make(ENV_ID, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    before = env.state.tolist()
    with pytest.raises(InvalidAction):
        env.step(action)
    assert env.state.tolist() == before


def test_knobs_that_cannot_be() -> None:
    with pytest.raises(KnobError):
        DOMAIN.generate(0, size=3)
    with pytest.raises(KnobError):
        DOMAIN.with_operators(["start"])


@pytest.mark.parametrize("direction", ["harder", "easier"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_proposal_becomes_a_proved_task(direction: Any, operator: str) -> None:
    domain, proposed = DOMAIN.with_operators([operator]), 0
    for task in (DOMAIN.generate(seed) for seed in range(20)):
        for proposal in domain.propose(task, direction, np.random.default_rng(0)):
            proposed += 1
            rewritten = domain.validate(task, proposal, direction=direction, author="scripted")
            assert isinstance(rewritten, Task)
            assert DOMAIN.verify(rewritten) is None
            assert (len(rewritten.proof) > len(task.proof)) == (direction == "harder")
            assert {name for name in LIMITS if rewritten.payload[name] != task.payload[name]} == {operator}
            moved = rewritten.payload[operator] > task.payload[operator]
            assert moved == ((HARDER[operator] > 1) == (direction == "harder"))
            assert (rewritten.parent, rewritten.root) == (task.id, task.id)
    assert proposed


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*LIMITS, "x"]), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(json_like | st.dictionaries(st.sampled_from(OPERATORS), st.floats(0, 2), max_size=1), st.booleans())
def test_what_a_model_writes_is_a_proved_task_or_rejected(proposal: Any, harder: bool) -> None:
    direction = "harder" if harder else "easier"
    result = DOMAIN.validate(DOMAIN.generate(2), proposal, direction=direction, author="model")
    assert isinstance(result, Rejection) or DOMAIN.verify(result) is None


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({"power": 1.1, "mass": 1.0}, "malformed"),
        ({"power": True}, "malformed"),
        ({"power": math.nan}, "malformed"),
        ({"gravity": 2.5}, "malformed"),
        ({"start": -0.3}, "malformed"),
        ({"mass": 2.0}, "unsolvable"),
        ({"power": 2.0}, "wrong_direction"),
        ({"power": 0.4}, "wrong_direction"),
    ],
)
def test_rejections_have_reasons(proposal: Any, reason: str) -> None:
    weak = replace(GYMNASIUMS, power=0.4)
    task = make_task(weak, proof_of(weak) or ())
    result = DOMAIN.validate(task, proposal, direction="harder", author="model")
    assert isinstance(result, Rejection)
    assert result.reason == reason


@given(st.sampled_from(list(LIMITS)), json_like)
def test_payloads_of_unknown_origin_are_read_or_refused(name: str, value: Any) -> None:
    try:
        task = Task(domain="hillcar", goal="x", payload={**asdict(GYMNASIUMS), name: value})
    except ValueError:  # what no task can hold
        return
    assert isinstance(DOMAIN.verify(task), str)


def test_files(tmp_path: Path) -> None:
    task = DOMAIN.generate(3)
    (tmp_path / "task.json").write_text(task.to_json())
    assert DOMAIN.load(tmp_path / "task.json") == task
    (tmp_path / "false.json").write_text(json.dumps({**json.loads(task.to_json()), "proof": ["+1"]}))
    with pytest.raises(TaskFormatError, match="its proof ends at"):
        DOMAIN.load(tmp_path / "false.json")


def test_tasks_adapt_to_an_agent_that_never_swings(tmp_path: Path) -> None:
    path = tmp_path / "pool.sqlite"
    TaskPool.create(path, [DOMAIN.generate(seed) for seed in range(3)]).close()
    env = AdaptiveDifficulty(gym.make(ENV_ID), path, rollouts=2, rewriting="inline", acceptance="always")
    full = np.ones(1, np.float32)
    for _ in range(60):
        env.reset()
        while not any(env.step(full)[2:4]):
            pass
    assert env.pool.counts()["accepted"] > 0
    active = [env.pool.active(slot) for slot in env.pool.slots]
    assert all(DOMAIN.verify(task) is None for task in active)
    assert any(task.rewrite and task.rewrite.direction == "easier" for task in active)
    env.close()
