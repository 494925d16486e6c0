"""The operator ``start``: the same goal and room, with the first part of the plan done.

The task trains the same skill with a shorter plan; ``away`` restores the full plan. The record stores the original
position of the thing, so that starts do not accumulate and ``away`` restores the exact task that was eased.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import in_reach, is_shut
from rlanything_task_pools.alfworld.generate import AFFORDANCE, STATION
from rlanything_task_pools.alfworld.operators.change import Change, Parent, check_fields, check_name
from rlanything_task_pools.alfworld.operators.proved import ranked
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Direction, Refused
from rlanything_verifiers.alfworld import GameFormatError, Goal, Receptacle, Scene, Thing
from rlanything_verifiers.alfworld.scene import inside_data, inside_of_data

STARTS: Mapping[str, str] = {
    "in_hand": "the wanted thing is in the agent's hand",
    "at_station": "the wanted thing lies where it is to be cleaned, heated, cooled or looked at",
    "in_view": "the wanted thing lies open to view, not behind a door",
    "in_place": "of two wanted things one is in place",
    "away": "the thing that was put at hand is back where it was",
}


class StartOperator:
    """Moves one wanted thing along its way to the goal, or back."""

    name = "start"
    note = "keep goal and room, and begin with a part of the way done (or, with away, no longer done)"
    fields: tuple[str, ...] = ("start",)

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The starts in a direction, those nearest to a step in difficulty first."""
        return ranked(self, parent, direction, rng, [{"start": name} for name in STARTS])

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The game with the proposed start.

        Raises:
            Refused: ``malformed``, ``unknown_start``, ``not_takeable``, ``hands_full``, ``no_station``,
                ``no_place``, ``unchanged``.
        """
        name = check_name(check_fields(proposal, self.fields, "start").get("start"), "start").lower()
        if name not in STARTS:
            raise Refused("unknown_start", f"{name!r}: there are {', '.join(STARTS)}")
        base = _eased(parent) or _fresh(parent)
        if name == "away":
            change = base.untouched() if base.was else base.put_down(parent.task.id)
        elif base.scene.holding is not None:
            raise Refused("hands_full", "something else is in the hand already")
        elif name == "in_hand":
            change = base.move(name, None)
        else:
            place = RngStream("start", parent.task.root or parent.task.id, name).pick(base.places(name))
            change = base.move(name, place)
        if change.scene == parent.scene:
            raise Refused("unchanged", f"it is {name} already")
        return change

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of the name of a start."""
        notes = "; ".join(f"{name}: {note}" for name, note in STARTS.items())
        return {"start": {"enum": list(STARTS), "description": notes}}


