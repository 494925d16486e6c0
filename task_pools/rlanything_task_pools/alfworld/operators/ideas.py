"""Scripted edits of a scene that make a task harder or easier with the same goal."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import in_reach, is_shut, need
from rlanything_task_pools.alfworld.generate import STATION
from rlanything_task_pools.alfworld.operators.change import MAX_COUNT, MAX_EDITS, Parent, may_have_door
from rlanything_task_pools.task import Direction
from rlanything_verifiers.alfworld import Receptacle
from rlanything_verifiers.alfworld.tables import enumerate_names

Edit = dict[str, Any]

IDEAS = 24
"""Most lists of edits for one request; each costs a proof of well under a millisecond."""
CLUTTER = (4, 6, 8)
"""Numbers of things to add or to clear away: fewer do not count as a change of difficulty."""
MAX_COPIES = 3
"""Most copies of the wanted thing to add at once."""


def ideas(parent: Parent, direction: Direction, rng: np.random.Generator) -> list[list[Edit]]:
    """Lists of edits that may go in a direction, all sorts of edits among them; the most that `IDEAS` allows."""
    sorts = [list(found) for found in (_harder(parent, rng) if direction == "harder" else _easier(parent, rng))]
    mixed: list[list[Edit]] = []
    while any(sorts) and len(mixed) < IDEAS:
        mixed += [sort.pop(int(rng.integers(len(sort)))) for sort in sorts if sort]
    return mixed[:IDEAS]


def _harder(parent: Parent, rng: np.random.Generator) -> Iterator[Iterator[list[Edit]]]:
    yield _close(parent)
    yield _hide(parent)
    yield _fewer(parent)
    yield _clutter(parent, rng)


def _easier(parent: Parent, rng: np.random.Generator) -> Iterator[Iterator[list[Edit]]]:
    yield _open(parent)
    yield _show(parent)
    yield _copies(parent)
    yield _clear(parent, rng)


def _close(parent: Parent) -> Iterator[list[Edit]]:
    kinds = Counter(item.type for item in parent.scene.receptacles if not is_shut(item) and may_have_door(item.type))
    return ([{"edit": "close", "place": kind}] for kind in sorted(kinds))


def _open(parent: Parent) -> Iterator[list[Edit]]:
    kinds = Counter(item.type for item in parent.scene.receptacles if is_shut(item))
    for kind, number in sorted(kinds.items()):
        for count in sorted({number, (number + 1) // 2}):
            yield (
                [{"edit": "open", "place": kind}]
                if count == number
                else [{"edit": "open", "place": kind, "count": min(count, MAX_COUNT)}]
            )


def _homes(parent: Parent, shut: bool) -> list[str]:
    """Types of receptacles that take the wanted thing, closed ones or open ones; not those it shall end in."""
    scene, goal = parent.scene, parent.goal
    return sorted(
        {
            item.type
            for item in scene.receptacles
            if is_shut(item) == shut
            and (item.type, goal.object_type) in scene.can_contain
            and item.type not in (goal.receptacle_type, STATION.get(goal.kind))
        }
    )


def _wanted(parent: Parent) -> tuple[list[str], list[str]]:
    """Types of the receptacles in which the wanted things lie open to view, and behind doors; one for each."""
    scene = parent.scene
    place = {item.id: item for item in scene.receptacles}
    lying = [
        place[thing.receptacles[0]]
        for thing in in_reach(scene)
        if thing.type == parent.goal.object_type and thing.receptacles
    ]
    return [r.type for r in lying if not is_shut(r)], [r.type for r in lying if is_shut(r)]


def _hide(parent: Parent) -> Iterator[list[Edit]]:
    seen, _ = _wanted(parent)
    for kind in _homes(parent, shut=True) if 0 < len(seen) <= 6 else ():
        yield [{"edit": "move", "from": home, "to": kind} for home in seen]


def _show(parent: Parent) -> Iterator[list[Edit]]:
    seen, hidden = _wanted(parent)
    wanted = need(parent.goal.kind) - min(len(seen), 1)
    for kind in _homes(parent, shut=False) if hidden else ():
        yield [{"edit": "move", "from": home, "to": kind} for home in hidden[: max(wanted, 1)]]


def _fewer(parent: Parent) -> Iterator[list[Edit]]:
    seen, hidden = _wanted(parent)
    for count in range(1, len(seen) + len(hidden) - need(parent.goal.kind) + 1):
        yield [{"edit": "remove", "count": count}]


def _copies(parent: Parent) -> Iterator[list[Edit]]:
    for kind in _homes(parent, shut=False) or _homes(parent, shut=True):
        for count in range(1, MAX_COPIES + 1):
            yield [{"edit": "add", "to": kind, "count": count}]


def _clutter(parent: Parent, rng: np.random.Generator) -> Iterator[list[Edit]]:
    """Edits that add other things to the places of the wanted ones."""
    scene, goal = parent.scene, parent.goal
    fixed = {thing.type for thing in scene.things if not thing.pickupable} | {goal.object_type}
    for name, home in _crowds(parent):
        kinds = sorted(kind for place, kind in scene.can_contain if place == home.type and kind not in fixed)
        for count in CLUTTER if len(kinds) > 1 else ():
            chosen = [kinds[i] for i in rng.permutation(len(kinds))[:2]]
            yield [{"edit": "add", "object": kind, "to": name, "count": count // 2} for kind in chosen]


def _clear(parent: Parent, rng: np.random.Generator) -> Iterator[list[Edit]]:
    """Edits that remove other things from the places of the wanted ones."""
    scene, goal = parent.scene, parent.goal
    for name, home in _crowds(parent):
        there = (thing for thing in in_reach(scene) if home.id in thing.receptacles and thing.type != goal.object_type)
        lying = sorted(Counter(thing.type for thing in there).items())
        chosen = [lying[i] for i in rng.permutation(len(lying))[:MAX_EDITS]]
        if sum(number for _, number in chosen) >= CLUTTER[0]:
            yield [{"edit": "remove", "object": kind, "from": name, "count": min(n, MAX_COUNT)} for kind, n in chosen]


def _crowds(parent: Parent) -> list[tuple[str, Receptacle]]:
    """The receptacles in which wanted things lie, with their names in the game."""
    scene = parent.scene
    homes = {place for thing in in_reach(scene) if thing.type == parent.goal.object_type for place in thing.receptacles}
    names = enumerate_names([r.id.lower() for r in scene.receptacles] + [t.id.lower() for t in scene.things])
    return [(names[item.id.lower()], item) for item in scene.receptacles if item.id in homes]
