"""A live game: the state of the world and its rules, exact to the letter of TextWorld's ALFRED domain.

Behaviour that looks odd is that of the original and kept on purpose:

- only a held thing can be examined;
- one cannot go to where one stands, nor to another receptacle used from the same spot;
- lamps, slicing, heating, cooling and cleaning do not mind closed doors;
- what was taken out of one receptacle and put into another on the same spot is seen "next to it";
- ``look`` at the very start, before any move, sees nothing;
- a thing in two receptacles is listed in both, and taking it from one leaves it in the other;
- what lies in a thing is listed when that is examined, wherever it has been carried since, in each of several
  things that it lies in, and never in itself;
- a thing without a type has a name and a number and can be taken, but fits nowhere and is wanted by no goal;
- the game goes on after it is solved.
"""

from . import commands
from .game import Game
from .tables import bits
from .text import HELP, NOTHING_HAPPENS, carrying, facing, listing, middle_of_room, thing_condition


class World:
    """One playable state of a game.

    Example:
        >>> world = World(load_game("game.tw-pddl"))  # doctest: +SKIP
        >>> world.step("go to fridge 1")  # doctest: +SKIP
        'You arrive at fridge 1. The fridge 1 is closed.'
    """

    __slots__ = (
        "_at",
        "_clean",
        "_commands",
        "_contents",
        "_cool",
        "_held",
        "_hot",
        "_opened",
        "_rate",
        "_seen",
        "_sliced",
        "_tables",
        "_taken",
        "_toggled",
        "game",
    )

    def __init__(self, game: Game) -> None:
        self.game = game
        self._tables = game.tables
        self.reset()

    def reset(self) -> str:
        """Put everything back to the start.

        Returns:
            The intro: the room and the task.
        """
        tables = self._tables
        self._at = tables.agent_start
        self._held = tables.held_start
        self._contents = tables.contents_start.copy()  # by receptacle: the things in it
        self._seen = tables.seen_start.copy()  # by location: the things the domain believes there
        self._taken: dict[int, int] = {}  # by receptacle: the things taken from it and not put back
        self._opened = tables.opened_start
        self._clean = self._hot = self._sliced = self._toggled = 0
        self._cool = tables.is_cool_start
        self._commands: list[str] | None = None
        self._rate: float | None = None
        return tables.intro

    def copy(self) -> "World":
        """An independent world in the same state (the game is shared)."""
        twin = object.__new__(World)
        for name in World.__slots__:
            setattr(twin, name, getattr(self, name))
        twin._contents = self._contents.copy()
        twin._seen = self._seen.copy()
        twin._taken = self._taken.copy()
        return twin

    @property
    def inventory(self) -> str | None:
        """Name of the thing in hand, such as ``"apple 1"``, or None."""
        return None if self._held < 0 else self._tables.thing_names[self._held]

    @property
    def admissible_commands(self) -> list[str]:
        """All commands that do something now, sorted; a fresh list."""
        found = self._commands
        if found is None:
            found = self._commands = commands.admissible(
                self._tables, self._at, self._held, self._opened, self._contents, self._seen[self._at]
            )
        return found.copy()

    @property
    def won(self) -> bool:
        """Whether the goal holds now (it may cease to)."""
        return self.goal_condition_rate == 1

    @property
    def goal_condition_rate(self) -> float:
        """Share of the goal's conditions that hold, in [0, 1]; 1 exactly when :attr:`won`.

        Conditions are those of ALFRED's task classes: *simple* counts the object in place (1); *two* the
        objects of the best place (2); *look* the object in hand and a lit lamp at hand (2); *clean*, *heat*
        and *cool* an object in place, an object so prepared, and one that is both (3).
        """
        rate = self._rate
        if rate is None:
            rate = self._rate = self._conditions()
        return rate

    def _conditions(self) -> float:
        tables = self._tables
        kind, targets = tables.goal_kind, tables.goal_targets
        if kind == "look":
            return (self._holds_target() + self._lamp_is_on()) / 2
        placed = [self._contents[r] & targets for r in tables.goal_places]
        if kind == "simple":
            return float(any(placed))
        if kind == "two":
            return min(max((mask.bit_count() for mask in placed), default=0), 2) / 2
        ready = self._prepared()
        return (any(placed) + bool(ready & targets) + any(mask & ready for mask in placed)) / 3

    def step(self, command: str) -> str:
        """Carry out a command.

        Args:
            command: As in :attr:`admissible_commands`; blanks around it are ignored, nothing else is.

        Returns:
            The game's message; ``"Nothing happens."`` for any command that is not admissible.
        """
        op = self._tables.command_ops.get(command)
        if op is None:
            op = commands.parse(self._tables, command)
            if op is None:
                return NOTHING_HAPPENS
        code, first, second = op
        if code == commands.GOTO:
            return self._goto(first)
        if code == commands.TAKE:
            return self._take(first, second)
        if code == commands.MOVE:
            return self._move(first, second)
        if code == commands.EXAMINE_PLACE:
            at_hand = self._tables.location_of[first] == self._at
            return self._examine(first) if at_hand else NOTHING_HAPPENS
        if code <= commands.LOOK:
            if code == commands.LOOK:
                return self._look()
            return HELP if code == commands.HELP else self._say_inventory()
        if code <= commands.CLOSE:
            return self._open_or_close(first, code == commands.OPEN)
        if code == commands.EXAMINE_THING:
            return self._examine_held() if first == self._held else NOTHING_HAPPENS
        if code == commands.USE:
            return self._use(first)
        return self._slice(first, second) if code == commands.SLICE else self._prepare(code, first, second)

    # Rules

    def _can_reach(self, receptacle: int) -> bool:
        tables = self._tables
        return tables.location_of[receptacle] == self._at and bool((self._opened | ~tables.openable) >> receptacle & 1)

    def _goto(self, receptacle: int) -> str:
        tables = self._tables
        place = tables.location_of[receptacle]
        if place == self._at:
            return NOTHING_HAPPENS
        self._at = place
        self._commands = None
        if tables.goal_lamps:  # no other goal asks where the agent stands
            self._rate = None
        return f"You arrive at {tables.receptacle_names[receptacle]}. {self._examine(receptacle)}"

    def _open_or_close(self, receptacle: int, want_open: bool) -> str:
        tables = self._tables
        bit = 1 << receptacle
        is_open = bool(self._opened & bit)
        if tables.location_of[receptacle] != self._at or not tables.openable & bit or is_open == want_open:
            return NOTHING_HAPPENS
        self._opened ^= bit
        self._commands = None
        name = tables.receptacle_names[receptacle]
        return f"You open the {name}. {self._examine(receptacle)}" if want_open else f"You close the {name}."

    def _take(self, thing: int, receptacle: int) -> str:
        tables = self._tables
        bit = 1 << thing
        if (
            self._held >= 0
            or not self._contents[receptacle] & bit
            or not tables.pickupable & bit
            or not self._can_reach(receptacle)
        ):
            return NOTHING_HAPPENS
        self._contents[receptacle] ^= bit
        self._seen[self._at] &= ~bit
        self._taken[receptacle] = self._taken.get(receptacle, 0) | bit
        self._held = thing
        self._commands = self._rate = None
        return f"You pick up the {tables.thing_names[thing]} from the {tables.receptacle_names[receptacle]}."

    def _move(self, thing: int, receptacle: int) -> str:
        tables = self._tables
        bit = 1 << thing
        if thing != self._held or not tables.fits[receptacle] & bit or not self._can_reach(receptacle):
            return NOTHING_HAPPENS
        self._contents[receptacle] |= bit
        self._seen[self._at] |= bit
        if receptacle in self._taken:
            self._taken[receptacle] &= ~bit
        self._held = -1
        self._commands = self._rate = None
        return f"You move the {tables.thing_names[thing]} to the {tables.receptacle_names[receptacle]}."

    def _use(self, thing: int) -> str:
        tables = self._tables
        bit = 1 << thing
        if not tables.toggleable & bit or not any(self._contents[r] & bit for r in tables.here[self._at]):
            return NOTHING_HAPPENS
        self._toggled |= bit  # and so it stays: the original never says "off" again
        self._rate = None
        return f"You turn on the {tables.thing_names[thing]}."

    def _prepare(self, code: int, thing: int, receptacle: int) -> str:
        tables = self._tables
        bit = 1 << thing
        if thing != self._held or tables.location_of[receptacle] != self._at:
            return NOTHING_HAPPENS
        if code == commands.CLEAN and tables.cleaners >> receptacle & 1 and tables.cleanable & bit:
            self._clean |= bit
            verb = "clean"
        elif code == commands.HEAT and tables.heaters >> receptacle & 1 and tables.heatable & bit:
            self._hot |= bit
            self._cool &= ~bit
            verb = "heat"
        elif code == commands.COOL and tables.coolers >> receptacle & 1 and tables.coolable & bit:
            self._cool |= bit
            self._hot &= ~bit
            verb = "cool"
        else:
            return NOTHING_HAPPENS
        self._rate = None
        return f"You {verb} the {tables.thing_names[thing]} using the {tables.receptacle_names[receptacle]}."

    def _slice(self, food: int, knife: int) -> str:
        tables = self._tables
        bit = 1 << food
        if knife != self._held or not tables.knives >> knife & 1 or not self._seen[self._at] & tables.sliceable & bit:
            return NOTHING_HAPPENS
        self._sliced |= bit
        return f"You sliced the {tables.thing_names[food]} with the {tables.thing_names[knife]}."

    # Texts

    def _examine(self, receptacle: int) -> str:
        tables = self._tables
        name = tables.receptacle_names[receptacle]
        if not tables.openable >> receptacle & 1:
            return f"On the {name}, you see {tables.things_listing(self._contents[receptacle])}."
        if self._opened >> receptacle & 1:
            return f"The {name} is open. In it, you see {tables.things_listing(self._contents[receptacle])}."
        return f"The {name} is closed."

    def _examine_held(self) -> str:
        tables = self._tables
        held = self._held
        name = tables.thing_names[held]
        if tables.holders >> held & 1:
            return f"This is a normal {name}. In it, you see {tables.things_listing(tables.inner.get(held, 0))}."
        return thing_condition(
            name,
            hot=bool(self._hot >> held & 1),
            cool=bool(self._cool >> held & 1),
            clean=bool(self._clean >> held & 1),
            sliced=bool(self._sliced >> held & 1),
        )

    def _look(self) -> str:
        tables = self._tables
        here = tables.here[self._at]
        if not here:
            return middle_of_room("nothing")
        moved = 0
        for r in here:
            moved |= self._taken.get(r, 0)
        moved &= self._seen[self._at]
        if not moved:
            return facing(tables.names_at(self._at), "nothing")
        # Listed once for each receptacle here that it was taken from, as the original does.
        times = [o for o in bits(moved) for r in here if self._taken.get(r, 0) >> o & 1]
        beside = listing([tables.thing_names[o] for o in times])
        return facing(tables.names_at(self._at), beside)

    def _say_inventory(self) -> str:
        return carrying(self.inventory)

    # Goal

    def _prepared(self) -> int:
        """The things in the state that the goal requires."""
        kind = self._tables.goal_kind
        if kind == "clean":
            return self._clean
        return self._hot if kind == "heat" else self._cool if kind == "cool" else -1

    def _holds_target(self) -> bool:
        return self._held >= 0 and bool(self._tables.goal_targets >> self._held & 1)

    def _lamp_is_on(self) -> bool:
        tables = self._tables
        lit = self._toggled & tables.goal_lamps
        return bool(lit) and any(self._contents[r] & lit for r in tables.here[self._at])