@dataclass(frozen=True, slots=True)
class _Base:
    """A scene before its start is eased, and the thing that is moved."""

    scene: Scene
    goal: Goal
    thing: Thing
    was: bool
    """Whether the parent's scene is this one with an eased start."""

    def places(self, name: str) -> Sequence[Receptacle]:
        """Receptacles for a start; at least one."""
        if name == "at_station":
            found = self._stations()
        elif name == "in_place":
            if self.goal.kind != "two":
                raise Refused("no_place", "in_place is for tasks that want two things")
            copies = [thing for thing in self.scene.things if thing.type == self.goal.object_type]
            if any(_in_place(self.scene, self.goal, thing) for thing in copies):
                raise Refused("unchanged", "one is in place already")
            found = [item for item in self.scene.receptacles if _ends(self.goal, item)]
        else:
            found = [item for item in self._fitting() if not is_shut(item) and not _ends(self.goal, item)]
        if not found:
            raise Refused("no_place", f"{name}: there is no such place for {self.thing.type}")
        return found

    def _fitting(self) -> list[Receptacle]:
        """Receptacles that can hold the thing and do not hold it now."""
        fits, there = self.scene.can_contain, self.thing.receptacles
        return [r for r in self.scene.receptacles if (r.type, self.thing.type) in fits and r.id not in there]

    def _stations(self) -> list[Receptacle]:
        """The station if it can hold the thing, else receptacles at the same location."""
        receptacles = self.scene.receptacles
        if self.goal.kind == "look":
            lamps = [t for t in self.scene.things if t.toggleable and t.type == self.goal.receptacle_type]
            lit = {place for lamp in lamps for place in lamp.receptacles}
            stations = [item for item in receptacles if item.id in lit]
        else:
            stations = [item for item in receptacles if item.type == STATION.get(self.goal.kind)]
        if not stations:
            raise Refused("no_station", f"{self.goal.kind} tasks have no station here")
        spots = {item.location for item in stations}
        if any(item.id in self.thing.receptacles for item in receptacles if item.location in spots):
            raise Refused("unchanged", "it is there already")
        fitting = self._fitting()
        return [item for item in fitting if item in stations] or [item for item in fitting if item.location in spots]

    def move(self, name: str, place: Receptacle | None) -> Change:
        """The thing in a place (a station's door stands open then), or in hand."""
        thing = self.thing
        moved = replace(
            thing,
            receptacles=() if place is None else (place.id,),
            location=None if place is None else place.location,
            inside=(),
        )
        opens = place if name == "at_station" and place is not None and is_shut(place) else None
        scene = replace(
            self.scene,
            things=tuple(moved if item is thing else item for item in self.scene.things),
            receptacles=tuple(replace(r, opened=True) if r is opens else r for r in self.scene.receptacles),
            holding=thing.id if place is None else None,
        )
        was = {
            "thing": thing.id,
            "in": list(thing.receptacles),
            "at": thing.location,
            "inside": inside_data(thing.inside),
            "opened": opens.id if opens else None,
        }
        return Change(scene, self.goal, {"start": name, "was": was})

    def untouched(self) -> Change:
        """The unchanged scene."""
        return Change(self.scene, self.goal, {"start": "away"})

    def put_down(self, task_id: str) -> Change:
        """The thing in hand put somewhere in the room, where it does not serve the goal."""
        held = next((thing for thing in self.scene.things if thing.id == self.scene.holding), None)
        if held is None:
            raise Refused("unchanged", "nothing was put at hand")
        base = replace(self, scene=self.scene, thing=held)
        near = STATION.get(self.goal.kind)
        places = [item for item in base._fitting() if item.type != near and not _ends(self.goal, item)]
        if not places:
            raise Refused("no_place", f"away: there is no place for {held.type}")
        change = base.move("away", RngStream("start", task_id, "away").pick(places))
        return replace(change, record={"start": "away"})


def _ends(goal: Goal, receptacle: Receptacle) -> bool:
    """Whether a receptacle is a target of the goal."""
    return goal.kind != "look" and receptacle.type == goal.receptacle_type


def _in_place(scene: Scene, goal: Goal, thing: Thing) -> bool:
    return any(item.id in thing.receptacles for item in scene.receptacles if _ends(goal, item))


def _fresh(parent: Parent) -> _Base:
    """The parent's scene and a wanted thing, preferably one behind a door, which takes the longest plan."""
    scene, goal = parent.scene, parent.goal
    able = AFFORDANCE.get(goal.kind)
    things = [t for t in in_reach(scene) if t.type == goal.object_type and (able is None or getattr(t, able))]
    if not things:
        raise Refused("not_takeable", f"no {goal.object_type} can be taken in this scene")
    shut = {item.id for item in scene.receptacles if is_shut(item)}
    order = [(not _in_place(scene, goal, t), all(place in shut for place in t.receptacles)) for t in things]
    return _Base(scene, goal, things[order.index(max(order))], was=False)


def _eased(parent: Parent) -> _Base | None:
    """The parent's scene before its start was eased; None if it was not made by this operator."""
    record = parent.task.rewrite.change.get("was") if parent.task.rewrite is not None else None
    if not isinstance(record, Mapping):
        return None
    scene = parent.scene
    thing = next((thing for thing in scene.things if thing.id == record.get("thing")), None)
    homes = record.get("in")
    if thing is None or not isinstance(homes, list | tuple):
        return None
    try:
        inside = inside_of_data(record.get("inside"))
        back = replace(thing, receptacles=tuple(homes), location=record.get("at"), inside=inside)
        opened = record.get("opened")
        before = replace(
            scene,
            things=tuple(back if item is thing else item for item in scene.things),
            receptacles=tuple(replace(r, opened=False) if r.id == opened else r for r in scene.receptacles),
            holding=None if scene.holding == thing.id else scene.holding,
        )
    except GameFormatError:  # a foreign record that does not fit the scene
        return None
    return _Base(before, parent.goal, back, was=True)
