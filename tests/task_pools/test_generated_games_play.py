"""Generated tasks in the real ALFWorld: its text is ours, and following the proof wins there too."""

from pathlib import Path

import pytest
from alfworld_tasks import DOMAIN
from real_alfworld import play_both

from rlanything_task_pools.alfworld.generate import WEIGHTS

pytestmark = pytest.mark.textworld


@pytest.mark.parametrize(("kind", "room"), [("look", "Bedroom"), ("clean", "Bathroom")])
def test_small_games(kind: str, room: str, tmp_path: Path) -> None:
    play_both(DOMAIN.generate(0, kinds=[kind], rooms=[room]), tmp_path / "game.tw-pddl")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "room"), [(kind, room) for kind, rooms in WEIGHTS.items() for room in rooms])
@pytest.mark.parametrize("scenes", ["procedural", "floorplans"])
def test_all_kinds_and_rooms(kind: str, room: str, scenes: str, tmp_path: Path) -> None:
    task = DOMAIN.generate(1, kinds=[kind], rooms=[room], scenes=scenes)
    play_both(task, tmp_path / "game.tw-pddl")
