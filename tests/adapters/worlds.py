"""The three environments as the tests of adapters play them: a task, the answers that solve it, a broken engine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from scripted_desktop import KINDS, SCRIPTED

from rlanything_envs import Conversation
from rlanything_task_pools import Task, TaskPool, get_domain


@dataclass(frozen=True)
class World:
    """One environment.

    Attributes:
        domain: Its name.
        env_id: Its id.
        arguments: Of `gymnasium.make`, so that it runs anywhere.
        knobs: Of the generator.
        say: From a line of a proof to an answer of a model.
        last: Answers after the proof.
        idle: An answer that uses up a turn and changes nothing.
    """

    domain: str
    env_id: str
    say: Callable[[str], str]
    idle: str
    arguments: dict[str, Any] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    last: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.domain

    def task(self, seed: int = 0) -> Task:
        return _generated(self.domain, seed, tuple(self.knobs.items()))

    def answers(self, task: Task) -> list[str]:
        """What solves a generated task."""
        return [*map(self.say, task.proof), *self.last]


@cache
def _generated(domain: str, seed: int, knobs: tuple[tuple[str, Any], ...]) -> Task:
    return get_domain(domain).generate(seed, **dict(knobs))


WORLDS = [
    World("alfworld", "RLAnything/AlfWorld-v0", lambda command: f"I go on.\nAction: {command}", "Action: look"),
    World("coding", "RLAnything/Coding-v0", lambda code: f"So:\nSUBMIT\n```python\n{code}\n```", "Let me think."),
    World(
        "osworld",
        "RLAnything/OSWorld-v0",
        lambda code: f"I press keys.\n```python\n{code}\n```",
        "WAIT",
        SCRIPTED,
        {"kinds": KINDS},
        ("DONE",),
    ),
]


SEEN = World(
    "osworld",
    "RLAnything/OSWorld-v0",
    str,
    "WAIT",
    {**SCRIPTED, "observation": ["screenshot", "text"], "screen": [640, 480]},
)
"""The desktop with its screens."""

ONE_QUICKLY = [WORLDS[0], *(pytest.param(world, marks=pytest.mark.slow) for world in WORLDS[1:])]
"""What the tests take that have to start another environment's interpreter: `make test` plays one world in it."""


SHORT: dict[str, Any] = {"kinds": ["simple"], "max_plan": 4}
"""Knobs of AlfWorld tasks of few commands."""


class Half:
    """A player that solves every task the pool began with, and of the two episodes of a rewrite one."""

    def __init__(self, path: Path) -> None:
        self.pool = TaskPool.open(path)
        self.conversation = Conversation(WORLDS[0].env_id)
        self.known: dict[str, tuple[str, list[str]]] = {}
        self.begun: Counter[str] = Counter()

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        for slot in self.pool.slots:
            for task in (self.pool.active(slot), self.pool.candidate(slot)):
                if task is not None and task.id not in self.known:
                    self.known[task.id] = self.conversation.start(task).text, WORLDS[0].answers(task)
        opening = messages[0]["content"]
        (task_id,) = [task_id for task_id, (text, _) in self.known.items() if text == opening]
        turn = sum(message["role"] == "assistant" for message in messages)
        self.begun[task_id] += turn == 0
        gives_up = self.pool.task(task_id).rewrite is not None and self.begun[task_id] % 2
        return WORLDS[0].idle if gives_up else self.known[task_id][1][turn]


class Broken:
    """An engine whose every use fails."""

    def __getattr__(self, name: str) -> Any:
        raise OSError("the engine is gone")


def break_engine(env: gym.Env[Any, Any]) -> None:
    """Take the engine of one of the three environments away."""
    inner: Any = env.unwrapped
    if inner.domain == "alfworld":
        inner.world = Broken()
    elif inner.domain == "coding":
        inner._sandbox = Broken
    else:
        inner._machine._desktop = Broken()


class Failing(gym.Env[str, str]):
    """An environment that reports a failure of its machinery as the outcome of its first step."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        return "hello", {"task_id": "failing-1", "outcome": None, "admissible_commands": ["look"]}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, False, True, {"task_id": "failing-1", "outcome": "error", "error": "the disk is full"}


FAILING = "Failing-v0"
gym.register(FAILING, entry_point=Failing, disable_env_checker=True)


class Counted(gym.Env[str, str]):
    """Counts how many of it are open."""

    open_now = 0

    def __init__(self) -> None:
        Counted.open_now += 1
        self.closed = False

    def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
        return "hello", {"task_id": "counted-1", "outcome": None}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return action, 0.0, False, False, {"task_id": "counted-1", "outcome": None}

    def close(self) -> None:
        Counted.open_now -= not self.closed
        self.closed = True


COUNTED = "Counted-v0"
gym.register(COUNTED, entry_point=Counted, disable_env_checker=True)


def in_time(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
