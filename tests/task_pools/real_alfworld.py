"""The real ALFWorld, to compare with."""

import sys
from pathlib import Path

import pytest

from rlanything_task_pools import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, write_game


def play_both(task: Task, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the proof in TextWorld and in the native engine; texts, commands and verdicts must agree."""
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
    from textworld.envs.pddl import PddlEnv

    # Fast Downward's translator overwrites sys.argv.
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    game = Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"]), sentence=task.goal)
    write_game(game, path)
    env = AlfredInfos(AlfredDemangler(PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True))))
    env.load(str(path))
    state, world = env.reset(), World(game)
    assert world.reset() == state.feedback
    for command in task.proof:
        assert not state["won"]
        assert world.admissible_commands == sorted(state["admissible_commands"])
        assert command in state["admissible_commands"]
        state, _, _ = env.step(command)
        assert world.step(command) == state.feedback
        assert world.won == state["won"]
    assert state["won"]
