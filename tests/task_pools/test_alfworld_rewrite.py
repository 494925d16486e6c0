"""Rewrites: sentence, goal and proof agree, the direction is real, bad proposals get a reason."""

from functools import cache
from typing import get_args

import numpy as np
import pytest
from alfworld_tasks import sample

from rlanything_task_pools import Rejection, Task
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_task_pools.alfworld.difficulty import difficulty
from rlanything_task_pools.alfworld.household import held_out
from rlanything_task_pools.alfworld.rewrite import MARGIN, goals_on, scene_and_goal
from rlanything_task_pools.task import Direction
from rlanything_verifiers.alfworld import Game, Goal, Receptacle, Scene, Thing, prove


def rewrites(task: Task, direction: Direction, seed: int = 0, number: int = 3) -> list[Task | Rejection]:
    proposals = DOMAIN.propose(task, direction, np.random.default_rng(seed))
    return [DOMAIN.validate(task, p, direction=direction, author="scripted", critique="why") for p in proposals]


@cache
def rewritten(direction: Direction, tasks: int) -> list[tuple[Task, list[Task | Rejection]]]:
    """Many tasks, each with its rewrites."""
    return [(task, rewrites(task, direction)) for task in sample()[:tasks]]


MANY = [40, pytest.param(150, marks=pytest.mark.slow)]


@pytest.mark.parametrize("tasks", MANY)
def test_nearly_every_task_can_go_both_ways(tasks: int) -> None:
    for direction in get_args(Direction):
        able = sum(any(isinstance(new, Task) for new in made) for _, made in rewritten(direction, tasks))
        assert able > 0.8 * tasks


def test_proposals_depend_on_the_generator_alone() -> None:
    task = sample()[0]
    first, again, other = (DOMAIN.propose(task, "easier", np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("blamed", "part"),
    [
        (("go", "take"), "object_type"),
        (("look", "open"), "object_type"),
        (("heat",), "kind"),
        (("move",), "receptacle_type"),
    ],
)
def test_the_blamed_stage_is_eased_first(blamed: tuple[str, ...], part: str) -> None:
    """All proposals that change the part of the goal that the stage is about come before those that do not."""
    moved = 0
    for task in sample()[:40]:
        goal = task.payload["goal"]
        plain, guided = (
            DOMAIN.propose(task, "easier", np.random.default_rng(0), found) for found in ((), ("sing", *blamed))
        )
        eased = [proposal[part] != goal[part] for proposal in guided]
        assert eased == sorted(eased, reverse=True)
        focused = [
            sum(proposal[name] != goal[name] for name in goal) for proposal in guided if proposal[part] != goal[part]
        ]
        assert focused == sorted(focused)
        moved += plain[:1] != guided[:1]
    assert moved >= 10
    task = sample()[0]
    plain = DOMAIN.propose(task, "easier", np.random.default_rng(0))
    assert DOMAIN.propose(task, "easier", np.random.default_rng(0), ("sing",)) == plain
    harder = [DOMAIN.propose(task, "harder", np.random.default_rng(0), found) for found in ((), blamed)]
    assert harder[0] == harder[1]


def test_starts_and_rooms_ease_stages_too() -> None:
    domain, found = DOMAIN.with_operators(["start", "scene"]), set()
    for task in sample()[:4]:
        for action in ("go", "take", "clean", "use"):
            for proposal in domain.propose(task, "easier", np.random.default_rng(0), (action,))[:2]:
                found.add((action, str(proposal.get("start", "scene"))))
    assert {("take", "in_hand"), ("clean", "at_station")} <= found
    assert ("take", "at_station") in found or ("take", "scene") in found, "where nothing eases it, others follow"


def test_chains_keep_their_root() -> None:
    root = task = DOMAIN.generate(5, kinds=["simple"], rooms=["Kitchen"])
    for length in range(1, 4):
        new = next(n for n in rewrites(task, "harder", length) if isinstance(n, Task))
        assert new.root == root.id
        assert new.parent == task.id
        task = new
    assert float(task.traits["difficulty"]) >= float(root.traits["difficulty"]) + 3 * MARGIN


def kitchen() -> Task:
    """A hand-made kitchen: an apple in the fridge, two mugs, an unreachable egg, a held-out pair."""
    fridge = Receptacle("Fridge_bar_1", "Fridge", "loc_bar_1", openable=True)
    counter = Receptacle("CounterTop_bar_1", "CounterTop", "loc_bar_2")
    table = Receptacle("SideTable_bar_1", "SideTable", "loc_bar_3")
    microwave = Receptacle("Microwave_bar_1", "Microwave", "loc_bar_4", openable=True)
    things = (
        Thing("Apple_bar_1", "Apple", ("Fridge_bar_1",), pickupable=True, heatable=True, coolable=True),
        Thing("Mug_bar_1", "Mug", ("CounterTop_bar_1",), pickupable=True, heatable=True),
        Thing("Mug_bar_2", "Mug", ("SideTable_bar_1",), pickupable=True, heatable=True),
        Thing("Book_bar_1", "Book", ("SideTable_bar_1",), pickupable=True),
        Thing("Egg_bar_1", "Egg", (), pickupable=True, heatable=True),
        Thing("Window_bar_1", "Window", ("CounterTop_bar_1",)),
        Thing("Lamp_bar_1", "DeskLamp", (), toggleable=True),
    )
    fits = {(home, thing) for home in ("CounterTop", "SideTable", "Fridge") for thing in ("Apple", "Mug", "Egg")}
    fits |= {("CounterTop", "Book"), ("SideTable", "Book"), ("CounterTop", "Window")}
    scene = Scene("loc_bar_0", (fridge, counter, table, microwave), things, frozenset(fits))
    goal = Goal("heat", "Mug", "Fridge")
    proof = prove(Game(scene, goal))
    assert proof
    return Task(
        domain="alfworld",
        goal=goal.sentence(1),
        payload={"scene": scene.to_dict(), "goal": goal.to_dict()},
        proof=tuple(proof),
        traits={"split": "train"},
    )


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        ({}, "malformed"),
        ("put it elsewhere", "malformed"),
        (None, "malformed"),
        ({"object": "Apple"}, "malformed"),
        ({"object_type": 3}, "malformed"),
        ({"object_type": ""}, "malformed"),
        ({"object_type": "A" * 1000}, "malformed"),
        ({"object_type": ["Apple"]}, "malformed"),
        ({"kind": "fry"}, "unknown_kind"),
        ({"object_type": "Dragon"}, "unknown_object"),
        ({"receptacle_type": "Moon"}, "unknown_receptacle"),
        ({"object_type": "mug"}, "unchanged"),
        ({"object_type": "Egg"}, "not_takeable"),
        ({"object_type": "Window", "receptacle_type": "CounterTop", "kind": "simple"}, "not_takeable"),
        ({"object_type": "Book", "receptacle_type": "CounterTop"}, "wrong_affordance"),
        ({"kind": "look", "receptacle_type": "DeskLamp"}, "no_lamp"),
        ({"kind": "look", "receptacle_type": "Mug"}, "no_lamp"),
        ({"kind": "simple", "receptacle_type": "Microwave"}, "does_not_fit"),
        ({"kind": "clean"}, "wrong_affordance"),
        ({"kind": "two", "object_type": "Apple"}, "unsolvable"),
        ({"kind": "simple", "receptacle_type": "SideTable"}, "already_true"),
    ],
)
def test_reasons_of_rejection(proposal: object, reason: str) -> None:
    found = DOMAIN.validate(kitchen(), proposal, direction="easier", author="a model")  # type: ignore[arg-type]
    assert isinstance(found, Rejection)
    assert found.reason == reason
    assert len(found.detail) < 300


