"""Short plans by construction, and proofs of solvability by playing them.

In this domain every receptacle can be walked to and opened from everywhere, so a plan is a handful of visits:
put down what is in the way, fetch an object, prepare it at a station, put it in place. The planner builds
every sensible sequence of visits and keeps the shortest; visits that cannot differ in length are tried once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .game import Game
from .tables import Tables, bits
from .world import World


def plan(world: World) -> list[str] | None:
    """A short plan from the current state of a world, which is left untouched.

    Args:
        world: Any state, before or after any moves.

    Returns:
        Commands that solve the game in order; ``[]`` if it is solved already; None if it is unsolvable.
    """
    if world.won:
        return []
    best = _Planner(world).best()
    return None if best is None else list(best.steps)


def prove(game: Game) -> list[str] | None:
    """Prove a game solvable by winning it.

    Returns:
        A plan from the start, verified in a fresh world (``[]``: the game is solved at the start);
        None if there is none.
    """
    world = World(game)
    steps = plan(world)
    if steps is None:
        return None
    for command in steps:
        world.step(command)
    return steps if world.won else None


@dataclass(slots=True)
class _Path:
    """Where a sequence of commands leads: place of the agent, open receptacles (mask), commands."""

    at: int
    opened: int
    steps: tuple[str, ...]


def _shortest(paths: Iterable[_Path]) -> _Path | None:
    return min(paths, key=lambda path: len(path.steps), default=None)


class _Planner:
    def __init__(self, world: World) -> None:
        self.tables: Tables = world._tables
        self.contents = world._contents
        self.held = world._held
        self.start = _Path(world._at, world._opened, ())
        self.ready = world._prepared()
        self.toggled = world._toggled

    def best(self) -> _Path | None:
        """The shortest path found to the goal."""
        kind = self.tables.goal_kind
        if kind == "look":
            return _shortest(self._looks())
        return _shortest(self._pairs()) if kind == "two" else _shortest(self._placements())

    # Goals

    def _looks(self) -> Iterator[_Path]:
        tables = self.tables
        spots = {
            (tables.location_of[r], lamp): r
            for r, mask in enumerate(self.contents)
            for lamp in bits(mask & tables.goal_lamps)
        }
        for _, _, path in self._fetches(tables.goal_targets, self.start, self.held):
            for (place, lamp), r in spots.items():
                there = self._visit(path, r)
                lit = self.toggled >> lamp & 1
                yield (there if lit else _Path(place, there.opened, (*there.steps, f"use {tables.thing_names[lamp]}")))

    def _placements(self) -> Iterator[_Path]:
        tables = self.tables
        stations = self._stations()
        goal_places = sum(1 << r for r in tables.goal_places)
        for thing, source, path in self._fetches(tables.goal_targets, self.start, self.held, (goal_places,)):
            placed = any(r != source and self.contents[r] >> thing & 1 for r in tables.goal_places)
            for ready in [path] if self.ready >> thing & 1 else self._prepare(thing, path, stations):
                if placed:  # taken from one receptacle, it is still in another
                    yield ready
                for r in self._distinct(ready, thing):
                    yield self._put(ready, thing, r)

    def _pairs(self) -> Iterator[_Path]:
        tables = self.tables
        targets = tables.goal_targets
        near = {self.start.at} | {tables.location_of[r] for r, mask in enumerate(self.contents) if mask & targets}
        shortest = 1 << 30
        seen: set[tuple[int, int, int, bool]] = set()
        for r in tables.goal_places:
            inside = self.contents[r] & targets
            wanted = targets & ~inside & tables.fits[r]
            place = tables.location_of[r]
            signature = (inside, wanted, place if place in near else -1, self._shut(self.start, r))
            if signature in seen:
                continue
            seen.add(signature)
            seconds = self._seconds(wanted, place)
            sources = sum(1 << q for q, mask in enumerate(self.contents) if mask & wanted)
            for first, _, path in self._fetches(wanted, self.start, self.held, (1 << r, sources)):
                once = self._put(path, first, r)
                if inside:
                    shortest = min(shortest, len(once.steps))
                    yield once
                    continue
                if len(once.steps) + 2 >= shortest:  # a take and a move are yet to come
                    continue
                others = seconds
                for q in bits(once.opened & ~self.start.opened):
                    others |= self.contents[q] & wanted
                for second, _, longer in self._fetches(others & ~(1 << first), once, -1):
                    done = self._put(longer, second, r)
                    shortest = min(shortest, len(done.steps))
                    yield done

    def _seconds(self, wanted: int, place: int) -> int:
        """Things worth considering as the second of a pair that goes to a place.

        All that lie there; of the others two behind doors and two that are not, one of which may be the first.
        """
        chosen = 0
        spare = [2, 2]
        for r, mask in enumerate(self.contents):
            if found := mask & wanted & self.tables.pickupable:
                if self.tables.location_of[r] == place:
                    chosen |= found
                    continue
                shut = self._shut(self.start, r)
                for thing in bits(found)[: spare[shut]]:
                    chosen |= 1 << thing
                    spare[shut] -= 1
        return chosen

    # Parts

    def _fetches(
        self, wanted: int, path: _Path, held: int, useful: tuple[int, ...] = (0,)
    ) -> Iterator[tuple[int, int, _Path]]:
        """Ways to have one of the wanted things in hand.

        Args:
            wanted: The things.
            path: The commands so far.
            held: The thing in hand after that, or -1.
            useful: Sets of receptacles (masks) that may be needed open later: another thing in hand is put down
                in one of these where that is no detour. Each set is tried.

        Yields:
            The thing, the receptacle it was taken from (-1 if it was in hand), and the path.
        """
        tables = self.tables
        if held >= 0 and wanted >> held & 1:
            yield held, -1, path
            if self.ready >> held & 1:
                return
            wanted &= self.ready | tables.doubled  # an unprepared thing in hand is worth leaving for these only
        for r, mask in enumerate(self.contents):
            found = mask & wanted & tables.pickupable & ~(1 << held if held >= 0 else 0)
            if not found:
                continue
            for free in [path] if held < 0 else self._drop(path, held, r, useful):
                there = self._reach(free, r)
                for thing in self._alike(found):
                    command = f"take {tables.thing_names[thing]} from {tables.receptacle_names[r]}"
                    yield thing, r, _Path(there.at, there.opened, (*there.steps, command))

    def _alike(self, found: int) -> list[int]:
        """Things of one receptacle, one for each way in which they can differ to the rest of the plan."""
        doubled = self.tables.doubled
        chosen: dict[tuple[int, int], int] = {}
        for thing in bits(found):
            chosen.setdefault((self.ready >> thing & 1, thing if doubled >> thing & 1 else -1), thing)
        return list(chosen.values())

    def _drop(self, path: _Path, held: int, towards: int, useful: tuple[int, ...]) -> list[_Path]:
        """Cheapest ways to put down the thing in hand on the way to a receptacle; empty if there is none."""
        tables = self.tables
        target = tables.location_of[towards]
        costs = []
        for r, fits in enumerate(tables.fits):
            if fits >> held & 1:
                place = tables.location_of[r]
                # Where the way leads to, the door has to be opened anyway.
                door = r != towards and self._shut(path, r)
                costs.append(((place != path.at) + door + (place != target), r))
        if not costs:
            return []
        chosen = {min((cost, not mask >> r & 1, r) for cost, r in costs)[2] for mask in useful}
        return [self._put(path, held, r) for r in sorted(chosen)]

    def _stations(self) -> tuple[str, list[int]]:
        tables = self.tables
        verb = tables.goal_kind
        masks = {"clean": tables.cleaners, "heat": tables.heaters, "cool": tables.coolers}
        return verb, bits(masks.get(verb, 0))

    def _prepare(self, thing: int, path: _Path, stations: tuple[str, list[int]]) -> Iterator[_Path]:
        verb, receptacles = stations
        tables = self.tables
        for r in receptacles:
            there = self._visit(path, r)
            command = f"{verb} {tables.thing_names[thing]} with {tables.receptacle_names[r]}"
            yield _Path(there.at, there.opened, (*there.steps, command))

    def _distinct(self, path: _Path, thing: int) -> list[int]:
        """Goal receptacles that can hold a thing, one for each length of the way from the end of a path."""
        tables = self.tables
        found: dict[tuple[bool, bool], int] = {}
        for r in tables.goal_places:
            if tables.fits[r] >> thing & 1:
                found.setdefault((tables.location_of[r] == path.at, self._shut(path, r)), r)
        return list(found.values())

    def _shut(self, path: _Path, receptacle: int) -> bool:
        return bool(self.tables.openable & ~path.opened & 1 << receptacle)

    def _visit(self, path: _Path, receptacle: int) -> _Path:
        place = self.tables.location_of[receptacle]
        if place == path.at:
            return path
        return _Path(place, path.opened, (*path.steps, f"go to {self.tables.receptacle_names[receptacle]}"))

    def _reach(self, path: _Path, receptacle: int) -> _Path:
        there = self._visit(path, receptacle)
        if not self._shut(there, receptacle):
            return there
        command = f"open {self.tables.receptacle_names[receptacle]}"
        return _Path(there.at, there.opened | 1 << receptacle, (*there.steps, command))

    def _put(self, path: _Path, thing: int, receptacle: int) -> _Path:
        there = self._reach(path, receptacle)
        command = f"move {self.tables.thing_names[thing]} to {self.tables.receptacle_names[receptacle]}"
        return _Path(there.at, there.opened, (*there.steps, command))
