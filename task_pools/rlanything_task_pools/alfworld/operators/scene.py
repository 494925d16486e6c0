"""The operator ``scene``: doors and positions of things; the goal is kept.

A proposal is a short list of edits in the names of the room, ``{"edit": "move", "to": "cabinet 3"}``. Places
are types ("Cabinet": one of them is drawn) or names as the game shows them ("cabinet 3").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import is_shut, types_of
from rlanything_task_pools.alfworld.household import thing_of
from rlanything_task_pools.alfworld.layout import thing_id
from rlanything_task_pools.alfworld.operators.change import (
    MAX_COUNT,
    MAX_EDITS,
    Change,
    Parent,
    bare,
    check_fields,
    check_name,
    may_have_door,
)
from rlanything_task_pools.alfworld.operators.goal import check_fit
from rlanything_task_pools.alfworld.operators.ideas import ideas
from rlanything_task_pools.alfworld.operators.proved import ranked
from rlanything_task_pools.frozen import canonical_json
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Direction, Refused
from rlanything_verifiers.alfworld import GameFormatError, Receptacle, Thing
from rlanything_verifiers.alfworld.scene import MAX_THINGS
from rlanything_verifiers.alfworld.tables import enumerate_names

EDITS: Mapping[str, tuple[str, ...]] = {
    "close": ("place", "count"),
    "open": ("place", "count"),
    "move": ("object", "from", "to", "count"),
    "add": ("object", "to", "count"),
    "remove": ("object", "from", "count"),
}
"""The edits, and the fields of each."""
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "close": ("place",),
    "open": ("place",),
    "move": ("to",),
    "add": ("to",),
    "remove": (),
}


OFFERED: Mapping[str, tuple[str, ...]] = {
    "close": ("place",),
    "open": ("place",),
    "move": ("object", "to"),
    "add": ("object", "to", "count"),
    "remove": ("object", "count"),
}
"""The edits of the schema and their fields: one way to write each, so that the schema stays short."""
OFFERED_EDITS, OFFERED_COUNT = 3, 4
"""Most edits of one proposal, and most things of one edit, in the schema."""


class SceneOperator:
    """Opens and closes doors; moves, adds and removes wanted things or clutter."""

    name = "scene"
    note = (
        "keep the goal, and edit the room: close or open receptacles, move, add (duplicate) or remove things. "
        "'object' is the wanted type where it is left out; places are types, or names such as 'cabinet 3'"
    )
    fields: tuple[str, ...] = ("scene",)

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Edits that go in a direction, nearest to a step in difficulty first."""
        return ranked(self, parent, direction, rng, ({"scene": edits} for edits in ideas(parent, direction, rng)))

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The game with the proposed edits carried out in order.

        Raises:
            Refused: ``malformed``, ``unknown_edit``, ``unknown_object``, ``unknown_place``, ``does_not_fit``,
                ``no_door``, ``not_there``, ``too_many``, or as for a goal.
        """
        change = self.edit(parent, proposal)
        check_fit(change.scene, parent.goal)
        return change

    def edit(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """As `apply`, for a goal that may not fit the new room."""
        edits = check_fields(proposal, self.fields, "proposal").get("scene")
        if not isinstance(edits, list | tuple) or not 0 < len(edits) <= MAX_EDITS:
            raise Refused("malformed", f"scene: expected a list of 1 to {MAX_EDITS} edits")
        read = [_read(edit) for edit in edits]
        room = _Room(parent, RngStream("scene", parent.task.id, canonical_json(read)))
        for edit in read:
            room.carry_out(edit)
        try:
            scene = replace(parent.scene, receptacles=tuple(room.receptacles), things=tuple(room.things))
        except GameFormatError as error:
            raise Refused("malformed", str(error)) from None
        if scene == parent.scene:
            raise Refused("unchanged", "the room is as it was")
        return Change(scene, parent.goal, {"scene": read}, clutter=room.clutter)

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of a list of edits, with the types that each may name in this room."""
        scene = parent.scene
        homes = {item.type for item in scene.receptacles}
        there = {t.type for t in scene.things if t.type and t.pickupable and t.receptacles and t.id != scene.holding}
        doors = {
            "open": {item.type for item in scene.receptacles if is_shut(item)},
            "close": {item.type for item in scene.receptacles if may_have_door(item.type) and not is_shut(item)},
        }
        counts = {"enum": list(range(1, OFFERED_COUNT + 1))}
        edits = []
        for name, keys in OFFERED.items():
            things = {kind for _, kind in scene.can_contain} if name == "add" else there
            values = {"object": things, "to": homes, "place": doors.get(name, homes)}
            if all(values[key] for key in keys if key != "count"):
                listed = {key: counts if key == "count" else {"enum": sorted(values[key])} for key in keys}
                edits.append(
                    {
                        "type": "object",
                        "properties": {"edit": {"const": name}, **listed},
                        "required": ["edit", *keys],
                        "additionalProperties": False,
                    }
                )
        return {
            "scene": {
                "type": "array",
                "items": {"oneOf": edits},
                "minItems": 1,
                "maxItems": OFFERED_EDITS,
                "description": "edits of the room; an object may be of a type that it does not have yet",
            }
        }


