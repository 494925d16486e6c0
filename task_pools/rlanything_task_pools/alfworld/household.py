"""Facts about households to draw from: what there is in a room, what holds what, what can be done."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

from rlanything_verifiers.alfworld.scene import Receptacle, Thing

ROOM_BASE: Mapping[str, int] = MappingProxyType({"Kitchen": 0, "LivingRoom": 200, "Bedroom": 300, "Bathroom": 400})
"""First scene number of each room less one, as AI2-THOR numbers its floor plans."""

FLOOR = "floor"
"""The place of things in no receptacle, which are invisible and out of reach."""

HELD_OUT_SHARE = 0.15
"""Share of (object type, receptacle type) pairs that only valid_unseen tasks use."""


@dataclass(frozen=True, slots=True)
class ReceptacleStats:
    """Frequency and number of a kind of receptacle in a room."""

    present: float
    """Probability that the room has any."""
    quantiles: tuple[float, ...]
    """Minimum, quartiles and maximum of the number in rooms that have one."""


@dataclass(frozen=True, slots=True)
class ThingStats:
    """Frequency, number and places of a kind of thing in a room."""

    present: float
    copies: float
    """Mean number in rooms that have one."""
    places: Mapping[str, float]
    """Counts by kind of receptacle, or the `FLOOR`."""


@dataclass(frozen=True, slots=True)
class Room:
    """Facts about one kind of room."""

    name: str
    receptacles: Mapping[str, ReceptacleStats]
    objects: Mapping[str, ThingStats]
    """Things that can be picked up."""
    props: Mapping[str, ThingStats]
    """Things that cannot."""
    openable_rate: float
    """Probability that a cabinet or drawer opens; the others stand open for good."""


@dataclass(frozen=True, slots=True)
class Household:
    """All rooms, and what is true of kinds of things anywhere."""

    rooms: Mapping[str, Room]
    contains: Mapping[str, frozenset[str]]
    """Object types a receptacle type may hold."""
    affordances: Mapping[str, frozenset[str]]
    """Object types that are cleanable, heatable, coolable, sliceable, toggleable, receptacle_object."""
    openable: frozenset[str]


@lru_cache(maxsize=1)
def household() -> Household:
    """The facts of ``household.json``, read once."""
    facts = json.loads(files(__package__).joinpath("household.json").read_text(encoding="utf-8"))

    def things(table: Mapping[str, Mapping[str, object]]) -> dict[str, ThingStats]:
        return {name: ThingStats(**stats) for name, stats in table.items()}  # type: ignore[arg-type]

    rooms = {
        name: Room(
            name=name,
            receptacles={
                kind: ReceptacleStats(stats["present"], tuple(stats["quantiles"]))
                for kind, stats in room["receptacles"].items()
            },
            objects=things(room["objects"]),
            props=things(room["props"]),
            openable_rate=room["openable_rate"],
        )
        for name, room in facts["rooms"].items()
    }
    return Household(
        rooms=rooms,
        contains={kind: frozenset(held) for kind, held in facts["contains"].items()},
        affordances={name: frozenset(kinds) for name, kinds in facts["affordances"].items()},
        openable=frozenset(facts["openable"]),
    )


def room_of(scene: int) -> str:
    """The kind of room a scene number belongs to.

    Raises:
        ValueError: No room has this number.
    """
    for name, base in ROOM_BASE.items():
        if base < scene < base + 100:
            return name
    raise ValueError(
        f"no room has scene number {scene}: kitchens are 1.., living rooms 201.., bedrooms 301.., baths 401.."
    )


@lru_cache(maxsize=4096)
def held_out(object_type: str, receptacle_type: str) -> bool:
    """Whether a pair is kept from training: decided by a hash of the names, the same anywhere."""
    digest = hashlib.sha256(f"{object_type}|{receptacle_type}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < HELD_OUT_SHARE * 2**64


def thing_of(kind: str, name: str, home: Receptacle | None = None, location: str | None = None) -> Thing:
    """A thing that can be picked up, with what things of its type can do.

    Args:
        kind: Its type.
        name: Its id in the scene.
        home: The receptacle it lies in, if any.
        location: Where it stands.
    """
    able = household().affordances
    return Thing(
        id=name,
        type=kind,
        receptacles=(home.id,) if home else (),
        location=location,
        pickupable=True,
        cleanable=kind in able["cleanable"],
        heatable=kind in able["heatable"],
        coolable=kind in able["coolable"],
        sliceable=kind in able["sliceable"],
        is_receptacle_object=kind in able["receptacle_object"],
    )
