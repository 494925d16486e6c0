"""Difficulty score of a goal on a scene.

``difficulty = plan + 0.4 * search + phase``, in actions:

- *plan*: length of the proved plan, for an agent that knows where everything is.
- *search*: expected number of further actions to find things for one that does not. With ``copies`` things
  spread evenly over places that cost ``N`` actions to look into (one to go there, one more to open a door),
  the first ``need`` of them turn up after ``need * (N + 1) / (copies + 1)`` on average. Only places where
  such a thing may be count. What is in hand need not be found. For ``look`` the lamp has to be found as well.
- *phase*: 2 for clean, heat, cool and two, which need more than carrying things.

The weights are a convention, not a measurement of an agent: agents differ, and acceptance by rollouts decides. 0.4
discounts the search because visible things and common sense shorten it. Rewrites that add things count each one as a
quarter of an action (`CLUTTER_WEIGHT`): more to read, and more wrong commands to give.
"""

from collections.abc import Iterable, Mapping, Sequence

from rlanything_verifiers.alfworld.goal import Goal, GoalKind
from rlanything_verifiers.alfworld.scene import MAX_THINGS, Receptacle, Scene, Thing

SEARCH_WEIGHT = 0.4
CLUTTER_WEIGHT = 0.25
PHASE: dict[GoalKind, float] = {"simple": 0.0, "look": 0.0, "clean": 2.0, "heat": 2.0, "cool": 2.0, "two": 2.0}
TYPICAL_PLAN: dict[GoalKind, float] = {"simple": 4.0, "look": 3.5, "clean": 6.0, "heat": 6.0, "cool": 6.0, "two": 8.0}
"""Median plan lengths of the official games, used as an estimate before a plan is proved."""


def need(kind: GoalKind) -> int:
    """Number of objects of its type that a goal needs."""
    return 2 if kind == "two" else 1


def in_reach(scene: Scene) -> list[Thing]:
    """The things in the hand or within reach. A thing without a type serves no goal."""
    return [
        thing
        for thing in scene.things
        if thing.type and thing.pickupable and (thing.receptacles or thing.id == scene.holding)
    ]


def types_of(things: Iterable[Thing]) -> list[str]:
    """The types of things, sorted."""
    return sorted({thing.type for thing in things if thing.type})


def lamp_types(scene: Scene) -> list[str]:
    """The types of the lamps that can be switched on, sorted."""
    return types_of(thing for thing in scene.things if thing.toggleable and thing.receptacles)


def reachable(scene: Scene, object_type: str) -> int:
    """Number of things of a type in the hand or within reach."""
    return sum(thing.type == object_type for thing in in_reach(scene))


def search(scene: Scene, goal: Goal) -> float:
    """Expected actions to find what a goal needs, without knowing where it is."""
    places = [item for item in scene.receptacles if (item.type, goal.object_type) in scene.can_contain]
    held = sum(thing.id == scene.holding and thing.type == goal.object_type for thing in scene.things)
    cost = _expected(places, need(goal.kind) - held, reachable(scene, goal.object_type) - held)
    if goal.kind == "look":
        lamps = sum(thing.type == goal.receptacle_type and bool(thing.receptacles) for thing in scene.things)
        cost += _expected([item for item in scene.receptacles if not is_shut(item)], 1, lamps)
    return cost


def _expected(places: Sequence[Receptacle], wanted: int, copies: int) -> float:
    return wanted * (sum(1 + is_shut(item) for item in places) + 1) / (copies + 1)


def is_shut(receptacle: Receptacle) -> bool:
    """Whether a door must be opened to see the contents."""
    return receptacle.openable and not receptacle.opened


def clutter(traits: Mapping[str, object]) -> int:
    """Number of things that rewrites added to a task's scene, minus those removed, except of the wanted type."""
    number = traits.get("clutter", 0)
    return max(-MAX_THINGS, min(number, MAX_THINGS)) if isinstance(number, int) else 0


def difficulty(scene: Scene, goal: Goal, plan_length: float | None = None) -> float:
    """The score of a goal on a scene, in actions; without a plan length, an estimate."""
    plan = TYPICAL_PLAN[goal.kind] if plan_length is None else plan_length
    return round(plan + SEARCH_WEIGHT * search(scene, goal) + PHASE[goal.kind], 2)
