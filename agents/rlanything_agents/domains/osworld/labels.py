"""True step labels from the evaluator: they measure a judge and never train one.

The episode is replayed on the simulated desktop. From each of its states an expert without mistakes continues, and the
task's evaluator decides whether it solves the task; the label depends on the number of steps that it needs.
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
"""Most steps of the expert from a state; a task that is not solved by then counts as unsolvable from there."""
_NEVER = float("inf")


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """Label each step 1 if it brings the agent nearer to a full score, else -1, or 0 where that is unknown.

    A step does so if an expert without mistakes needs fewer steps after it than before. A state from which the expert
    does not solve the task is infinitely far away: the step into it is wrong, and so are later steps that do not lead
    out of it. Before the expert was in reach of a solution at all, nothing is known of a step that does not find one.
    All that a desktop's steps act on is on its screen, so none is worth anything as a search alone.

    Args:
        payload: The task's payload.
        commands: The agent's commands, from the start of the episode.
    """
    task = Task(domain="osworld", goal=payload["instruction"], payload=payload)
    planned = _as_planned(task, commands)
    left, labels, known = _left(task, ()), list[int](), False
    for number in range(len(commands)):
        # A command of the expert itself takes it one step further; no replay is needed.
        after = left - 1 if planned[number] else _left(task, commands[: number + 1])
        known = known or left < _NEVER
        labels.append(1 if after < left else -1 if known else 0)
        left = after
    return labels


def _as_planned(task: Task, commands: Sequence[str]) -> list[bool]:
    """Whether each command is the one that an expert without mistakes gives in its place."""
    env = _env()
    _, info = env.reset(options={"task": task})
    belief, planned = Belief(info["message"]), []
    for command in commands:
        planned.append(plan(belief)[0][1] == command)
        observation, _, terminated, truncated, _ = env.step(command)
        belief.update(command, observation)
        if terminated or truncated:
            break
    return [*planned, *[False] * (len(commands) - len(planned))]


def _left(task: Task, commands: Sequence[str]) -> float:
    """Steps that an expert without mistakes needs after some commands; infinite where it does not solve the task."""
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
    """A simulated desktop with 1000 turns; one per process, since every use of it begins with a reset."""
    return ShortOSWorld(OSWorldEnv(1000, **VIEW.arguments))