def test_names_as_models_write_them() -> None:
    proposal = {"kind": "pick_and_place_simple", "object_type": " AppleType", "receptacle_type": "countertop"}
    new = DOMAIN.validate(kitchen(), proposal, direction="easier", author="qwen", critique="failed at the microwave")
    assert isinstance(new, Task)
    assert new.payload["goal"] == {"kind": "simple", "object_type": "Apple", "receptacle_type": "CounterTop"}
    assert new.goal == "put some apple on countertop."
    assert new.rewrite is not None
    assert new.rewrite.author == "qwen"


def test_held_out_pairs_stay_out_of_training() -> None:
    tried = 0
    for split, refused in (("train", True), ("valid_unseen", False)):
        for task in sample(split, 150 if split == "valid_unseen" else 400)[:100]:
            scene, parent = scene_and_goal(task)
            for goal in goals_on(scene):
                if held_out(goal.object_type, goal.receptacle_type) and goal != parent:
                    new = DOMAIN.validate(task, goal.to_dict(), direction="harder", author="x")
                    assert (isinstance(new, Rejection) and new.reason == "held_out_pair") == refused
                    tried += 1
                    break
    assert tried > 100


def test_difficulty_by_hand() -> None:
    scene = Scene.from_dict(kitchen().payload["scene"])
    # Mugs may be in fridge (2: go and open), counter (1) and side table (1): 4 actions to look everywhere.
    # One of two mugs turns up after (4 + 1) / 3; plan 6, weight 0.4, and 2 for knowing the microwave.
    assert difficulty(scene, Goal("heat", "Mug", "Fridge"), 6) == pytest.approx(6 + 0.4 * 5 / 3 + 2, abs=0.005)
    assert difficulty(scene, Goal("two", "Mug", "Fridge"), 8) == pytest.approx(8 + 0.4 * 10 / 3 + 2, abs=0.005)
    assert difficulty(scene, Goal("simple", "Apple", "CounterTop"), 5) == pytest.approx(5 + 0.4 * 5 / 2, abs=0.005)
