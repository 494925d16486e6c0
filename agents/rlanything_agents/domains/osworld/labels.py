"""Ground truth on single steps, from the evaluator: for measuring a judge, never for training one.

The steps are done again on the simulated desktop. From a state on the way a faultless player plays on, and the task's
evaluator says whether it won: what counts is how many steps it needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.plan import plan
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_envs.osworld.short import VIEW, ShortOSWorld
from rlanything_task_pools import Task

__all__ = ["step_labels"]

PATIENCE = 16
"""Steps after which a player that has not won by then never will."""
_NEVER = float("inf")


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """1 for each step that brings the agent nearer to a full score, else -1.

    A step does so if a faultless player needs fewer steps after it than before. A state from which that player never
    wins is infinitely far, so that the step that led there is wrong, and so are those after it that do not lead back.

    Args:
        payload: The task.
        commands: What the agent did, from the start.
    """
    task = Task(domain="osworld", goal=payload["instruction"], payload=payload)
    own = _own_moves(task, commands)
    left, labels = _left(task, ()), []
    for number in range(len(commands)):
        # What a faultless player would have done itself needs no looking into.
        after = left - 1 if own[number] else _left(task, commands[: number + 1])
        labels.append(1 if after < left else -1)
        left = after
    return labels


def _own_moves(task: Task, commands: Sequence[str]) -> list[bool]:
    """Of each command whether it is what a faultless player would have done."""
    env = _env()
    _, info = env.reset(options={"task": task})
    belief, own = Belief(info["message"]), []
    for command in commands:
        own.append(plan(belief)[0][1] == command)
        observation, _, terminated, truncated, _ = env.step(command)
        belief.update(command, observation)
        if terminated or truncated:
            break
    return [*own, *[False] * (len(commands) - len(own))]


def _left(task: Task, commands: Sequence[str]) -> float:
    """How many steps a faultless player needs after some commands."""
    env = _env()
    _, info = env.reset(options={"task": task})
    belief, done = Belief(info["message"]), len(commands)
    for count in range(done + PATIENCE):
        command = commands[count] if count < done else plan(belief)[0][1]
        observation, reward, terminated, truncated, _ = env.step(command)
        if terminated or truncated:
            return count + 1 - done if terminated and reward >= 1 and count + 1 >= done else _NEVER
        belief.update(command, observation)
    return _NEVER


@cache
def _env() -> ShortOSWorld:
    """A simulated desktop whose turns do not run out; one a process, since every use of it begins anew."""
    return ShortOSWorld(OSWorldEnv(1000, **VIEW.arguments))
