"""The operators on the goal (kind, object type, receptacle type); the scene is kept."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import difficulty, in_reach, lamp_types, types_of
from rlanything_task_pools.alfworld.generate import AFFORDANCE, STATION
from rlanything_task_pools.alfworld.household import held_out
from rlanything_task_pools.alfworld.operators.change import (
    JITTER,
    MARGIN,
    MAX_VALUE,
    STEP,
    Change,
    Parent,
    bare,
    check_fields,
)
from rlanything_task_pools.task import Direction, Refused, Task
from rlanything_verifiers.alfworld import Goal, Scene
from rlanything_verifiers.alfworld.goal import GOAL_KINDS, TASK_TYPES, GoalKind

FIELDS = ("kind", "object_type", "receptacle_type")

EASY_FIRST: tuple[str, ...] = ("simple", "look", "heat", "cool", "clean", "two")
"""Kinds of goals from few steps to many, in the mean of generated games."""

NEW_KIND = 1.5
"""Penalty of another kind of goal in the ranking: a rewrite that keeps the kind trains the same skill."""

_KIND_NAMES: dict[str, GoalKind] = {name.lower(): k for k, name in TASK_TYPES.items()} | {k: k for k in GOAL_KINDS}


class GoalOperator:
    """The operator ``goal``: any part of the goal may change."""

    name = "goal"
    note = "ask for another goal in the same room"
    fields: tuple[str, ...] = FIELDS

    def allows(self, old: Goal, new: Goal) -> bool:
        """Whether this operator makes such a change of goal."""
        return True

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Goals in a direction by estimated difficulty, best first.

        Best are goals near the parent (same kind, a step away in difficulty), with some randomness.
        """
        scene, old = parent.scene, parent.goal
        aim = difficulty(scene, old) * STEP[direction]
        ranked = []
        for goal in self._goals(parent, direction):
            rank = abs(difficulty(scene, goal) - aim) + NEW_KIND * (goal.kind != old.kind) + JITTER * rng.random()
            ranked.append((rank, goal))
        ranked.sort(key=lambda pair: pair[0])
        return [{name: goal.to_dict()[name] for name in self.fields} for _, goal in ranked]

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The game of a proposed goal.

        Raises:
            Refused: ``malformed``, ``unknown_kind``, ``unknown_object``, ``unknown_receptacle``, ``unchanged``,
                ``not_takeable``, ``wrong_affordance``, ``no_lamp``, ``does_not_fit``, ``held_out_pair``.
        """
        scene, old = parent.scene, parent.goal
        goal = _read(scene, old, check_fields(proposal, FIELDS, "goal"))
        if goal == old:
            raise Refused("unchanged", f"the task asks for this already: {old.sentence()}")
        if not self.allows(old, goal):
            raise Refused("operator_off", f"changes other things than it may: {self.note}")
        check_fit(scene, goal)
        if _barred(parent.task, goal):
            raise Refused("held_out_pair", f"{goal.object_type} with {goal.receptacle_type} is kept for validation")
        told, before = goal.to_dict(), old.to_dict()
        return Change(scene, goal, {name: told[name] for name in FIELDS if told[name] != before[name]})

    def _goals(self, parent: Parent, direction: Direction) -> list[Goal]:
        """The other goals that the room allows and that go in a direction by estimated difficulty."""
        scene, old = parent.scene, parent.goal
        # Compared with the estimate of the parent, not with its proof, so that both have the same bias.
        start, sign = difficulty(scene, old), 1 if direction == "harder" else -1
        return [
            goal
            for goal in goals_on(scene)
            if goal != old
            and self.allows(old, goal)
            and not _barred(parent.task, goal)
            and sign * (difficulty(scene, goal) - start) >= MARGIN
        ]

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of each field: what the room has, whether it fits together or not."""
        scene = parent.scene
        parts = {
            "kind": (kinds_on(scene), "the task, from few steps to many"),
            "object_type": (types_of(in_reach(scene)), "what is wanted"),
            "receptacle_type": ([*sorted({item.type for item in scene.receptacles}), *lamp_types(scene)], "where to"),
        }
        return {name: {"enum": parts[name][0], "description": parts[name][1]} for name in self.fields}


class TypesOperator(GoalOperator):
    """The operator ``types``, the paper's swap: another type of object, of receptacle, or both; the kind is kept."""

    name = "types"
    note = "ask for another type of object or receptacle, for the same kind of task"
    fields = ("object_type", "receptacle_type")

    def allows(self, old: Goal, new: Goal) -> bool:
        """Whether the kind is kept."""
        return old.kind == new.kind


