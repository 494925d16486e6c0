"""AI2-THOR floor plans as scenes, when the alfworld package is there, and a plain word when it is not."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest
from alfworld_tasks import DOMAIN, replay

from rlanything_task_pools import MissingExtra
from rlanything_task_pools.alfworld import find_games
from rlanything_task_pools.alfworld import floorplans as module
from rlanything_task_pools.alfworld.floorplans import UNSEEN_FLOORPLANS, floorplan_layout
from rlanything_task_pools.alfworld.household import ROOM_BASE
from rlanything_verifiers.alfworld import load_game


@pytest.mark.textworld
def test_all_plans_are_complete() -> None:
    for base in ROOM_BASE.values():
        for number in range(base + 1, base + 31):
            layout = floorplan_layout(number)
            kinds = Counter(item.type for item in layout.receptacles)
            assert len({item.id for item in layout.receptacles}) == len(layout.receptacles)
            assert layout.start not in {item.location for item in layout.receptacles}
            assert kinds["GarbageCan"] >= 1
            if layout.room == "Kitchen":
                assert min(kinds[kind] for kind in ("Fridge", "Microwave", "SinkBasin", "StoveBurner")) >= 1
            if layout.room == "Bathroom":
                assert min(kinds[kind] for kind in ("SinkBasin", "Toilet", "TowelHolder")) >= 1


@pytest.mark.textworld
def test_same_ids_as_the_official_games(alfworld_data: Path) -> None:
    known = total = 0
    for path in find_games(alfworld_data):
        number = int(path.parent.parent.name.rsplit("-", 1)[1])
        official = {item.id for item in load_game(path).scene.receptacles}
        ours = {item.id for item in floorplan_layout(number).receptacles}
        known += len(official & ours)
        total += len(official)
    # The package lists about two thirds of the receptacles; the official ids of those are exactly ours.
    assert known / total > 0.6


@pytest.mark.textworld
@pytest.mark.parametrize("split", ["train", "valid_unseen"])
def test_tasks_on_floorplans(split: str) -> None:
    for seed in range(60):
        task = DOMAIN.generate(seed, split, scenes="floorplans")
        assert replay(task).won
        assert task.traits["source"] == "floorplans"
        assert (task.traits["scene"] in UNSEEN_FLOORPLANS) == (split == "valid_unseen")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    floorplan_layout.cache_clear()
    monkeypatch.setattr(module, "find_spec", lambda name: importlib.util.find_spec("no_such_package_here"))
    with pytest.raises(MissingExtra, match=r"pip install -e '.*\[alfworld\]"):
        DOMAIN.generate(0, scenes="floorplans")
    DOMAIN.generate(0)
