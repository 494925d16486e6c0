"""Rewrite operators: each proposal is read strictly, proved, really goes its way, and plays alike everywhere."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from alfworld_tasks import replay, sample
from hypothesis import given
from hypothesis import strategies as st
from real_alfworld import play_both
from searching_agent import mean_steps
from test_alfworld_rewrite import kitchen

from rlanything_envs.alfworld.texts import parse_hint, parse_task
from rlanything_envs.alfworld.words import TYPES, WORDS
from rlanything_envs.views import make_env
from rlanything_task_pools import KnobError, Rejection, Task
from rlanything_task_pools.alfworld import DOMAIN, AlfWorldDomain, find_games
from rlanything_task_pools.alfworld.difficulty import CLUTTER_WEIGHT, difficulty, is_shut
from rlanything_task_pools.alfworld.generate import make_task
from rlanything_task_pools.alfworld.operators import OPERATORS
from rlanything_task_pools.alfworld.operators.change import STEP
from rlanything_task_pools.alfworld.operators.start import STARTS
from rlanything_task_pools.alfworld.rewrite import MARGIN, scene_and_goal
from rlanything_task_pools.task import Direction
from rlanything_verifiers.alfworld import Game, Scene, Thing, dump_game, load_game, prove
from rlanything_verifiers.alfworld.goal import GOAL_KINDS

ALL = tuple(name for name in OPERATORS if name != "hint")  # no script writes hints


def rewrites(domain: AlfWorldDomain, task: Task, direction: Direction, seed: int = 0) -> list[Task | Rejection]:
    proposals = domain.propose(task, direction, np.random.default_rng(seed))
    return [domain.validate(task, p, direction=direction, author="scripted", critique="why") for p in proposals]


def eased(task: Task, start: str) -> Task | Rejection:
    return DOMAIN.with_operators(["start"]).validate(task, {"start": start}, direction="easier", author="x")


def sort_of(change: Any) -> str:
    """The sort of a rewrite, from its record."""
    if "scene" not in change:
        return str(change.get("start", "+".join(change)))
    return "+".join(sorted({edit["edit"] + "*" * ("object" in edit) for edit in change["scene"]}))


def check(parent: Task, new: Task, direction: Direction) -> None:
    """All that must hold of any rewrite."""
    scene, goal = scene_and_goal(new)
    _, old_goal = scene_and_goal(parent)
    assert replay(new).won
    assert new.goal == (parent.goal if goal == old_goal else new.goal)
    assert new.goal in (goal.sentence(0), goal.sentence(1)) or goal == old_goal
    assert new.id != parent.id
    assert (new.parent, new.root) == (parent.id, parent.root or parent.id)
    assert Task.from_json(new.to_json()) == new
    assert new.rewrite is not None
    assert (new.rewrite.critique, new.rewrite.direction) == ("why", direction)
    moved_house = "house" in new.rewrite.change
    before, after = float(parent.traits["difficulty"]), float(new.traits["difficulty"])
    if moved_house and direction == "harder":
        assert after > STEP["easier"] * before
    else:
        assert (after - before if direction == "harder" else before - after) >= MARGIN - 1e-6
    traits, clutter = new.traits, int(new.traits.get("clutter", 0))
    assert traits["plan_length"] == len(new.proof)
    assert traits["difficulty"] == pytest.approx(difficulty(scene, goal, len(new.proof)) + CLUTTER_WEIGHT * clutter)
    assert (traits["kind"], traits["object_type"], traits["receptacle_type"]) == tuple(goal.to_dict().values())
    kept = ("split", "room") if moved_house else ("split", "scene", "room")
    assert [traits[name] for name in kept] == [parent.traits[name] for name in kept]
    assert traits.get("receptacles", len(scene.receptacles)) == len(scene.receptacles)
    assert traits["closed"] == sum(item.openable and not item.opened for item in scene.receptacles)
    # The written game asks the same in PDDL and in words, and its walkthrough is the proof.
    written = load_game(dump_game(Game(scene, goal, sentence=new.goal)))
    assert (written.goal, written.sentence, written.walkthrough) == (goal, new.goal, new.proof)
    assert written.scene == scene


def check_operator(name: str, parent: Task, new: Task) -> None:
    """What an operator leaves alone."""
    (scene, goal), (old_scene, old_goal) = scene_and_goal(new), scene_and_goal(parent)
    if name in ("goal", "types", "kind"):
        assert new.payload["scene"] is parent.payload["scene"]
    elif name == "house":
        assert (goal.kind, scene != old_scene) == (old_goal.kind, True)
        assert not new.traits["unseen_scene"]
    else:
        assert goal == old_goal
        assert (scene.start, scene.can_contain) == (old_scene.start, old_scene.can_contain)
        assert [r.id for r in scene.receptacles] == [r.id for r in old_scene.receptacles]
    if name == "types":
        assert goal.kind == old_goal.kind
    if name == "kind":
        assert (goal.kind != old_goal.kind, goal.object_type) == (True, old_goal.object_type)
    if name == "scene":
        assert scene.holding == old_scene.holding
    if name == "start":
        assert {thing.id for thing in scene.things} == {thing.id for thing in old_scene.things}


@pytest.mark.parametrize(("tasks", "every"), [(20, 5), pytest.param(60, 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ALL)
def test_rewrites_of_many_tasks(name: str, tasks: int, every: int) -> None:
    """All are counted; in the quick tests every fifth is looked at."""
    domain = DOMAIN.with_operators([name])
    reasons: Counter[str] = Counter()
    sorts: Counter[str] = Counter()
    for task in sample()[:tasks]:
        for direction in get_args(Direction):
            parent = task
            if name == "start" and direction == "harder":
                ready = eased(task, "in_hand")
                assert isinstance(ready, Task)
                parent = ready
            for new in rewrites(domain, parent, direction):
                reasons["ok" if isinstance(new, Task) else new.reason] += 1
                if isinstance(new, Task):
                    assert new.rewrite is not None
                    sorts[f"{direction} {sort_of(new.rewrite.change)}"] += 1
                    if sum(sorts.values()) % every == 0:
                        check(parent, new, direction)
                        check_operator(name, parent, new)
    assert set(reasons) == {"ok"}
    assert reasons["ok"] >= (100 if name == "kind" else 200) * tasks / 60
    wanted = {
        "scene": {"harder move", "harder remove", "harder add*", "harder close", "easier add", "easier open",
                  "easier move", "easier remove*"},
        "start": {"easier in_hand", "easier at_station", "easier in_view", "easier in_place", "harder at_station",
                  "harder away", "harder in_view"},
    }  # fmt: skip
    assert wanted.get(name, set()) <= set(sorts), sorts


@pytest.mark.parametrize("tasks", [3, pytest.param(24, marks=pytest.mark.slow)])
@pytest.mark.parametrize("names", [("goal", "scene", "start"), ("types", "kind"), ALL])
def test_operators_together(names: tuple[str, ...], tasks: int) -> None:
    domain = DOMAIN.with_operators(names)
    used: Counter[str] = Counter()
    for seed, task in enumerate(sample()[:tasks]):
        chain = task
        for step in range(4):
            direction: Direction = "harder" if (seed + step) % 2 else "easier"
            new = next((n for n in rewrites(domain, chain, direction, seed + step) if isinstance(n, Task)), None)
            if new is None:
                continue
            assert new.rewrite is not None
            check(chain, new, direction)
            used[next((name for name in ("scene", "start") if name in new.rewrite.change), "goal")] += 1
            chain = new
    assert {name for name in names if name in ("scene", "start")} <= set(used)


def test_unknown_operators_name_the_known_ones() -> None:
    with pytest.raises(KnobError, match=r"'moon'.*goal, types, kind, scene, start, house"):
        DOMAIN.with_operators(["goal", "moon"])
    with pytest.raises(KnobError, match="goal"):
        DOMAIN.with_operators([])
    assert DOMAIN.with_operators("scene").operators == ("scene",)


def test_what_is_not_enabled_is_refused() -> None:
    task = sample()[0]
    cases: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("goal",), {"start": "in_hand"}),
        (("goal", "start"), {"scene": [{"edit": "open", "place": "Cabinet"}]}),
        (("scene",), {"object_type": "Apple"}),
        (("types",), {"kind": "look" if task.traits["kind"] != "look" else "simple"}),
        (("kind",), {"object_type": next(iter(sorted({t[1] for t in task.payload["scene"]["things"]})))}),
    ]
    for names, proposal in cases[:3]:
        new = DOMAIN.with_operators(names).validate(task, proposal, direction="easier", author="x")
        assert isinstance(new, Rejection)
        assert new.reason == "operator_off"
    kind = DOMAIN.with_operators(["types"]).validate(kitchen(), {"kind": "simple"}, direction="easier", author="x")
    types = DOMAIN.with_operators(["kind"]).validate(
        kitchen(), {"object_type": "Apple"}, direction="easier", author="x"
    )
    both = DOMAIN.with_operators(["types", "kind"]).validate(
        kitchen(), {"kind": "simple", "object_type": "Apple"}, direction="easier", author="x"
    )
    assert [r.reason for r in (kind, types, both) if isinstance(r, Rejection)] == ["operator_off"] * 3


@pytest.mark.parametrize(
    ("proposal", "direction", "reason"),
    [
        ({"scene": []}, "easier", "malformed"),
        ({"scene": "open it"}, "easier", "malformed"),
        ({"scene": [{"edit": "open", "place": "Fridge"}] * 7}, "easier", "malformed"),
        ({"scene": ["open"]}, "easier", "unknown_edit"),
        ({"scene": [{"edit": "burn", "place": "Fridge"}]}, "easier", "unknown_edit"),
        ({"scene": [{"edit": ["open"], "place": "Fridge"}]}, "easier", "unknown_edit"),
        ({"scene": [{"edit": "open"}]}, "easier", "malformed"),
        ({"scene": [{"edit": "open", "place": "Fridge", "object": "Apple"}]}, "easier", "malformed"),
        ({"scene": [{"edit": "open", "place": "../etc/passwd"}]}, "easier", "unknown_place"),
        ({"scene": [{"edit": "open", "place": "Fridge\ud800"}]}, "easier", "malformed"),
        ({"scene": [{"edit": "open", "place": "F" * 61}]}, "easier", "malformed"),
        ({"scene": [{"edit": "open", "place": "fridge 2"}]}, "easier", "unknown_place"),
        ({"scene": [{"edit": "open", "place": "CounterTop"}]}, "easier", "no_door"),
        ({"scene": [{"edit": "close", "place": "SideTable"}]}, "harder", "no_door"),
        ({"scene": [{"edit": "close", "place": "Fridge"}]}, "harder", "no_door"),  # it is closed
        ({"scene": [{"edit": "add", "to": "CounterTop", "count": 11}]}, "easier", "malformed"),
        ({"scene": [{"edit": "add", "to": "CounterTop", "count": True}]}, "easier", "malformed"),
        ({"scene": [{"edit": "add", "to": "CounterTop", "count": 1.0}]}, "easier", "malformed"),
        ({"scene": [{"edit": "add", "object": "Dragon", "to": "CounterTop"}]}, "harder", "unknown_object"),
        ({"scene": [{"edit": "add", "object": "DeskLamp", "to": "CounterTop"}]}, "harder", "not_takeable"),
        ({"scene": [{"edit": "add", "object": "Book", "to": "Fridge"}]}, "harder", "does_not_fit"),
        ({"scene": [{"edit": "move", "object": "Window", "to": "SideTable"}]}, "harder", "not_takeable"),
        ({"scene": [{"edit": "move", "from": "Fridge", "to": "SideTable"}]}, "harder", "not_there"),
        ({"scene": [{"edit": "move", "object": "Apple", "to": "Fridge"}]}, "harder", "unchanged"),
        ({"scene": [{"edit": "remove", "count": 3}]}, "harder", "not_there"),
        ({"scene": [{"edit": "remove", "count": 2}]}, "harder", "not_takeable"),
        ({"scene": [{"edit": "open", "place": "Fridge"}, {"edit": "close", "place": "Fridge"}]}, "easier", "unchanged"),
        ({"start": "flying"}, "easier", "unknown_start"),
        ({"start": 3}, "easier", "malformed"),
        ({"start": "in_hand", "scene": []}, "easier", "malformed"),
        ({"start": ""}, "easier", "malformed"),
        ({"start": "in_place"}, "easier", "no_place"),
        ({"start": "away"}, "harder", "unchanged"),
        ({"start": "at_station"}, "easier", "no_place"),  # no mug may be put into this microwave
    ],
)
def test_reasons_of_rejection(proposal: dict[str, Any], direction: Direction, reason: str) -> None:
    found = DOMAIN.with_operators(ALL).validate(kitchen(), proposal, direction=direction, author="a model")
    assert isinstance(found, Rejection)
    assert found.reason == reason, found
    assert len(found.detail) < 300
    found.detail.encode()


def test_a_scene_that_is_won_or_lost_is_refused() -> None:
    base = kitchen()
    domain = DOMAIN.with_operators(["goal", "scene"])
    simple = domain.validate(base, {"kind": "simple"}, direction="easier", author="x")
    assert isinstance(simple, Task)
    won = domain.validate(simple, {"scene": [{"edit": "move", "to": "Fridge"}]}, direction="easier", author="x")
    assert isinstance(won, Rejection)
    assert won.reason == "already_true"
    two = domain.validate(base, {"kind": "two"}, direction="harder", author="x")
    assert isinstance(two, Task)
    lost = domain.validate(two, {"scene": [{"edit": "remove"}]}, direction="harder", author="x")
    assert isinstance(lost, Rejection)
    assert lost.reason == "unsolvable"


def test_edits_by_hand() -> None:
    domain = DOMAIN.with_operators(["scene"])
    edits = [
        {"edit": "add", "to": "sidetable 1", "count": 2},
        {"edit": "move", "object": "mugtype", "from": "countertop 1", "to": "SIDETABLE"},
        {"edit": "open", "place": "Fridge"},
    ]
    new = domain.validate(kitchen(), {"scene": edits}, direction="easier", author="x")
    assert isinstance(new, Task)
    scene = Scene.from_dict(new.payload["scene"])
    mugs = [thing for thing in scene.things if thing.type == "Mug"]
    assert len(mugs) == new.traits["copies"] == 4
    assert {thing.receptacles for thing in mugs} == {("SideTable_bar_1",)}
    assert {thing.location for thing in mugs[2:]} == {"loc_bar_3"}
    assert all(thing.heatable and thing.pickupable for thing in mugs)
    assert [r.opened for r in scene.receptacles if r.type == "Fridge"] == [True]
    assert "clutter" not in new.traits
    assert new.rewrite is not None
    assert [dict(edit) for edit in new.rewrite.change["scene"]] == edits
    again = domain.validate(kitchen(), {"scene": edits}, direction="easier", author="y")
    assert isinstance(again, Task)
    assert again.id == new.id


def test_what_lies_in_a_removed_thing_falls_out() -> None:
    task = kitchen()
    scene, goal = scene_and_goal(task)
    things = [replace(t, inside=("Mug_bar_1",), receptacles=()) if t.id == "Egg_bar_1" else t for t in scene.things]
    nested = task.model_copy(update={"payload": {"scene": replace(scene, things=tuple(things)).to_dict(),
                                                 "goal": goal.to_dict()}})  # fmt: skip
    new = DOMAIN.with_operators(["scene"]).validate(
        nested, {"scene": [{"edit": "remove", "from": "CounterTop"}]}, direction="harder", author="x"
    )
    assert isinstance(new, Task)


def quirky(task: Task) -> Task:
    """The task with the quirks of official games: things in two others, in itself, and without a type."""
    scene, goal = scene_and_goal(task)
    wanted = next(thing for thing in scene.things if thing.type == goal.object_type and thing.receptacles)
    others = tuple(thing.id for thing in scene.things if thing is not wanted)[:2]
    home = wanted.receptacles[0]
    cracked = [
        Thing("Egg_bar_1_bar_EggCracked_0", None, pickupable=True),
        Thing("Egg_bar_2_bar_EggCracked_0", None, (home,), wanted.location, pickupable=True),
    ]
    things = [replace(thing, inside=(*others, wanted.id)) if thing is wanted else thing for thing in scene.things]
    odd = replace(scene, things=(*things, *cracked))
    return make_task(Game(odd, goal, task.goal), prove(Game(odd, goal)) or [], scene_number=301, split="train")


def test_games_with_quirks_are_rewritten_too() -> None:
    done: Counter[str] = Counter()
    for task in map(quirky, sample()[:6]):
        assert DOMAIN.verify(task) is None
        assert Task.from_json(task.to_json()) == task
        assert "None" not in DOMAIN.describe(task)
        schema = json.dumps(DOMAIN.with_operators(ALL).proposal_schema(task))
        assert "[null" not in schema
        assert ", null" not in schema
        for name in ALL:
            for direction in get_args(Direction):
                for new in rewrites(DOMAIN.with_operators([name]), task, direction)[:3]:
                    if isinstance(new, Task):
                        assert DOMAIN.verify(new) is None
                        done[name] += 1
        ready = eased(task, "in_hand")
        if isinstance(ready, Task):
            back = DOMAIN.with_operators(["start"]).validate(ready, {"start": "away"}, direction="harder", author="x")
            assert isinstance(back, Task)
            assert back.payload == task.payload
            done["away"] += 1
    assert min(done[name] for name in (*ALL, "away")) >= 2


def test_clutter_counts_and_is_cleared() -> None:
    domain = DOMAIN.with_operators(["scene"])
    edits = [{"edit": "add", "object": "Book", "to": "SideTable", "count": 8}]
    new = domain.validate(kitchen(), {"scene": edits}, direction="harder", author="x")
    assert isinstance(new, Task)
    assert new.traits["clutter"] == 8
    back = domain.validate(
        new, {"scene": [{"edit": "remove", "object": "Book", "count": 4}]}, direction="easier", author="x"
    )
    assert isinstance(back, Task)
    assert back.traits["clutter"] == 4
    assert float(new.traits["difficulty"]) - float(back.traits["difficulty"]) == pytest.approx(1.0)
    goal = DOMAIN.validate(back, {"kind": "simple"}, direction="easier", author="x")
    assert isinstance(goal, Task)
    assert goal.traits["clutter"] == 4


@pytest.mark.parametrize("start", [name for name in STARTS if name != "away"])
def test_starts_lead_back_to_the_root(start: str) -> None:
    domain = DOMAIN.with_operators(["start"])
    tried = 0
    for task in sample()[:60]:
        new = eased(task, start)
        if isinstance(new, Rejection):
            continue
        tried += 1
        other = domain.validate(new, {"start": "in_hand"}, direction="easier", author="x")
        back = domain.validate(
            other if isinstance(other, Task) else new, {"start": "away"}, direction="harder", author="x"
        )
        assert isinstance(back, Task), back
        assert (back.id, back.root) == (task.id, task.id)
        assert back.proof == task.proof
    assert tried >= 5


def test_a_start_by_hand() -> None:
    task = next(t for t in sample() if t.traits["kind"] == "cool")
    held, near = eased(task, "in_hand"), eased(task, "at_station")
    assert isinstance(held, Task)
    scene, goal = scene_and_goal(held)
    (thing,) = (t for t in scene.things if t.id == scene.holding)
    assert thing.type == goal.object_type
    assert held.proof[1].startswith("cool ")
    assert held.proof[0].startswith("go to fridge")
    assert f"In the agent's hand: {goal.object_type}" in DOMAIN.describe(held)
    if isinstance(near, Task):
        scene, _ = scene_and_goal(near)
        (fridge,) = (r for r in scene.receptacles if r.type == "Fridge")
        assert fridge.opened
        assert near.proof[1].startswith("take ")
        assert near.proof[2].startswith("cool ")


def test_records_from_elsewhere_are_not_trusted() -> None:
    task = eased(sample()[0], "in_hand")
    assert isinstance(task, Task)
    assert task.rewrite is not None
    domain = DOMAIN.with_operators(["start"])
    was = dict(task.rewrite.change["was"])
    for record in (
        None, 3, {}, {**was, "thing": 7}, {**was, "in": ["nowhere"]}, {**was, "in": 3}, {**was, "at": "Apple_bar_1"},
        {**was, "inside": {"a": 1}}, {**was, "in": [["x"]]}, {**was, "opened": ["x"]},
    ):  # fmt: skip
        change = {"start": "in_hand", "was": record}
        odd = task.model_copy(update={"rewrite": task.rewrite.model_copy(update={"change": change})})
        new = domain.validate(odd, {"start": "away"}, direction="harder", author="x")
        assert isinstance(new, Task | Rejection)
        if isinstance(new, Task):
            assert replay(new).won


NAMES = st.sampled_from(
    ["Mug", "Apple", "Fridge", "fridge 1", "countertop 1", "CounterTop", "SideTable", "Microwave", "", "Book", "egg"]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
EDIT = st.fixed_dictionaries(
    {"edit": st.sampled_from(["open", "close", "move", "add", "remove"]) | JUNK},
    optional={
        "place": NAMES | JUNK,
        "object": NAMES | JUNK,
        "from": NAMES | JUNK,
        "to": NAMES | JUNK,
        "count": st.integers(1, 10) | JUNK,
    },
)
PROPOSAL = (
    st.fixed_dictionaries({"scene": st.lists(EDIT, min_size=1, max_size=4)})
    | st.fixed_dictionaries({"start": st.sampled_from(list(STARTS)) | JUNK})
    | st.dictionaries(st.sampled_from(["kind", "object_type", "receptacle_type", "scene", "start"]), NAMES | JUNK)
    | JUNK
)


@given(PROPOSAL, st.sampled_from(get_args(Direction)), st.sampled_from([ALL, ("start",), ("types", "scene")]))
def test_any_proposal_gives_a_proved_task_or_a_reason(
    proposal: Any, direction: Direction, names: tuple[str, ...]
) -> None:
    new = DOMAIN.with_operators(names).validate(kitchen(), proposal, direction=direction, author="x")
    if isinstance(new, Task):
        assert replay(new).won
        assert Task.from_json(new.to_json()) == new
    else:
        assert new.reason
        assert len(new.detail) < 300


def test_schemas_are_json_and_name_what_there_is() -> None:
    task = sample()[3]
    schema = DOMAIN.with_operators(OPERATORS).proposal_schema(task)
    assert json.loads(json.dumps(schema)) == schema
    parts = DOMAIN.proposal_schema(task)["properties"]
    assert list(parts) == ["kind", "object_type", "receptacle_type", "scene", "start", "hint"]
    scene, goal = scene_and_goal(task)
    assert goal.object_type in parts["object_type"]["enum"]
    assert goal.receptacle_type in parts["receptacle_type"]["enum"]
    # A kitchen has each station and no lamp, a bedroom the reverse.
    for room, lacking in (("Kitchen", {"look"}), ("Bedroom", {"heat", "cool", "clean"})):
        kinds = DOMAIN.proposal_schema(DOMAIN.generate(3, rooms=[room], kinds=["simple"]))["properties"]["kind"]
        assert set(kinds["enum"]) == set(GOAL_KINDS) - lacking, room
    edits = {edit["properties"]["edit"]["const"]: edit["properties"] for edit in parts["scene"]["items"]["oneOf"]}
    shut = {item.type for item in scene.receptacles if is_shut(item)}
    assert set(edits["open"]["place"]["enum"]) == shut, "what can be opened"
    assert set(edits["move"]["to"]["enum"]) == {item.type for item in scene.receptacles}
    there = {thing.type for thing in scene.things if thing.pickupable and thing.receptacles}
    assert set(edits["remove"]["object"]["enum"]) == there, "what can be removed"
    assert set(edits["add"]["object"]["enum"]) == {kind for _, kind in scene.can_contain}, "of other rooms' types too"


def test_a_proposal_changes_several_parts_at_once() -> None:
    """The room is edited before the goal is read, so a goal may want what is added."""
    base = kitchen()
    proposal = {
        "kind": "simple",
        "object_type": "Egg",
        "receptacle_type": "Fridge",
        "scene": [{"edit": "add", "object": "Egg", "to": "CounterTop", "count": 1}],
        "start": "in_hand",
        "hint": "The fridge is closed.",
    }
    new = DOMAIN.validate(base, proposal, direction="easier", author="x")
    assert isinstance(new, Task), new
    assert new.goal == "put some egg on fridge. (Hint: The fridge is closed.)"
    assert new.payload["hint"] == "The fridge is closed."
    assert scene_and_goal(new)[0].holding is not None
    assert set(new.rewrite.change) == {"kind", "object_type", "scene", "start", "was", "hint"}
    assert replay(new).won
    assert DOMAIN.verify(new) is None
    alone = DOMAIN.validate(base, {**proposal, "scene": None}, direction="easier", author="x")
    assert isinstance(alone, Rejection)
    assert alone.reason == "not_takeable"


def test_what_is_null_or_as_before_is_no_change() -> None:
    base = kitchen()
    goal = {name: base.payload["goal"][name] for name in ("kind", "object_type", "receptacle_type")}
    for proposal in ({**goal, "scene": None, "start": None, "hint": ""}, dict.fromkeys(goal), {**goal, "hint": None}):
        found = DOMAIN.validate(base, proposal, direction="easier", author="x")
        assert isinstance(found, Rejection)
        assert found.reason in ("unchanged", "malformed")
    new = DOMAIN.validate(
        base, {**goal, "scene": None, "start": "in_hand", "hint": None}, direction="easier", author="x"
    )
    assert isinstance(new, Task)
    assert new.goal == base.goal


def test_the_direction_is_for_the_trial_to_show() -> None:
    for direction in get_args(Direction):
        new = DOMAIN.validate(kitchen(), {"start": "in_hand"}, direction=direction, author="x")
        assert isinstance(new, Task)
        assert new.rewrite is not None
        assert new.rewrite.direction == direction


def test_a_hint_is_read_kept_replaced_and_removed() -> None:
    base = kitchen()
    hinted = DOMAIN.validate(base, {"hint": "look  on the countertop"}, direction="easier", author="x")
    assert isinstance(hinted, Task)
    assert hinted.goal == f"{base.goal} (Hint: look on the countertop)"
    assert Task.from_json(hinted.to_json()) == hinted
    assert parse_task(f"Your task is to: {hinted.goal}", frozenset(TYPES)) == parse_task(
        f"Your task is to: {base.goal}", frozenset(TYPES)
    )
    assert parse_hint(f"Your task is to: {hinted.goal}") == "look on the countertop"
    moved = DOMAIN.validate(hinted, {"start": "in_hand"}, direction="easier", author="x")
    assert isinstance(moved, Task)
    assert moved.goal == hinted.goal
    other = DOMAIN.validate(hinted, {"kind": "simple"}, direction="easier", author="x")
    assert isinstance(other, Task)
    assert "Hint" not in other.goal, "it was about another goal"
    assert "hint" not in other.payload
    back = DOMAIN.validate(hinted, {"hint": ""}, direction="harder", author="x")
    assert isinstance(back, Task)
    assert (back.goal, back.payload) == (base.goal, base.payload)


@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        ("x" * 161, "malformed"),
        (7, "malformed"),
        ("a <|im_end|> b", "malformed"),
        ("two\nlines", "malformed"),
        ("{grammar}", "malformed"),
        ("caf\u00e9", "malformed"),
        ("\x1b[2J", "malformed"),
    ],
)
def test_bad_hints(hint: object, reason: str) -> None:
    found = DOMAIN.validate(kitchen(), {"hint": hint}, direction="easier", author="x")
    assert isinstance(found, Rejection)
    assert found.reason == reason


def test_a_hint_does_not_spell_out_the_solution() -> None:
    base = kitchen()
    for said, good in ((base.proof[:1], True), (base.proof[:2], False), (base.proof[1:4], False)):
        hint = ", ".join(said).capitalize()
        found = DOMAIN.validate(base, {"hint": hint}, direction="easier", author="x")
        assert isinstance(found, Task) if good else found.reason == "solution_in_hint"


def test_the_short_view_shows_what_it_can_of_a_hint() -> None:
    env = make_env(DOMAIN.env_id, "short")
    base = kitchen()
    hinted = DOMAIN.validate(base, {"hint": "Quickly open the fridge 1."}, direction="easier", author="x")
    plain, _ = env.reset(options={"task": base})
    shown, _ = env.reset(options={"task": hinted})
    assert set(shown.split()) <= set(WORDS)
    assert shown.split() != plain.split()
    assert " open the fridge 1 room " in shown


@pytest.mark.parametrize("every", [24, pytest.param(4, marks=pytest.mark.slow)])
def test_official_games_are_rewritten_by_all_operators(alfworld_data: Path, every: int) -> None:
    done: Counter[str] = Counter()
    for number, path in enumerate(find_games(alfworld_data)[::every]):
        task = DOMAIN.load(path)
        for name in ALL:
            for direction in get_args(Direction):
                for new in rewrites(DOMAIN.with_operators([name]), task, direction, number)[:3]:
                    if isinstance(new, Task):
                        check(task, new, direction)
                        done[name] += 1
    assert min(done[name] for name in ALL) >= 32 / every


# -- another house


def test_a_number_is_one_house() -> None:
    domain = DOMAIN.with_operators(["house"])
    task = DOMAIN.generate(3, rooms=["Kitchen"], kinds=["heat"])
    first, again = (domain.validate(task, {"house": 7}, direction="easier", author="x") for _ in range(2))
    assert first == again
    if isinstance(first, Rejection):
        pytest.fail(first.detail)
    assert (first.traits["room"], first.traits["kind"], first.traits["seed"]) == ("Kitchen", "heat", 7)
    assert DOMAIN.verify(first) is None


@pytest.mark.parametrize("house", [-1, 2**53, 1.5, True, "7", None, [7]])
def test_no_such_house(house: object) -> None:
    task = DOMAIN.generate(3)
    refused = DOMAIN.with_operators(["house"]).validate(task, {"house": house}, direction="harder", author="x")
    assert isinstance(refused, Rejection)
    assert refused.reason == ("unchanged" if house is None else "malformed")


def test_a_house_needs_a_room() -> None:
    task = DOMAIN.generate(3)
    nowhere = task.model_copy(update={"traits": {**task.traits, "room": "unknown"}})
    refused = DOMAIN.with_operators(["house"]).validate(nowhere, {"house": 7}, direction="harder", author="x")
    assert isinstance(refused, Rejection)
    assert refused.reason == "unknown_room"


# -- difficulty: measured, not believed

SCORED = [(name, way) for name in ALL for way in get_args(Direction) if (name, way) != ("house", "harder")]
"""What the score vouches for. Another house is harder for whoever knew the old one; the agent knew neither."""

FEW = 3
"""Things in one place that a hurried reader takes in. To one who reads all, clutter makes no difference at all."""


def measured(name: str, direction: Direction, tasks: int) -> dict[str, list[float]]:
    """By sort of rewrite, by how many steps each of them changed what a searching agent needs.

    Clutter (sorts with a star) is given to a hurried reader, all else to one who reads everything.
    """
    domain, moved = DOMAIN.with_operators([name]), dict[str, list[float]]()
    for seed, task in enumerate(sample()[:tasks]):
        parent = eased(task, "in_hand") if name == "start" and direction == "harder" else task
        assert isinstance(parent, Task)
        before: dict[int, float] = {}
        met = set[str]()
        for new in rewrites(domain, parent, direction, seed):
            if not isinstance(new, Task) or (sort := sort_of(new.rewrite.change)) in met:  # type: ignore[union-attr]
                continue
            met.add(sort)
            attention = FEW if "*" in sort else 1000
            if attention not in before:
                before[attention] = mean_steps(parent, 8, attention)
            moved.setdefault(sort, []).append(mean_steps(new, 8, attention) - before[attention])
    return moved


@pytest.mark.parametrize(
    ("name", "direction"), [pytest.param(*case, marks=() if case[0] == "goal" else pytest.mark.slow) for case in SCORED]
)
def test_a_searching_agent_finds_it_so(name: str, direction: Direction) -> None:
    """An agent that knows nothing of the score takes longer for what is called harder, and less for easier."""
    moved = measured(name, direction, tasks=25)
    changes = [change for found in moved.values() for change in found]
    mean = float(np.mean(changes))
    error = float(np.std(changes)) / len(changes) ** 0.5
    assert len(changes) >= 10
    assert mean > 2 * error if direction == "harder" else mean < -2 * error


@pytest.mark.slow
@pytest.mark.parametrize(("name", "direction"), SCORED)
def test_a_searching_agent_finds_it_so_of_each_sort(name: str, direction: Direction) -> None:
    sign = 1 if direction == "harder" else -1
    for sort, changes in measured(name, direction, tasks=200).items():
        if len(changes) >= 20:
            assert sign * np.mean(changes) > np.std(changes) / len(changes) ** 0.5, sort


# -- the real ALFWorld


def some_rewrite(name: str, direction: Direction, room: str, seed: int) -> Task | None:
    task = DOMAIN.generate(seed, rooms=[room])
    if name == "start" and direction == "harder":
        ready = eased(task, "in_hand")
        if isinstance(ready, Rejection):
            return None
        task = ready
    new = rewrites(DOMAIN.with_operators([name]), task, direction, seed)
    good = [item for item in new if isinstance(item, Task)]
    return good[seed % len(good)] if good else None


def real(name: str, direction: Direction, room: str, number: int, path: Path) -> None:
    found = (some_rewrite(name, direction, room, seed) for seed in range(100))
    for _ in range(number):
        play_both(next(task for task in found if task is not None), path)


@pytest.mark.textworld
def test_a_rewrite_plays_alike(tmp_path: Path) -> None:
    real("scene", "harder", "Bathroom", 1, tmp_path / "game.tw-pddl")


@pytest.mark.slow
@pytest.mark.textworld
@pytest.mark.parametrize("room", ["Bathroom", "Bedroom", "Kitchen"])
@pytest.mark.parametrize("direction", get_args(Direction))
@pytest.mark.parametrize("name", ALL)
def test_all_rewrites_play_alike(name: str, direction: Direction, room: str, tmp_path: Path) -> None:
    real(name, direction, room, 3 if room != "Kitchen" else 1, tmp_path / "game.tw-pddl")
