"""Verification of a task's proof, by playing it in a fresh world."""

from rlanything_task_pools.alfworld.rewrite import scene_and_goal
from rlanything_task_pools.task import Task
from rlanything_verifiers.alfworld import Game, World

__all__ = ["flaw"]


def flaw(task: Task) -> str | None:
    """The fault of a task, in a sentence; None when its proof solves it with the last command.

    The whole task is untrusted, payload and proof included.
    """
    if not task.proof:
        return "it has no proof"
    try:
        scene, goal = scene_and_goal(task)
        world = World(Game(scene, goal, sentence=task.goal))
        world.reset()
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return f"its world cannot be built: {error}"
    for number, command in enumerate(task.proof, 1):
        if world.won:
            return f"it is solved before command {number} of its proof" if number > 1 else "it is true at the start"
        if command not in world.admissible_commands:
            return f"command {number} of its proof, {command!r}, is not admissible"
        world.step(command)
    return None if world.won else f"its proof of {len(task.proof)} commands does not reach the goal"
