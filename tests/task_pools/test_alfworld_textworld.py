"""Generated tasks in the real ALFWorld: its text is ours, and following the proof wins there too."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from alfworld_tasks import DOMAIN

from rlanything_task_pools import Task
from rlanything_task_pools.alfworld.generate import WEIGHTS
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, write_game

pytestmark = [
    pytest.mark.textworld,
    pytest.mark.skipif(find_spec("textworld") is None, reason="needs the extra [alfworld]"),
]


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


@pytest.mark.parametrize(("kind", "room"), [("look", "Bedroom"), ("clean", "Bathroom")])
def test_small_games(kind: str, room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_both(DOMAIN.generate(0, kinds=[kind], rooms=[room]), tmp_path / "game.tw-pddl", monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "room"), [(kind, room) for kind, rooms in WEIGHTS.items() for room in rooms])
@pytest.mark.parametrize("scenes", ["procedural", "floorplans"])
def test_all_kinds_and_rooms(
    kind: str, room: str, scenes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = DOMAIN.generate(1, kinds=[kind], rooms=[room], scenes=scenes)
    play_both(task, tmp_path / "game.tw-pddl", monkeypatch)
