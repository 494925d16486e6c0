"""The 120 AI2-THOR floor plans that the alfworld package brings along, as layouts to put tasks in.

The package lists, for each plan, receptacles with where they stand and where they are used from, and the
types of all things present. It leaves out burners, toasters, coffee machines, holders and some others:
those are added.
"""

import json
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from rlanything_task_pools.alfworld.household import household, room_of
from rlanything_task_pools.alfworld.layout import (
    Layout,
    complete_layout,
    location_id,
    location_name,
    mangled,
    opens,
    stand_props,
    thing_id,
)
from rlanything_task_pools.errors import MissingExtra
from rlanything_task_pools.rng_stream import RngStream, count_at
from rlanything_verifiers.alfworld.scene import Receptacle
from rlanything_verifiers.installed import install

UNSEEN_FLOORPLANS = frozenset({10, 219, 308, 424})
"""The plans of the official valid_unseen games."""

_QUARTER_METRES = 4
_ADDED = 1
"""Number of a receptacle that a plan has but does not list, where the room's facts say nothing."""


def layouts_folder() -> Path:
    """Where the alfworld package keeps its layouts; the package is not imported.

    Raises:
        MissingExtra: alfworld is not installed.
    """
    spec = find_spec("alfworld")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "gen" / "layouts"
        if folder.is_dir():
            return folder
    raise MissingExtra(
        "scenes='floorplans' needs the layouts of the alfworld package: "
        f"{install('alfworld')}, or use scenes='procedural'"
    )


@lru_cache(maxsize=128)
def floorplan_layout(number: int) -> Layout:
    """The layout of a floor plan.

    Args:
        number: AI2-THOR's number: kitchens 1 to 30, living rooms 201 to 230, bedrooms 301.., bathrooms 401...

    Raises:
        MissingExtra: alfworld is not installed.
        ValueError: There is no such plan.
    """
    room = household().rooms[room_of(number)]
    folder = layouts_folder()
    try:
        listed = json.loads((folder / f"FloorPlan{number}-openable.json").read_text(encoding="utf-8"))
        types = set(json.loads((folder / f"FloorPlan{number}-objects.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(f"there is no floor plan {number} under {folder}") from None
    rng = RngStream("floorplan", number)
    receptacles = [_receptacle(name, pose, room.openable_rate, rng) for name, pose in sorted(listed.items())]
    taken = {item.id for item in receptacles} | {item.location for item in receptacles}
    present = {item.type for item in receptacles}
    movable = household().affordances["receptacle_object"]
    for kind in sorted(types & set(household().contains) - present - movable):
        stats = room.receptacles.get(kind)
        for _ in range(count_at(rng.uniform(), stats.quantiles) if stats else _ADDED):
            name = thing_id(kind, rng, taken)
            opening = opens(kind, room.openable_rate, rng)
            receptacles.append(Receptacle(name, kind, location_id(rng, taken), opening))
    floor = tuple(location_id(rng, taken) for _ in range(4))
    props = [kind for kind in room.props if kind in types]
    return complete_layout(
        number,
        tuple(receptacles),
        stand_props(props, room, tuple(receptacles), floor, rng, taken),
        tuple(sorted(types & {kind for room in household().rooms.values() for kind in room.objects})),
        location_id(rng, taken),
        floor,
    )


def _receptacle(name: str, pose: list[float], openable_rate: float, rng: RngStream) -> Receptacle:
    """A listed receptacle, ``Sink|-01.90|+00.97|-01.50|SinkBasin``, used from (x, z, heading, angle)."""
    kind, *coordinates = name.split("|")[:4]
    kind = {"Sink": "SinkBasin", "Bathtub": "BathtubBasin"}.get(kind, kind)
    written = [
        ("_minus_" if value.startswith("-") else "_plus_") + value.lstrip("+-").replace(".", "_dot_")
        for value in coordinates
    ]
    x, z, heading, angle = pose
    location = location_name(
        round(x * _QUARTER_METRES), round(z * _QUARTER_METRES), round(heading / 90) % 4, round(angle)
    )
    return Receptacle(mangled(kind, written), kind, location, opens(kind, openable_rate, rng))