def _read(edit: object) -> dict[str, Any]:
    """An edit with known fields of the right kinds."""
    given = edit if isinstance(edit, Mapping) else {}
    name = given.get("edit")
    if not isinstance(name, str) or name not in EDITS:
        raise Refused("unknown_edit", f"{name!r:.80}: there are {', '.join(EDITS)}")
    check_fields(given, ("edit", *EDITS[name]), name)
    read: dict[str, Any] = {"edit": name}
    for key in EDITS[name]:
        value = given.get(key)
        if value is None:
            if key in REQUIRED[name]:
                raise Refused("malformed", f"{name}: {key} is missing")
        elif key != "count":
            read[key] = check_name(value, f"{name}: {key}")
        elif isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_COUNT:
            raise Refused("malformed", f"{name}: count is not a number from 1 to {MAX_COUNT}")
        else:
            read[key] = value
    return read


@dataclass(slots=True)
class _Room:
    """A scene under edit."""

    parent: Parent
    stream: RngStream
    receptacles: list[Receptacle] = field(init=False)
    things: list[Thing] = field(init=False)
    clutter: int = 0

    def __post_init__(self) -> None:
        self.receptacles = list(self.parent.scene.receptacles)
        self.things = list(self.parent.scene.things)

    def carry_out(self, edit: Mapping[str, Any]) -> None:
        """Carry out one edit."""
        deeds: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "close": self._doors,
            "open": self._doors,
            "move": self._move,
            "add": self._add,
            "remove": self._remove,
        }
        deeds[edit["edit"]](edit)

    # Edits

    def _doors(self, edit: Mapping[str, Any]) -> None:
        """Open or close all doors of the place, or ``count`` of them."""
        shut = edit["edit"] == "close"
        places = self._places(edit["place"])
        able = [item for item in places if is_shut(item) != shut and (not shut or may_have_door(item.type))]
        if not able:
            raise Refused("no_door", f"no {edit['place']} here can be {'closed' if shut else 'opened'}")
        for old in able[: edit.get("count")]:
            self.receptacles[self.receptacles.index(old)] = replace(old, openable=True, opened=not shut)

    def _move(self, edit: Mapping[str, Any]) -> None:
        kind = self._kind(edit)
        for thing in self._chosen(edit, kind, unreachable=True):
            place = self._place_for(edit["to"], kind, thing)
            moved = replace(thing, receptacles=(place.id,), location=place.location, inside=())
            self.things[self.things.index(thing)] = moved

    def _add(self, edit: Mapping[str, Any]) -> None:
        kind, count = self._kind(edit), edit.get("count", 1)
        if len(self.things) + count > MAX_THINGS:
            raise Refused("too_many", f"a room holds at most {MAX_THINGS} things")
        like = next((thing for thing in self.things if thing.type == kind and thing.pickupable), None) or thing_of(
            kind, f"{kind}_bar_0"
        )
        taken = {thing.id for thing in self.things} | {item.id for item in self.receptacles}
        for _ in range(count):
            place = self._place_for(edit["to"], kind, None)
            name = thing_id(kind, self.stream, taken)
            self.things.append(
                replace(like, id=name, receptacles=(place.id,), location=place.location, inside=(), is_cool=False)
            )
        self._count(kind, count)

    def _remove(self, edit: Mapping[str, Any]) -> None:
        kind = self._kind(edit)
        gone = self._chosen(edit, kind, unreachable=False)
        ids = {thing.id for thing in gone}
        left = [thing for thing in self.things if thing.id not in ids]
        self.things = [replace(t, inside=tuple(outer for outer in t.inside if outer not in ids)) for t in left]
        self._count(kind, -len(gone))

    # Names

    def _count(self, kind: str, added: int) -> None:
        self.clutter += added * (kind != self.parent.goal.object_type)

    def _kind(self, edit: Mapping[str, Any]) -> str:
        """The type of thing of an edit, which must be known to the household and takeable."""
        given = edit.get("object", self.parent.goal.object_type)
        scene = self.parent.scene
        known = {kind.lower(): kind for kind in [*(kind for _, kind in scene.can_contain), *types_of(scene.things)]}
        kind = known.get(bare(given), known.get(given.lower()))
        if kind is None:
            raise Refused("unknown_object", f"this household knows no {given!r}")
        if any(thing.type == kind and not thing.pickupable for thing in scene.things):
            raise Refused("not_takeable", f"{kind} stays where it is")
        return kind

    def _chosen(self, edit: Mapping[str, Any], kind: str, unreachable: bool) -> list[Thing]:
        """``count`` things of a type for an edit, those behind no door first."""
        homes = {item.id for item in self._places(edit["from"])} if "from" in edit else None
        closed = {item.id for item in self.receptacles if is_shut(item)}
        held = self.parent.scene.holding
        found = [
            thing
            for thing in self.things
            if thing.type == kind
            and thing.id != held
            and (homes is None or not homes.isdisjoint(thing.receptacles))
            and (thing.receptacles or (unreachable and homes is None))
        ]
        found.sort(key=lambda thing: (not thing.receptacles, closed.issuperset(thing.receptacles), thing.id))
        count = edit.get("count", 1)
        if len(found) < count:
            raise Refused("not_there", f"{len(found)} {kind} in {edit.get('from', 'the room')}, not {count}")
        return found[:count]

    def _place_for(self, name: str, kind: str, thing: Thing | None) -> Receptacle:
        """One of the places that takes a type of thing and does not have this one already."""
        places = self._places(name)
        fits = [item for item in places if (item.type, kind) in self.parent.scene.can_contain]
        if not fits:
            raise Refused("does_not_fit", f"a {places[0].type} holds no {kind}")
        free = [item for item in fits if thing is None or item.id not in thing.receptacles]
        if not free:
            raise Refused("unchanged", f"the {kind} is in {name} already")
        return self.stream.pick(free)

    def _places(self, name: str) -> list[Receptacle]:
        """The receptacles of a type, or the one of a name."""
        low = name.lower()
        found = [item for item in self.receptacles if item.type.lower() in (low, bare(name))]
        if not found:
            names = enumerate_names([r.id.lower() for r in self.receptacles] + [t.id.lower() for t in self.things])
            found = [item for item in self.receptacles if names[item.id.lower()] == low]
        if not found:
            raise Refused("unknown_place", f"the room has no {name!r}")
        return found