class KindOperator(GoalOperator):
    """The operator ``kind``: another kind of task with the same object, such as simple -> clean -> two."""

    name = "kind"
    note = "ask for another kind of task with the same type of object"
    fields = ("kind", "receptacle_type")

    def allows(self, old: Goal, new: Goal) -> bool:
        """Whether the kind changes and the object is kept; the receptacle too, unless it is a lamp or the station."""
        if old.kind == new.kind or old.object_type != new.object_type:
            return False
        other_place = "look" in (old.kind, new.kind) or old.receptacle_type == STATION.get(new.kind)
        return other_place or old.receptacle_type == new.receptacle_type


def kinds_on(scene: Scene) -> list[str]:
    """The kinds of goals that a room has the lamp or the station for, from few steps to many."""
    places = {item.type for item in scene.receptacles}
    lacking = {kind for kind, station in STATION.items() if station not in places}
    return [kind for kind in EASY_FIRST if kind not in lacking and (kind != "look" or lamp_types(scene))]


def goals_on(scene: Scene) -> list[Goal]:
    """Every goal that a scene allows by its types and that is not true yet, none of them proved."""
    receptacles = sorted({item.type for item in scene.receptacles})
    lamps = lamp_types(scene)
    place = {item.id: item.type for item in scene.receptacles}
    reach = in_reach(scene)
    goals = []
    for object_type in types_of(reach):
        copies = [thing for thing in reach if thing.type == object_type]
        homes = [home for home in receptacles if (home, object_type) in scene.can_contain]
        full = Counter(home for thing in copies for home in thing.receptacles)
        once = {place[home] for home in full}
        twice = {place[home] for home, number in full.items() if number > 1}
        goals += [Goal("look", object_type, lamp) for lamp in lamps]
        goals += [Goal("simple", object_type, home) for home in homes if home not in once]
        if len(copies) > 1:
            goals += [Goal("two", object_type, home) for home in homes if home not in twice]
        for kind, affordance in AFFORDANCE.items():
            if STATION[kind] in receptacles and any(getattr(thing, affordance) for thing in copies):
                goals += [Goal(kind, object_type, home) for home in homes if home != STATION[kind]]
    return goals


def check_fit(scene: Scene, goal: Goal) -> None:
    """Check a goal by types alone.

    Raises:
        Refused: ``not_takeable``, ``wrong_affordance``, ``no_lamp``, ``does_not_fit``.
    """
    copies = [thing for thing in in_reach(scene) if thing.type == goal.object_type]
    if not copies:
        raise Refused("not_takeable", f"no {goal.object_type} can be taken in this scene")
    affordance = AFFORDANCE.get(goal.kind)
    if affordance is not None and not any(getattr(thing, affordance) for thing in copies):
        raise Refused("wrong_affordance", f"{goal.object_type} is not {affordance}")
    if goal.kind == "look":
        if goal.receptacle_type not in lamp_types(scene):
            raise Refused("no_lamp", f"no {goal.receptacle_type} here can be switched on")
    elif (goal.receptacle_type, goal.object_type) not in scene.can_contain:
        raise Refused("does_not_fit", f"a {goal.receptacle_type} holds no {goal.object_type}")


def _barred(task: Task, goal: Goal) -> bool:
    """Whether the task is generated for training or valid_seen, and the pair of types is held out from these splits."""
    keeps = "unseen_pair" in task.traits and task.traits.get("split") in ("train", "valid_seen")
    return keeps and held_out(goal.object_type, goal.receptacle_type)


def _read(scene: Scene, parent: Goal, proposal: Mapping[str, Any]) -> Goal:
    for name, value in proposal.items():
        if not isinstance(value, str) or not 0 < len(value) <= MAX_VALUE:
            raise Refused("malformed", f"{name} is not a name of up to {MAX_VALUE} characters")
    given = {**parent.to_dict(), **{name: value.strip() for name, value in proposal.items()}}
    kind = _KIND_NAMES.get(given["kind"].lower())
    if kind is None:
        raise Refused("unknown_kind", f"{given['kind']!r}: there are {', '.join(GOAL_KINDS)}")
    objects = {kind.lower(): kind for kind in types_of(scene.things)}
    object_type = objects.get(bare(given["object_type"]))
    if object_type is None:
        raise Refused("unknown_object", f"the scene has no {given['object_type']!r}")
    homes = objects if kind == "look" else {item.type.lower(): item.type for item in scene.receptacles}
    receptacle_type = homes.get(bare(given["receptacle_type"]))
    if receptacle_type is None:
        raise Refused("unknown_receptacle", f"the scene has no {given['receptacle_type']!r}")
    return Goal(kind, object_type, receptacle_type)
