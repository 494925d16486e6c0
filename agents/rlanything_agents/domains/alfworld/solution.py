"""Solution of household tasks: the planner's shortest plan from the current state."""

from __future__ import annotations

from collections.abc import Sequence

from rlanything_agents.domains.solutions import Solution
from rlanything_envs.alfworld.commands import read_answer, to_command
from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["solution"]


def solution(task: Task) -> Solution:
    """Solution that plans again from the state that the earlier answers reached.

    Raises:
        GameFormatError: The scene or the goal is malformed.
    """
    game = Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)

    def next_answer(earlier: Sequence[str]) -> str | None:
        world = World(game)
        world.reset()
        for answer in earlier:
            if (command := to_command(read_answer(answer))) is not None:
                world.step(command)
        return next(iter(plan(world) or ()), None)

    return next_answer
