"""Commands: reading one, and listing those that do something."""

from collections.abc import Sequence
from sys import intern

from .tables import MEMO_LIMIT, Tables, bits

HELP, INVENTORY, LOOK, GOTO, OPEN, CLOSE, EXAMINE_PLACE, EXAMINE_THING = range(8)
TAKE, MOVE, USE, HEAT, CLEAN, COOL, SLICE = range(8, 15)

#: A command as its code and the numbers of the two things or receptacles it names (0 where it names fewer).
Op = tuple[int, int, int]

_PLAIN = {"help": HELP, "inventory": INVENTORY, "look": LOOK}
#: Verbs with two names: code, the word between them, and whether the second names a receptacle.
_PAIRS = {
    "take": (TAKE, " from ", True),
    "move": (MOVE, " to ", True),
    "heat": (HEAT, " with ", True),
    "clean": (CLEAN, " with ", True),
    "cool": (COOL, " with ", True),
    "slice": (SLICE, " with ", False),
}


def parse(tables: Tables, command: str) -> Op | None:
    """Read a command; None if it is not one that any state of the game could admit.

    Only well-formed commands are cached, so that arbitrary texts of an agent cannot fill the memory.
    """
    command = command.strip()
    op = tables.command_ops.get(command)
    if op is None:
        op = _read(tables, command)
        if op is not None:
            if len(tables.command_ops) >= MEMO_LIMIT:
                tables.command_ops.clear()
            tables.command_ops[intern(command)] = op
    return op


def _read(tables: Tables, command: str) -> Op | None:
    receptacles, things = tables.receptacle_index, tables.thing_index
    verb, _, rest = command.partition(" ")
    if verb in _PAIRS:
        code, between, into_receptacle = _PAIRS[verb]
        thing, _, other = rest.partition(between)
        return _op(code, things.get(thing), (receptacles if into_receptacle else things).get(other))
    if verb == "go":
        return _op(GOTO, receptacles.get(rest.removeprefix("to ")) if rest.startswith("to ") else None)
    if verb == "open":
        return _op(OPEN, receptacles.get(rest))
    if verb == "close":
        return _op(CLOSE, receptacles.get(rest))
    if verb == "examine":
        return _op(EXAMINE_PLACE, receptacles.get(rest)) or _op(EXAMINE_THING, things.get(rest))
    if verb == "use":
        return _op(USE, things.get(rest))
    return (_PLAIN[command], 0, 0) if command in _PLAIN else None


def _op(code: int, first: int | None, second: int | None = 0) -> Op | None:
    return None if first is None or second is None else (code, first, second)


def admissible(tables: Tables, at: int, held: int, opened: int, contents: Sequence[int], seen_here: int) -> list[str]:
    """All commands that do something, sorted.

    Verbs come in alphabetical blocks; within a block few commands are left to sort.

    Args:
        tables: The game's.
        at: Location of the agent.
        held: The thing in hand, or -1.
        opened: Receptacles that are open (mask).
        contents: By receptacle, the things in it (mask).
        seen_here: Things that can be sliced from here (mask), among others.
    """
    here, goto = tables.here[at], tables.goto_commands(at)
    if held < 0 and len(here) == 1:  # most states, and the fewest choices
        (r,) = here
        examine, inside = tables.examine_commands[r], contents[r]
        if not tables.openable >> r & 1:
            found = [examine, *goto, "help", "inventory", "look", *tables.take_commands(r, inside)]
        elif opened >> r & 1:
            close, takes = tables.close_commands[r], tables.take_commands(r, inside)
            found = [close, examine, *goto, "help", "inventory", "look", *takes]
        else:
            found = [examine, *goto, "help", "inventory", "look", tables.open_commands[r]]
        if lamps := inside & tables.toggleable:
            found += sorted([f"use {tables.thing_names[o]}" for o in bits(lamps)])
        return found
    closes, opens, examines, reachable = [], [], [], []
    lamps = 0
    for r in here:
        examines.append(tables.examine_commands[r])
        lamps |= contents[r] & tables.toggleable
        if not tables.openable >> r & 1:
            reachable.append(r)
        elif opened >> r & 1:
            closes.append(tables.close_commands[r])
            reachable.append(r)
        else:
            opens.append(tables.open_commands[r])
    uses = sorted([f"use {tables.thing_names[o]}" for o in bits(lamps)]) if lamps else []

    if held < 0:
        found = sorted([c for r in reachable for c in tables.take_commands(r, contents[r])])
        closes.sort()
        examines.sort()
        opens.sort()
        return [*closes, *examines, *goto, "help", "inventory", "look", *opens, *found, *uses]

    thing = tables.thing_names[held]
    examines.append(f"examine {thing}")
    examines.sort()
    moves = [f"move {thing} to {tables.receptacle_names[r]}" for r in reachable if tables.fits[r] >> held & 1]
    cleans = _station_commands(tables, here, "clean", thing, tables.cleaners, tables.cleanable >> held)
    cools = _station_commands(tables, here, "cool", thing, tables.coolers, tables.coolable >> held)
    heats = _station_commands(tables, here, "heat", thing, tables.heaters, tables.heatable >> held)
    slices = []
    if tables.knives >> held & 1:
        food = bits(seen_here & tables.sliceable)
        slices = sorted([f"slice {tables.thing_names[o]} with {thing}" for o in food])
    if len(here) > 1:
        closes.sort()
        moves.sort()
        opens.sort()
    fixed = ("help", "inventory", "look")
    return [*cleans, *closes, *cools, *examines, *goto, *heats, *fixed, *moves, *opens, *slices, *uses]


def _station_commands(
    tables: Tables, here: Sequence[int], verb: str, thing: str, stations: int, able: int
) -> list[str]:
    if not able & 1:
        return []
    return sorted([f"{verb} {thing} with {tables.receptacle_names[r]}" for r in here if stations >> r & 1])
