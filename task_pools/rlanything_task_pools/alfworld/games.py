"""The games of tasks: parsed once, and shared by all environments of a process."""

from functools import lru_cache

from rlanything_task_pools.task import Task, TaskFormatError
from rlanything_verifiers.alfworld import Game, Goal, Scene

GAMES = 4096
"""Parsed games that are kept, some 40 KB each; the official training split has 3,553."""

_newest: tuple[Task | None, Game | None] = (None, None)


def remember(task: Task, game: Game) -> None:
    """Keep the game of the task that was made last, which is often played at once and never again."""
    global _newest  # one tuple, so that every thread sees a task with its own game
    _newest = task, game


def game_of(task: Task) -> Game:
    """The game of a task.

    Raises:
        TaskFormatError: the task is not of this domain, or has no scene and goal.
        GameFormatError: the scene or the goal is malformed.
    """
    newest, game = _newest
    return game if newest is task and game is not None else _parsed(task)


@lru_cache(maxsize=GAMES)
def _parsed(task: Task) -> Game:
    if task.domain != "alfworld":
        raise TaskFormatError(f"task {task.id} is of the domain {task.domain!r}; this environment plays alfworld")
    if missing := {"scene", "goal"} - set(task.payload):
        raise TaskFormatError(f"task {task.id}: its payload lacks {', '.join(sorted(missing))}")
    return Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)
