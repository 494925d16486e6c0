"""What a person sees."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.alfworld.env import AlfWorldEnv
from rlanything_envs.alfworld.render import Screen, as_image, as_text

ID = "RLAnything/AlfWorld-v0"


def test_text(tasks):
    task = next(task for task in tasks if any(command.startswith("take ") for command in task.proof))
    env = gym.make(ID, render_mode="ansi")
    env.reset(options={"task": task})
    assert task.goal in env.render()
    for command in task.proof:
        observation = env.step(command)[0]
        if command.startswith("take "):
            break
    frame = env.render()
    assert frame.startswith(f"Task: {task.goal}\n> {command}\n")
    assert frame.split() == f"Task: {task.goal} > {command} {observation} {frame[frame.index('In hand') :]}".split()
    assert frame.endswith(f"In hand: {command.removeprefix('take ').split(' from ')[0]}")
    assert all(len(line) <= 92 for line in frame.split("\n"))


def test_picture(task):
    env = gym.make(ID, render_mode="rgb_array")
    env.reset(options={"task": task})
    first = env.render()
    assert (first.shape, first.dtype) == ((540, 960, 3), np.uint8)
    assert len(np.unique(first)) > 10  # letters, not a blank page
    assert np.array_equal(first, env.render())
    assert not np.shares_memory(first, env.render())
    env.step("look")
    assert not np.array_equal(first, env.render())


def test_a_long_message_stays_on_the_page():
    short, long = (as_image(Screen("put it.", "look", "word " * n, None)) for n in (5, 3000))
    assert np.array_equal(short[-40:], long[-40:])  # the line with the thing in hand is not written over


@given(st.text(max_size=200), st.text(max_size=2000))
def test_anything_can_be_drawn(command, observation):
    screen = Screen("put it.", command + "\ud800\x00", observation, None)
    assert as_image(screen).shape == (540, 960, 3)
    assert as_text(screen).encode()


def test_rendering_without_a_mode_warns_once_made():
    env = AlfWorldEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_rendering_before_the_first_reset():
    assert "nothing" in AlfWorldEnv(render_mode="ansi").render()
