"""The initial state of a world: receptacles, things, and the types that fit in each receptacle."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from operator import attrgetter
from typing import Any

from .errors import GameFormatError
from .goal import check_type_name

#: Largest scene read, several times the size of official ones. Bounds the time of planning in hostile scenes.
MAX_RECEPTACLES = 250
MAX_THINGS = 1000

#: Most things that one thing lies in; official games have at most two.
MAX_INSIDE = 32

#: Ids are PDDL names with ALFWorld's mangling: a class, ``_bar_``, anything that tells instances apart.
_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*_bar_[A-Za-z0-9_]+\Z")
_MAX_ID = 160

#: One letter for each trait of a thing in the compact JSON form.
_TRAITS = {
    "p": "pickupable",
    "c": "cleanable",
    "h": "heatable",
    "o": "coolable",
    "t": "toggleable",
    "s": "sliceable",
    "r": "is_receptacle_object",
    "x": "is_cool",
}
_traits_of = attrgetter(*_TRAITS.values())
_BOOL = frozenset({bool})


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A fixed place that holds things.

    Attributes:
        id: Mangled id, such as ``"Fridge_bar__plus_01_dot_00_bar_1"``; the class before the first ``_bar_``
            names it in the text ("fridge 1"; "sinkbasin 1" when the id contains "basin").
        type: Type without the ``Type`` ending, such as ``"Fridge"``.
        location: Id of the spot it is used from (``loc_bar_...``); receptacles may share one.
        openable: Whether it has a door.
        opened: Whether the door stands open at the start. In official games none does.
    """

    id: str
    type: str
    location: str
    openable: bool = False
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Thing:
    """An object, movable or not.

    Attributes:
        id: Mangled id, as for receptacles.
        type: Type without the ``Type`` ending, such as ``"Apple"``; None for a thing without one, which counts
            in the numbering of its class and can be taken, but fits into nothing (the cracked eggs of official
            games, which lie nowhere).
        receptacles: Ids of the receptacles it is in. Mostly one; none for things on the wall, on the floor or
            in another thing, which cannot be reached; two where the places of the original scene overlap:
            each lists it, and taking it from one leaves it in the others.
        location: Id of the spot it is seen from, or None.
        inside: Ids of the things it lies in (a pen in a mug). Mostly none or one; official games have things in
            two others at once, and pans that lie in themselves. Each other thing lists it when examined, for
            ever: no action changes what lies in a thing.
        pickupable: Whether it can be taken.
        cleanable: Whether a sink cleans it.
        heatable: Whether a microwave heats it.
        coolable: Whether a fridge cools it.
        toggleable: Whether it is a lamp. Lamps are never pickupable.
        sliceable: Whether a knife slices it.
        is_receptacle_object: Whether it can hold other things.
        is_cool: Whether it is cool at the start.
    """

    id: str
    type: str | None
    receptacles: tuple[str, ...] = ()
    location: str | None = None
    inside: tuple[str, ...] = ()
    pickupable: bool = False
    cleanable: bool = False
    heatable: bool = False
    coolable: bool = False
    toggleable: bool = False
    sliceable: bool = False
    is_receptacle_object: bool = False
    is_cool: bool = False


def _check_id(value: object, place: str) -> str:
    if not isinstance(value, str) or len(value) > _MAX_ID or not _ID.match(value):
        raise GameFormatError(f"{place}: {value!r:.80} is not an id; use class, '_bar_' and suffix, like 'Apple_bar_1'")
    return value.lower()


def _check_location(value: object, place: str) -> str:
    low = _check_id(value, place)
    # ALFWorld numbers locations along with things, by class: a location "Apple" would shift the apples.
    if not low.startswith("loc_bar_"):
        raise GameFormatError(f"{place}: location {value!r:.80} must start with 'loc_bar_'")
    return low


def _check_flag(value: object, place: str) -> None:
    if not isinstance(value, bool):
        raise GameFormatError(f"{place}: expected true or false, got {value!r:.80}")


