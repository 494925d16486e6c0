"""The real ALFWorld, to compare with."""

from pathlib import Path

from reference import TextWorldPlayer

from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, write_game


def play_both(task: Task, path: Path) -> None:
    """Play the proof in TextWorld and in the native engine; texts, commands and verdicts must agree."""
    game = Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)
    player, world = TextWorldPlayer(write_game(game, path)), World(game)
    seen = player.reset()
    assert world.reset() == seen.feedback
    for command in task.proof:
        assert not seen.won
        assert world.admissible_commands == sorted(seen.commands)
        assert command in seen.commands
        seen = player.step(command)
        assert world.step(command) == seen.feedback
        assert world.won == seen.won
    assert seen.won
