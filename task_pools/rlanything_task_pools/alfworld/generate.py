"""The task generator: a seed determines a room, the things in it, and a goal that is proved reachable."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, Literal, get_args

from rlanything_task_pools.alfworld.difficulty import difficulty, need, reachable
from rlanything_task_pools.alfworld.floorplans import UNSEEN_FLOORPLANS, floorplan_layout
from rlanything_task_pools.alfworld.games import remember
from rlanything_task_pools.alfworld.household import ROOM_BASE, held_out, household, room_of
from rlanything_task_pools.alfworld.layout import Layout, procedural_layout
from rlanything_task_pools.alfworld.populate import populate
from rlanything_task_pools.knobs import KnobError, Split, check_seed, check_split, read_knobs
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, prove
from rlanything_verifiers.alfworld.goal import GOAL_KINDS, GoalKind

Scenes = Literal["procedural", "floorplans"]

TRAIN_SCENES = range(1, 28)
UNSEEN_SCENES = range(28, 31)
"""Numbers within a room; the official games have 108 training scenes and 4 unseen ones."""

WEIGHTS: dict[GoalKind, dict[str, int]] = {
    "simple": {"Kitchen": 108, "LivingRoom": 197, "Bedroom": 247, "Bathroom": 238},
    "two": {"Kitchen": 108, "LivingRoom": 203, "Bedroom": 256, "Bathroom": 246},
    "clean": {"Kitchen": 488, "Bathroom": 162},
    "heat": {"Kitchen": 459},
    "cool": {"Kitchen": 533},
    "look": {"LivingRoom": 77, "Bedroom": 231},
}
"""Games of each kind in each room. Row and column sums are those of the 3553 official training games
(simple 790, two 813, clean 650, heat 459, cool 533, look 308; kitchens 1696, living rooms 477, bedrooms
734, bathrooms 646)."""

TARGET_COPIES = {1: 0.36, 2: 0.36, 3: 0.13, 4: 0.15}
TARGET_COPIES_TWO = {2: 0.6, 3: 0.15, 4: 0.25}
"""Distribution of the number of things of the wanted type; overall median 2, 10th percentile 1, 90th 4, as in the
official games."""

MAX_ATTEMPTS = 400
REDRAW = 40
"""Number of attempts after which another kind and room are drawn."""
MAX_COPIES = 8
AFFORDANCE: dict[GoalKind, str] = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
STATION: dict[GoalKind, str] = {"clean": "SinkBasin", "heat": "Microwave", "cool": "Fridge"}


@dataclass(frozen=True, slots=True)
class Knobs:
    """Arguments of the generator; the defaults give the official mixture."""

    kinds: tuple[GoalKind, ...] = GOAL_KINDS
    """Goals to draw from."""
    rooms: tuple[str, ...] = tuple(ROOM_BASE)
    """Rooms to draw from: Kitchen, LivingRoom, Bedroom, Bathroom."""
    unseen_pairs: bool | None = None
    """valid_unseen only: whether pairs of types must (True) or must not (False) be new to training."""
    min_plan: int = 1
    max_plan: int = 100
    """Bounds on the length of the proved plan, in actions."""
    copies: int | None = None
    """Number of things of the wanted type; drawn when None."""
    scenes: Scenes = "procedural"
    """``procedural``, or the AI2-THOR ``floorplans`` that come with the alfworld package."""

    def __post_init__(self) -> None:
        _among("kinds", self.kinds, GOAL_KINDS)
        _among("rooms", self.rooms, tuple(ROOM_BASE))
        _among("scenes", (self.scenes,), get_args(Scenes))
        for name in ("min_plan", "max_plan", "copies"):
            value = getattr(self, name)
            if not isinstance(value, Integral) and (name, value) != ("copies", None):
                raise KnobError(f"{name} = {value!r:.80}: give a whole number")
        if not 1 <= self.min_plan <= self.max_plan:
            raise KnobError(f"plan length from {self.min_plan} to {self.max_plan}: need 1 <= min_plan <= max_plan")
        if self.copies is not None and not 1 <= self.copies <= MAX_COPIES:
            raise KnobError(f"copies = {self.copies}: choose from 1 to {MAX_COPIES}")
        if not any(self.weights().values()):
            raise KnobError(f"no goal of the kinds {', '.join(self.kinds)} in {', '.join(self.rooms)} fits {self}")

    def weights(self) -> dict[GoalKind, int]:
        """Weight of each kind in the draw."""
        return {
            kind: sum(WEIGHTS[kind].get(room, 0) for room in self.rooms)
            for kind in self.kinds
            if self.copies is None or self.copies >= need(kind)
        }


def _among(name: str, values: Collection[str], known: tuple[str, ...]) -> None:
    if not values:
        raise KnobError(f"{name} = {values!r}: give one or more of {', '.join(known)}")
    for value in values:
        if value not in known:
            raise KnobError(f"{name}: {value!r:.80} is unknown; choose from {', '.join(known)}")


def make_knobs(**knobs: Any) -> Knobs:
    """Knobs from keyword arguments, lists allowed.

    Raises:
        KnobError: A knob is unknown, or its value is out of range.
    """
    return read_knobs(Knobs, knobs, names=("kinds", "rooms"))


def scene_numbers(split: Split, room: str, scenes: Scenes = "procedural") -> list[int]:
    """Numbers of the scenes a split uses in a room; those of valid_unseen are in no other split."""
    base, unseen = ROOM_BASE[room], split == "valid_unseen"
    if scenes == "floorplans":
        return [n for n in range(base + 1, base + 31) if (n in UNSEEN_FLOORPLANS) == unseen]
    return [base + number for number in (UNSEEN_SCENES if unseen else TRAIN_SCENES)]


def generate(seed: int, split: str = "train", **knobs: Any) -> Task:
    """The task of a seed: proved solvable, not true at the start, the same on every machine.

    Args:
        seed: Any integer from 0.
        split: ``train``; ``valid_seen``: the same scenes and pairs with other seeds; ``valid_unseen``:
            scenes that training never uses, and among them pairs of types that training never uses.
        **knobs: See `Knobs`.

    Raises:
        KnobError: The seed, the split or a knob is out of range, or no task with such knobs was found.
    """
    part, seed, wanted = check_split(split), check_seed(seed), make_knobs(**knobs)
    for attempt in range(MAX_ATTEMPTS):
        # Kind and room stay for many attempts: a room without a lamp must not make lamps rare.
        kind, room = _kind_and_room(RngStream("kind", split, seed, attempt // REDRAW), wanted)
        task = _attempt(RngStream("task", split, seed, attempt), kind, room, seed, part, wanted)
        if task is not None:
            return task
    raise KnobError(f"no task of seed {seed} with {wanted} in {MAX_ATTEMPTS} attempts: loosen a knob")


def _kind_and_room(rng: RngStream, knobs: Knobs) -> tuple[GoalKind, str]:
    kind = rng.weighted(knobs.weights())
    return kind, rng.weighted({room: WEIGHTS[kind].get(room, 0) for room in knobs.rooms})


def _attempt(rng: RngStream, kind: GoalKind, room: str, seed: int, split: Split, knobs: Knobs) -> Task | None:
    number = rng.pick(scene_numbers(split, room, knobs.scenes))
    layout = floorplan_layout(number) if knobs.scenes == "floorplans" else procedural_layout(number)
    pairs = _pairs(layout, kind)
    if split != "valid_unseen" or knobs.unseen_pairs is False:
        pairs = tuple((thing, homes) for thing, homes in ((t, _known(t, h)) for t, h in pairs) if homes)
    elif knobs.unseen_pairs:
        pairs = tuple((thing, homes) for thing, homes in ((t, _unknown(t, h)) for t, h in pairs) if homes)
    if not pairs:
        return None
    object_type, homes = rng.pick(pairs)
    goal = Goal(kind, object_type, rng.pick(homes))
    copies = knobs.copies or rng.weighted(TARGET_COPIES_TWO if kind == "two" else TARGET_COPIES)
    scene = populate(rng, layout, goal, copies)
    if scene is None:
        return None
    sentence = goal.sentence(rng.below(2))
    game = Game(scene, goal, sentence=sentence)
    proof = prove(game)
    if not proof or not knobs.min_plan <= len(proof) <= knobs.max_plan:
        return None
    return make_task(
        game,
        proof,
        source=knobs.scenes,
        split=split,
        scene_number=layout.number,
        seed=seed,
        unseen_scene=split == "valid_unseen",
        unseen_pair=held_out(goal.object_type, goal.receptacle_type),
    )


def make_task(game: Game, proof: list[str], *, scene_number: int | None, **traits: str | int | bool) -> Task:
    """A root task of a proved game, with the traits every ALFWorld task has (scene 0: not known)."""
    scene, goal = game.scene, game.goal
    task = Task(
        domain="alfworld",
        goal=game.sentence,
        payload={"scene": scene.to_dict(), "goal": goal.to_dict()},
        proof=tuple(proof),
        traits={
            **goal_traits(scene, goal, len(proof)),
            "room": "unknown" if scene_number is None else room_of(scene_number),
            "scene": scene_number or 0,
            "receptacles": len(scene.receptacles),
            "closed": sum(item.openable for item in scene.receptacles),
            **traits,
        },
    )
    remember(task, game)
    return task


def goal_traits(scene: Scene, goal: Goal, plan_length: int) -> dict[str, str | int | float]:
    """The traits that change with the goal."""
    return {
        **goal.to_dict(),
        "plan_length": plan_length,
        "copies": reachable(scene, goal.object_type),
        "difficulty": difficulty(scene, goal, plan_length),
    }


@lru_cache(maxsize=4096)
def _pairs(layout: Layout, kind: GoalKind) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Object types of goals of a kind in a layout, each with the receptacle types where it may end."""
    facts = household()
    types = {item.type for item in layout.receptacles}
    station = STATION.get(kind)
    if station is not None and station not in types:
        return ()
    able = facts.affordances[AFFORDANCE[kind]] if kind in AFFORDANCE else frozenset(layout.object_types)
    pairs = []
    for thing in layout.object_types:
        if thing not in able:
            continue
        if kind == "look":
            lamp = any(prop.toggleable and prop.type == "DeskLamp" and prop.receptacles for prop in layout.props)
            homes: tuple[str, ...] = ("DeskLamp",) if lamp else ()
        else:
            homes = tuple(sorted(t for t in types if (t, thing) in layout.can_contain and t != station))
        if homes:
            pairs.append((thing, homes))
    return tuple(pairs)


@lru_cache(maxsize=4096)
def _known(thing: str, homes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(home for home in homes if not held_out(thing, home))


@lru_cache(maxsize=4096)
def _unknown(thing: str, homes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(home for home in homes if held_out(thing, home))