@dataclass(frozen=True, slots=True)
class Scene:
    """A parsed and validated world. Names are compared without regard to case, as PDDL does.

    Attributes:
        start: Location of the agent at the start.
        receptacles: All receptacles.
        things: All things.
        can_contain: Pairs (receptacle type, object type) of allowed placements.
        holding: Id of the thing in the agent's hand at the start, which then is nowhere else, or None. In
            official games the hand is empty.

    Raises:
        GameFormatError: Ids are malformed, double or dangling, or the scene is too large.
    """

    start: str
    receptacles: tuple[Receptacle, ...]
    things: tuple[Thing, ...]
    can_contain: frozenset[tuple[str, str]]
    holding: str | None = None

    def __post_init__(self) -> None:
        if len(self.receptacles) > MAX_RECEPTACLES or len(self.things) > MAX_THINGS:
            raise GameFormatError(
                f"scene: {len(self.receptacles)} receptacles and {len(self.things)} things are more than the"
                f" {MAX_RECEPTACLES} and {MAX_THINGS} supported"
            )
        _check_location(self.start, "scene start")
        seen: set[str] = set()
        for receptacle in self.receptacles:
            self._check_new(receptacle.id, seen, "receptacle")
            place = f"receptacle {receptacle.id}"
            check_type_name(receptacle.type, place)
            _check_location(receptacle.location, place)
            _check_flag(receptacle.openable, place)
            _check_flag(receptacle.opened, place)
            if receptacle.opened and not receptacle.openable:
                raise GameFormatError(f"{place}: it is opened but has no door; make it openable too")
        receptacle_ids = set(seen)
        for thing in self.things:
            self._check_new(thing.id, seen, "thing")
        thing_ids = seen - receptacle_ids
        places = {receptacle.location for receptacle in self.receptacles}  # they are locations, as has been checked
        for thing in self.things:
            self._check_thing(thing, receptacle_ids, thing_ids, places)
        self._check_untyped()
        self._check_types()
        if self.holding is not None:
            self._check_holding(self.holding)

    def _check_holding(self, holding: object) -> None:
        low = holding.lower() if isinstance(holding, str) else holding
        held = next((thing for thing in self.things if thing.id.lower() == low), None)
        if held is None:
            raise GameFormatError(f"scene holding: {holding!r:.80} is not a thing of the scene")
        if not held.pickupable or held.receptacles or held.location or held.inside:
            raise GameFormatError(f"scene holding: {held.id} must be pickupable, and nowhere but in the hand")
        object.__setattr__(self, "holding", held.id)  # as the thing itself is spelled

    def _check_types(self) -> None:
        may_hold = self.may_hold()
        places = {r.type.lower() for r in self.receptacles}.union(may_hold)
        objects = {t.type.lower() for t in self.things if t.type}.union(*may_hold.values())
        if places & objects:
            raise GameFormatError(
                f"scene: {', '.join(sorted(places & objects))}: types of receptacles and of things at once;"
                " PDDL names are global, so drop one of the two (also from can_contain)"
            )

    def _check_untyped(self) -> None:
        outer = {low.lower() for thing in self.things for low in thing.inside}
        for thing in self.things:
            named = thing.receptacles or thing.location or thing.inside or thing.id.lower() in outer
            if thing.type is None and not named and not any(getattr(thing, name) for name in _TRAITS.values()):
                raise GameFormatError(
                    f"thing {thing.id}: it has neither type, place nor trait, so that no fact of a game could name it;"
                    " give it one of them, or leave it out"
                )

    @staticmethod
    def _check_new(value: str, seen: set[str], kind: str) -> None:
        low = _check_id(value, kind)
        if low.startswith("loc_bar_"):
            raise GameFormatError(f"{kind} {value!r}: ids that start with 'loc_bar_' are locations; rename it")
        if low in seen:
            raise GameFormatError(f"{kind} {value!r}: this id is used twice; ids must differ in more than case")
        seen.add(low)

    @staticmethod
    def _check_thing(thing: Thing, receptacle_ids: set[str], thing_ids: set[str], places: set[str]) -> None:
        place = f"thing {thing.id}"
        if thing.type is not None:
            check_type_name(thing.type, place)
        if thing.location is not None and thing.location not in places:
            _check_location(thing.location, place)
        if not isinstance(thing.receptacles, tuple) or len(thing.receptacles) > 8:
            raise GameFormatError(f"{place}: receptacles must be a tuple of at most 8 ids")
        for receptacle in thing.receptacles:
            if not isinstance(receptacle, str) or receptacle.lower() not in receptacle_ids:
                raise GameFormatError(f"{place}: it is in {receptacle!r:.80}, which is not a receptacle of the scene")
        if not isinstance(thing.inside, tuple) or len(thing.inside) > MAX_INSIDE:
            raise GameFormatError(f"{place}: inside must be a tuple of at most {MAX_INSIDE} ids")
        for outer in thing.inside:
            if not isinstance(outer, str) or outer.lower() not in thing_ids:
                raise GameFormatError(f"{place}: it is inside {outer!r:.80}, which is not a thing of the scene")
        if not _BOOL.issuperset(map(type, _traits_of(thing))):
            for name in _TRAITS.values():
                _check_flag(getattr(thing, name), f"{place}, {name}")
        if thing.toggleable and thing.pickupable:
            raise GameFormatError(f"{place}: a toggleable thing (a lamp) cannot be pickupable; drop one of the two")

    def may_hold(self) -> Mapping[str, frozenset[str]]:
        """By receptacle type, the object types that may be put there; all in lower case."""
        return _checked_pairs(self.can_contain)

    def to_dict(self) -> dict[str, Any]:
        """The scene as compact JSON data: rows, not objects.

        Receptacle rows are ``[id, type, location, openable]``; thing rows are ``[id, type, [receptacle ids],
        location, inside, traits]`` with one letter a trait (p pickupable, c cleanable, h heatable,
        o coolable, t toggleable, s sliceable, r receptacle object, x cool at the start). ``inside`` is null, an
        id, or a list of several; the type of a thing without one is null. Where a door stands
        open, the receptacle's row ends in one more ``true``; ``holding`` is left out where the hand is empty.
        """
        fits: dict[str, list[str]] = {}
        for receptacle_type, object_type in sorted(self.can_contain):
            fits.setdefault(receptacle_type, []).append(object_type)
        held = {} if self.holding is None else {"holding": self.holding}
        return {
            "start": self.start,
            "receptacles": [[r.id, r.type, r.location, r.openable] + [True] * r.opened for r in self.receptacles],
            "things": [
                [
                    thing.id,
                    thing.type,
                    list(thing.receptacles),
                    thing.location,
                    inside_data(thing.inside),
                    "".join(compress(_TRAITS, _traits_of(thing))),
                ]
                for thing in self.things
            ],
            "can_contain": fits,
            **held,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Scene":
        """Read what :meth:`to_dict` wrote (tuples and lists alike).

        Raises:
            GameFormatError: The mapping is not such a scene; the message names the place.
        """
        wanted = {"start", "receptacles", "things", "can_contain"}
        if not isinstance(data, Mapping) or set(data) - {"holding"} != wanted:
            raise GameFormatError(f"scene: expected a mapping with the keys {sorted(wanted)}, and perhaps 'holding'")
        fits = data["can_contain"]
        if not isinstance(fits, Mapping):
            raise GameFormatError("scene can_contain: expected a mapping from receptacle type to object types")
        pairs = [
            (check_type_name(receptacle_type, "can_contain"), check_type_name(object_type, "can_contain"))
            for receptacle_type, object_types in fits.items()
            for object_type in _rows(object_types, "scene can_contain")
        ]
        return cls(
            start=data["start"],
            receptacles=tuple(_receptacle(row) for row in _rows(data["receptacles"], "scene receptacles")),
            things=tuple(_thing(row) for row in _rows(data["things"], "scene things")),
            can_contain=frozenset(pairs),
            holding=data.get("holding"),
        )


@lru_cache(maxsize=256)
def _checked_pairs(pairs: frozenset[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """Pairs of types by their first, in lower case; all tasks of a room have the same pairs."""
    found: dict[str, set[str]] = {}
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise GameFormatError(f"can_contain: {pair!r:.80} is not a pair (receptacle type, object type)")
        kind, held = (check_type_name(name, "can_contain") for name in pair)
        found.setdefault(kind.lower(), set()).add(held.lower())
    return {kind: frozenset(held) for kind, held in found.items()}


def _rows(value: object, place: str) -> Iterable[Any]:
    if not isinstance(value, list | tuple):
        raise GameFormatError(f"{place}: expected a list, got {type(value).__name__}")
    return value


def _receptacle(row: object) -> Receptacle:
    if not isinstance(row, list | tuple) or len(row) not in (4, 5):
        raise GameFormatError(f"scene receptacles: {row!r:.80} is not a row [id, type, location, openable(, opened)]")
    return Receptacle(*row)


def _thing(row: object) -> Thing:
    if not isinstance(row, list | tuple) or len(row) != 6 or not isinstance(row[5], str):
        raise GameFormatError(
            f"scene things: {row!r:.80} is not a row [id, type, receptacles, location, inside, traits]"
        )
    identity, type_, receptacles, location, inside, letters = row
    if not set(letters) <= set(_TRAITS) or len(letters) > len(_TRAITS):
        raise GameFormatError(f"scene things: {letters!r:.80} are not trait letters; use some of {''.join(_TRAITS)}")
    traits = {name: letter in letters for letter, name in _TRAITS.items()}
    homes = tuple(_rows(receptacles, "thing receptacles"))
    return Thing(identity, type_, homes, location, inside_of_data(inside), **traits)


def inside_data(inside: tuple[str, ...]) -> str | list[str] | None:
    """The receptacles of a thing as JSON data: null, an id, or a list of several."""
    return list(inside) if len(inside) > 1 else inside[0] if inside else None


def inside_of_data(data: Any) -> tuple[Any, ...]:
    """Read what :func:`inside_data` wrote; the ids are checked by the scene.

    Raises:
        GameFormatError: It is none of the three.
    """
    if data is None or isinstance(data, str):
        return () if data is None else (data,)
    return tuple(_rows(data, "thing inside"))
