"""Things for a layout: how many of each kind, where they lie, and which of them the goal is about."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from rlanything_task_pools.alfworld.difficulty import need
from rlanything_task_pools.alfworld.household import FLOOR, household, thing_of
from rlanything_task_pools.alfworld.layout import Layout, thing_id
from rlanything_task_pools.rng_stream import RngStream
from rlanything_verifiers.alfworld.goal import Goal
from rlanything_verifiers.alfworld.scene import Receptacle, Scene, Thing

USUAL = 0.85
"""Share of things put where such things were seen in the official games; the rest go anywhere they fit."""
NESTED = 0.035
"""Probability that a thing lies in another one at the same place, so that some 17 % of games have such a pair."""
NESTED_UNREACHABLE = 0.25
"""Share of nested things that cannot be taken out (others are listed next to their container, as in official games)."""
EXTRA_COPIES = 3
"""Maximum copies beyond the first of a kind no goal asks for; the official games have 1 to 4 of each."""


def populate(rng: RngStream, layout: Layout, goal: Goal, copies: int) -> Scene | None:
    """Put things into a layout so that the goal is not true and enough of what it asks for can be taken.

    Args:
        rng: Where the draws come from.
        layout: The empty room.
        goal: A goal that fits the layout.
        copies: Number of things of the goal's object type.

    Returns:
        The scene, or None when the things the goal asks for can lie nowhere but where they shall end.
    """
    objects = household().rooms[layout.room].objects
    taken = {item.id for item in layout.receptacles} | {prop.id for prop in layout.props}
    things: list[Thing] = []
    for kind in layout.object_types:
        if kind == goal.object_type:
            homes = _target_homes(rng, layout, goal, copies)
            if homes is None:
                return None
        else:
            more = (objects[kind].copies - 1) / EXTRA_COPIES if kind in objects else 1 / EXTRA_COPIES
            number = 1 + sum(rng.chance(more) for _ in range(EXTRA_COPIES))
            homes = [_home(rng, layout, _places(layout, kind)) for _ in range(number)]
        for home in homes:
            name = thing_id(kind, rng, taken)  # before the place: the order of draws is part of what a seed means
            thing = thing_of(kind, name, home, home.location if home else rng.pick(layout.floor))
            # As in the official games: what is to be heated has been cooled by the fridge it lies in.
            cooled = goal.kind == "heat" and kind == goal.object_type and home is not None and home.type == "Fridge"
            things.append(replace(thing, is_cool=True) if cooled else thing)
    _nest(rng, things, goal)
    return Scene(layout.start, layout.receptacles, (*layout.props, *things), layout.can_contain)


@lru_cache(maxsize=8192)
def _places(layout: Layout, kind: str) -> Mapping[str, float]:
    """Weights of a thing's place: the receptacle types of a layout, or the floor."""
    present = layout.by_type
    fitting = [place for place in present if (place, kind) in layout.can_contain]
    stats = household().rooms[layout.room].objects.get(kind)
    usual = {} if stats is None else {p: n for p, n in stats.places.items() if p == FLOOR or p in present}
    total = sum(usual.values())
    share = USUAL if fitting else 1.0
    weights = {place: share * n / total for place, n in usual.items()}
    for place in fitting:
        weights[place] = weights.get(place, 0.0) + (1.0 - share if total else 1.0) / len(fitting)
    return MappingProxyType(weights or {FLOOR: 1.0})


def _home(rng: RngStream, layout: Layout, places: Mapping[str, float]) -> Receptacle | None:
    place = rng.weighted(places)
    return None if place == FLOOR else rng.pick(layout.by_type[place])


def _target_homes(rng: RngStream, layout: Layout, goal: Goal, copies: int) -> list[Receptacle | None] | None:
    """Homes for the things the goal is about; the first ``need`` of them in reach and not in place yet."""
    anywhere = _places(layout, goal.object_type)
    away = dict(anywhere)
    if goal.kind in ("simple", "two"):
        away.pop(goal.receptacle_type, None)
    sure = {place: weight for place, weight in away.items() if place != FLOOR}
    if not sure:
        return None
    wanted = need(goal.kind)
    homes = [_home(rng, layout, sure) for _ in range(wanted)]
    # The third of three or more may lie where two shall be: the goal is not true by it, and official games
    # have it.
    more = [anywhere if goal.kind == "two" and n == wanted else away for n in range(wanted, copies)]
    return homes + [_home(rng, layout, places) for places in more]


def _nest(rng: RngStream, things: list[Thing], goal: Goal) -> None:
    """Lay a few things into others at the same place."""
    contains = household().contains
    for index, inner in enumerate(things):
        if not inner.receptacles or not rng.chance(NESTED) or inner.type == goal.object_type:
            continue
        holders = {kind for kind, held in contains.items() if inner.type in held}
        outer = next(
            (
                thing
                for thing in things
                if thing.is_receptacle_object
                and thing.receptacles == inner.receptacles
                and not thing.inside
                and thing.id != inner.id
                and thing.type in holders
            ),
            None,
        )
        if outer is not None:
            hidden = rng.chance(NESTED_UNREACHABLE)
            things[index] = replace(inner, inside=(outer.id,), receptacles=() if hidden else inner.receptacles)
