"""Generated ALFWorld tasks for the tests, and a judge of their proofs."""

import hashlib
from functools import cache

from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN, SPLITS
from rlanything_verifiers.alfworld import Game, Goal, Scene, World

__all__ = ["DOMAIN", "GAMES", "SPLITS", "digest", "replay", "sample"]

GAMES = 400


@cache
def sample(split: str = "train", number: int = GAMES) -> list[Task]:
    return [DOMAIN.generate(seed, split) for seed in range(number)]


def digest(tasks: list[Task]) -> str:
    return hashlib.sha256("".join(task.to_json() for task in tasks).encode()).hexdigest()


def replay(task: Task) -> World:
    """A fresh world in which the task's proof was played; each command must be admissible."""
    scene, goal = Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"])
    world = World(Game(scene, goal, sentence=task.goal))
    world.reset()
    assert not world.won
    for command in task.proof:
        assert command in world.admissible_commands
        assert not world.won
        world.step(command)
    return world
