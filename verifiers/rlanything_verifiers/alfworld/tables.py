"""The constant part of a game, precomputed once and shared by all its worlds.

Receptacles, things and locations become small integers in the order of their ids, which is the order in which
the game lists them, and every set of things becomes a bit mask.
"""

from collections import Counter
from collections.abc import Iterable
from sys import intern

from .errors import GameFormatError
from .goal import Goal
from .scene import Scene
from .text import carrying, facing, listing, middle_of_room

#: Entries kept in each memo before it is emptied: bounds the memory of a game however long it is played.
MEMO_LIMIT = 4096

#: Receptacle types that serve a station command, in lower case; the sinks of official games are "SinkBasin".
CLEANERS = ("sink", "sinkbasin")
HEATERS = ("microwave",)
COOLERS = ("fridge",)
KNIVES = ("knife", "butterknife")


def bits(mask: int) -> list[int]:
    """Indices of the set bits, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def enumerate_names(ids: Iterable[str]) -> dict[str, str]:
    """Give ids their names: class and number, such as ``"sinkbasin 1"``.

    ALFWorld's demangler hands out the numbers of a class from the highest down, in the order of the ids.

    Args:
        ids: Lower-case ids, in any order.
    """
    classes = {}
    for id_ in sorted(ids):
        class_ = id_.partition("_bar_")[0]
        classes[id_] = class_ + "basin" if "basin" in id_ else class_
    left = Counter(classes.values())
    names = {}
    for id_, class_ in classes.items():
        names[id_] = intern(f"{class_} {left[class_]}")
        left[class_] -= 1
    return names


class Tables:
    """Integer tables of one game. Read-only but for memos, which are bounded and safe to share by threads."""

    __slots__ = (
        "agent_start",
        "by_type",
        "cleanable",
        "cleaners",
        "close_commands",
        "command_ops",
        "contents_start",
        "coolable",
        "coolers",
        "doubled",
        "examine_commands",
        "fits",
        "goal_kind",
        "goal_lamps",
        "goal_places",
        "goal_targets",
        "goto_memo",
        "heatable",
        "heaters",
        "held_start",
        "here",
        "holders",
        "inner",
        "intro",
        "is_cool_start",
        "knives",
        "listing_memo",
        "location_of",
        "open_commands",
        "openable",
        "opened_start",
        "pickupable",
        "receptacle_index",
        "receptacle_names",
        "seen_start",
        "sliceable",
        "take_memo",
        "thing_index",
        "thing_names",
        "toggleable",
    )

    def __init__(self, scene: Scene, goal: Goal, sentence: str) -> None:
        receptacle_of = {r.id.lower(): r for r in scene.receptacles}
        thing_of = {t.id.lower(): t for t in scene.things}
        receptacle_ids, thing_ids = sorted(receptacle_of), sorted(thing_of)
        receptacles, things = [receptacle_of[id_] for id_ in receptacle_ids], [thing_of[id_] for id_ in thing_ids]
        names = enumerate_names(receptacle_ids + thing_ids)
        if len(set(names.values())) != len(names):
            raise GameFormatError("scene: two ids get the same name; ids with 'basin' clash with another class")
        self.receptacle_names = [names[i] for i in receptacle_ids]
        self.thing_names = [names[i] for i in thing_ids]
        self.receptacle_index = {name: r for r, name in enumerate(self.receptacle_names)}
        self.thing_index = {name: o for o, name in enumerate(self.thing_names)}

        places = sorted(
            {r.location.lower() for r in receptacles}
            | {t.location.lower() for t in things if t.location is not None}
            | {scene.start.lower()}
        )
        place_index = {place: i for i, place in enumerate(places)}
        receptacle_number = {id_: r for r, id_ in enumerate(receptacle_ids)}
        thing_number = {id_: o for o, id_ in enumerate(thing_ids)}
        self.agent_start = place_index[scene.start.lower()]
        self.location_of = [place_index[r.location.lower()] for r in receptacles]
        here: list[list[int]] = [[] for _ in places]
        for r, place in enumerate(self.location_of):
            here[place].append(r)
        self.here = [tuple(row) for row in here]
        self.contents_start = [0] * len(receptacles)
        self.seen_start = [0] * len(places)
        inner: dict[int, int] = {}
        for o, thing in enumerate(things):
            for id_ in thing.receptacles:
                self.contents_start[receptacle_number[id_.lower()]] |= 1 << o
            if thing.location is not None:
                self.seen_start[place_index[thing.location.lower()]] |= 1 << o
            for id_ in thing.inside:
                outer = thing_number[id_.lower()]
                if outer != o:  # no thing lists itself: TextWorld gives two names of a query two different things
                    inner[outer] = inner.get(outer, 0) | 1 << o
        self.inner = inner

        self.openable = sum(1 << r for r, receptacle in enumerate(receptacles) if receptacle.openable)
        self.opened_start = sum(1 << r for r, receptacle in enumerate(receptacles) if receptacle.opened)
        self.held_start = -1 if scene.holding is None else thing_number[scene.holding.lower()]
        self.pickupable = self.cleanable = self.heatable = self.coolable = self.toggleable = self.sliceable = 0
        self.holders = self.doubled = self.is_cool_start = 0
        for o, thing in enumerate(things):
            bit = 1 << o
            self.pickupable |= bit * thing.pickupable
            self.cleanable |= bit * thing.cleanable
            self.heatable |= bit * thing.heatable
            self.coolable |= bit * thing.coolable
            self.toggleable |= bit * thing.toggleable
            self.sliceable |= bit * thing.sliceable
            self.holders |= bit * thing.is_receptacle_object
            self.doubled |= bit * (len(thing.receptacles) > 1)  # taken from one receptacle, it stays in the others
            self.is_cool_start |= bit * thing.is_cool

        by_type: dict[str, int] = {}
        for o, thing in enumerate(things):
            if thing.type is not None:
                by_type[thing.type.lower()] = by_type.get(thing.type.lower(), 0) | 1 << o
        self.by_type = by_type
        self.knives = by_type.get(KNIVES[0], 0) | by_type.get(KNIVES[1], 0)
        kinds = [receptacle.type.lower() for receptacle in receptacles]
        self.cleaners = sum(1 << r for r, kind in enumerate(kinds) if kind in CLEANERS)
        self.heaters = sum(1 << r for r, kind in enumerate(kinds) if kind in HEATERS)
        self.coolers = sum(1 << r for r, kind in enumerate(kinds) if kind in COOLERS)
        may_hold = {kind: sum(by_type.get(each, 0) for each in held) for kind, held in scene.may_hold().items()}
        #: For each receptacle, the things that may be put into it.
        self.fits = [may_hold.get(kind, 0) for kind in kinds]

        self.goal_kind = goal.kind
        wanted, place_type = by_type.get(goal.object_type.lower(), 0), goal.receptacle_type.lower()
        if goal.kind == "clean":
            wanted &= self.cleanable
        elif goal.kind == "heat":
            wanted &= self.heatable
        elif goal.kind == "cool":
            wanted &= self.coolable
        self.goal_targets = wanted
        self.goal_places = () if goal.kind == "look" else tuple(r for r, k in enumerate(kinds) if k == place_type)
        self.goal_lamps = by_type.get(place_type, 0) & self.toggleable if goal.kind == "look" else 0

        self.command_ops: dict[str, tuple[int, int, int]] = {}
        # One string for all games: a thousand games in memory then share their commands.
        self.examine_commands = [intern(f"examine {name}") for name in self.receptacle_names]
        self.open_commands = [intern(f"open {name}") for name in self.receptacle_names]
        self.close_commands = [intern(f"close {name}") for name in self.receptacle_names]
        self.goto_memo: list[tuple[str, ...] | None] = [None] * len(places)
        self.listing_memo: dict[int, str] = {}
        self.take_memo: dict[tuple[int, int], tuple[str, ...]] = {}
        hand = "" if self.held_start < 0 else f"{carrying(self.thing_names[self.held_start])}\n\n"
        self.intro = f"-= Welcome to TextWorld, ALFRED! =-\n\n{self._first_look()}\n\n{hand}Your task is to: {sentence}"

    def _first_look(self) -> str:
        """The look of the intro, which unlike the command ``look`` sees all receptacles from afar."""
        names = self.names_at(self.agent_start)
        return facing(names, "nothing") if names else middle_of_room(listing(self.receptacle_names))

    def names_at(self, place: int) -> list[str]:
        """Names of the receptacles at a place, in the order of their ids."""
        return [self.receptacle_names[r] for r in self.here[place]]

    def things_listing(self, mask: int) -> str:
        """The listing of a set of things, memoised."""
        text = self.listing_memo.get(mask)
        if text is None:
            text = listing([self.thing_names[o] for o in bits(mask)])
            if len(self.listing_memo) >= MEMO_LIMIT:
                self.listing_memo.clear()
            self.listing_memo[mask] = text
        return text

    def goto_commands(self, place: int) -> tuple[str, ...]:
        """The sorted ``go to`` commands from a place: to all receptacles but those used from it."""
        commands = self.goto_memo[place]
        if commands is None:
            names = sorted(n for n, at in zip(self.receptacle_names, self.location_of, strict=True) if at != place)
            commands = self.goto_memo[place] = tuple([intern(f"go to {name}") for name in names])
        return commands

    def take_commands(self, receptacle: int, mask: int) -> tuple[str, ...]:
        """The sorted ``take`` commands for a receptacle with these contents, memoised."""
        key = (receptacle, mask)
        commands = self.take_memo.get(key)
        if commands is None:
            ending = f" from {self.receptacle_names[receptacle]}"
            found = sorted(self.thing_names[o] + ending for o in bits(mask & self.pickupable))
            commands = tuple([intern(f"take {each}") for each in found])
            if len(self.take_memo) >= MEMO_LIMIT:
                self.take_memo.clear()
            self.take_memo[key] = commands
        return commands
