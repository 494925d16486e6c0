"""Household tasks: the planner's shortest way from wherever the player is."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_agents.domains.solutions import Solution
from rlanything_envs.alfworld.commands import read_answer, to_command
from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["solution"]


def solution(task: Task) -> Solution:
    """Plan anew from the state that the answers so far have led to.

    Raises:
        GameFormatError: The scene or the goal is malformed.
    """
    game = Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)

    def following(given: Sequence[str]) -> str | None:
        world = World(game)
        world.reset()
        for answer in given:
            command = to_command(read_answer(answer))
            if command is not None:
                world.step(command)
        return next(iter(plan(world) or ()), None)

    return following
