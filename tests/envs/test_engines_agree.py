"""The original stack behind the same environment."""

import os
import sys
import threading

import gymnasium as gym
import numpy as np
import pytest

from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_task_pools.alfworld import DOMAIN, find_games

ID = "RLAnything/AlfWorld-v0"


def test_a_missing_stack_names_its_extra(monkeypatch):
    from rlanything_envs.alfworld import textworld

    monkeypatch.setattr(textworld, "find_spec", lambda name: None if name == "fast_downward" else object())
    with pytest.raises(MissingExtra, match=r"fast_downward.*pip install -e '.*\[alfworld\]"):
        gym.make(ID, engine="textworld")


@pytest.fixture(scope="module")
def original():
    return gym.make(ID, engine="textworld")


@pytest.fixture(scope="module")
def small_tasks():
    """Small rooms: the original takes seconds to load a kitchen."""
    return [DOMAIN.generate(seed, rooms=["Bathroom"]) for seed in range(2)]


@pytest.mark.textworld
def test_same_episode_through_both_engines(original, small_tasks):
    native = gym.make(ID)
    rng = np.random.default_rng(0)
    for task in small_tasks:
        result = original.reset(options={"task": task})
        assert result == native.reset(options={"task": task})
        for step in range(12):
            commands = result[-1]["admissible_commands"]
            action = commands[int(rng.integers(len(commands)))] if step else "dance"
            result = original.step(action)
            assert result == native.step(action)
        assert original.reset(options={"task": task}) == native.reset(options={"task": task})
        for command in task.proof:
            verb, _, rest = command.partition(" ")
            action = f"put {rest.replace(' to ', ' in/on ')}" if verb == "move" else command
            result = original.step(action)
            assert result == native.step(command)
        assert result[1] == 1


@pytest.mark.textworld
def test_an_official_game_through_both_engines(original, alfworld_data):
    path = min(find_games(alfworld_data), key=lambda path: path.stat().st_size)
    native = gym.make(ID)
    assert original.reset(options={"task": path}) == native.reset(options={"task": path})
    for command in DOMAIN.load(path).proof:
        assert original.step(command) == native.step(command)


@pytest.mark.textworld
def test_the_process_is_left_as_it_was(original, small_tasks, monkeypatch):
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    argv, stdout, content = sys.argv, sys.stdout, list(sys.argv)
    gym.make(ID, engine="textworld").reset(options={"task": small_tasks[0]})
    assert sys.argv is argv
    assert sys.argv == content
    assert sys.stdout is stdout
    assert "ALFWORLD_DATA" not in os.environ


@pytest.mark.textworld
def test_threads(small_tasks):
    texts, errors = [], []

    def play():
        try:
            env = gym.make(ID, engine="textworld")
            texts.append(env.reset(options={"task": small_tasks[0]})[0] + env.step("look")[0])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(texts)) == 1


@pytest.mark.textworld
def test_a_crash_of_the_stack_is_no_loss(original, small_tasks, monkeypatch):
    env = gym.make(ID, engine="textworld")
    env.reset(options={"task": small_tasks[0]})
    engine = env.unwrapped._make_world

    def crash(command):
        raise IndexError("pop from empty list")

    monkeypatch.setattr(engine._stack, "step", crash)
    with pytest.raises(InfrastructureError, match="pop from empty list"):
        env.step("look")
    monkeypatch.undo()
    monkeypatch.setattr(engine._stack, "load", crash)
    with pytest.raises(InfrastructureError, match="failed to begin"):
        env.reset(options={"task": small_tasks[1]})
    monkeypatch.undo()
    assert env.reset(options={"task": small_tasks[0]})[1]["task_id"] == small_tasks[0].id
