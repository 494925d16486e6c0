"""Rewrites: another goal on the same scene, harder or easier; validated whoever proposes it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import difficulty
from rlanything_task_pools.alfworld.generate import AFFORDANCE, STATION, goal_traits
from rlanything_task_pools.alfworld.household import held_out
from rlanything_task_pools.task import Direction, Rejection, Rewrite, Task
from rlanything_verifiers.alfworld import Game, Goal, Scene, prove
from rlanything_verifiers.alfworld.goal import GOAL_KINDS, TASK_TYPES, GoalKind

FIELDS = ("kind", "object_type", "receptacle_type")
MAX_VALUE = 60
"""Longest name read from a proposal, in characters."""

MARGIN = 1.0
"""Least change of the difficulty score, in actions, for a rewrite to count as harder or easier."""

STEP = {"easier": 0.7, "harder": 1.35}
"""Difficulty a scripted rewrite aims at, as a multiple of its parent's: a step, not a jump."""
NEW_KIND = 1.5
"""What changing the kind of goal costs in the ranking: a rewrite that keeps it trains the same skill."""
JITTER = 2.0
"""Width of the random part of the ranking, so that one task is not always rewritten the same way."""
PROPOSALS = 8

_KIND_NAMES: dict[str, GoalKind] = {name.lower(): kind for kind, name in TASK_TYPES.items()} | {
    kind: kind for kind in GOAL_KINDS
}


def scene_and_goal(task: Task) -> tuple[Scene, Goal]:
    """The parsed payload of a task.

    Raises:
        GameFormatError: The payload is not that of an ALFWorld task.
    """
    return Scene.from_dict(task.payload.get("scene", {})), Goal.from_dict(task.payload.get("goal", {}))


def propose(task: Task, direction: Direction, rng: np.random.Generator) -> list[dict[str, str]]:
    """Up to `PROPOSALS` goals on the task's scene in a direction by estimated difficulty, best first.

    Best is near the parent (its kind kept, a step away in difficulty), with some chance to vary.

    Args:
        task: The task to rewrite.
        direction: Whether to go ``harder`` or ``easier``.
        rng: Decides between near equals.
    """
    scene, parent = scene_and_goal(task)
    # Compared with the estimate of the parent, not with its proof, so that both err the same way.
    start = difficulty(scene, parent)
    sign = 1 if direction == "harder" else -1
    aim = start * STEP[direction]
    ranked = []
    for goal in goals_on(scene):
        if goal == parent or (_keeps_pairs(task) and held_out(goal.object_type, goal.receptacle_type)):
            continue
        score = difficulty(scene, goal)
        if sign * (score - start) < MARGIN:
            continue
        rank = abs(score - aim) + NEW_KIND * (goal.kind != parent.kind) + JITTER * rng.random()
        ranked.append((rank, goal))
    ranked.sort(key=lambda pair: pair[0])
    return [goal.to_dict() for _, goal in ranked[:PROPOSALS]]


def goals_on(scene: Scene) -> list[Goal]:
    """Every goal that a scene allows by its types and that is not true yet, none of them proved."""
    receptacles = sorted({item.type for item in scene.receptacles})
    lamps = sorted({thing.type for thing in scene.things if thing.toggleable and thing.receptacles})
    place = {item.id: item.type for item in scene.receptacles}
    reach = [thing for thing in scene.things if thing.pickupable and thing.receptacles]
    goals = []
    for object_type in sorted({thing.type for thing in reach}):
        copies = [thing for thing in reach if thing.type == object_type]
        homes = [home for home in receptacles if (home, object_type) in scene.can_contain]
        full = Counter(home for thing in copies for home in thing.receptacles)
        once = {place[home] for home in full}
        twice = {place[home] for home, number in full.items() if number > 1}
        goals += [Goal("look", object_type, lamp) for lamp in lamps]
        goals += [Goal("simple", object_type, home) for home in homes if home not in once]
        if len(copies) > 1:
            goals += [Goal("two", object_type, home) for home in homes if home not in twice]
        for kind, affordance in AFFORDANCE.items():
            if STATION[kind] in receptacles and any(getattr(thing, affordance) for thing in copies):
                goals += [Goal(kind, object_type, home) for home in homes if home != STATION[kind]]
    return goals


def validate(
    task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
) -> Task | Rejection:
    """A proposed goal as a proved task on the same scene, or the reason why it is none.

    A proposal gives ``kind`` (short or official name), ``object_type`` and ``receptacle_type`` (any case);
    what it leaves out stays as in the task. Reasons of rejection: ``malformed``, ``unknown_kind``,
    ``unknown_object``, ``unknown_receptacle``, ``unchanged``, ``not_takeable``, ``wrong_affordance``,
    ``no_lamp``, ``does_not_fit``, ``held_out_pair``, ``unsolvable``, ``already_true``, ``wrong_direction``.

    Args:
        task: The task to rewrite.
        proposal: Untrusted.
        direction: The direction the rewrite must really go by `difficulty`, by `MARGIN` at least.
        author: Kept in the task's rewrite.
        critique: Kept in the task's rewrite.
    """
    scene, parent = scene_and_goal(task)
    goal = _read(scene, parent, proposal)
    if isinstance(goal, Rejection):
        return goal
    if goal == parent:
        return Rejection(reason="unchanged", detail=f"the task asks for this already: {parent.sentence()}")
    problem = _misfit(scene, goal)
    if problem is not None:
        return problem
    if _keeps_pairs(task) and held_out(goal.object_type, goal.receptacle_type):
        detail = f"{goal.object_type} with {goal.receptacle_type} is kept for validation"
        return Rejection(reason="held_out_pair", detail=detail)
    sentence = goal.sentence(1 if task.goal == parent.sentence(1) else 0)
    proof = prove(Game(scene, goal, sentence=sentence))
    if proof is None:
        return Rejection(reason="unsolvable", detail=f"no plan reaches: {sentence}")
    if not proof:
        return Rejection(reason="already_true", detail=f"true before the first action: {sentence}")
    before = difficulty(scene, parent, len(task.proof) or None)
    traits = goal_traits(scene, goal, len(proof))
    change = float(traits["difficulty"]) - before
    if (change if direction == "harder" else -change) < MARGIN:
        detail = f"difficulty {before:.1f} -> {before + change:.1f} is not {direction} by {MARGIN} or more"
        return Rejection(reason="wrong_direction", detail=detail)
    new, old = goal.to_dict(), parent.to_dict()
    if "unseen_pair" in task.traits:
        traits["unseen_pair"] = held_out(goal.object_type, goal.receptacle_type)
    return Task(
        domain=task.domain,
        goal=sentence,
        payload={**task.payload, "goal": new},
        proof=tuple(proof),
        traits={**task.traits, **traits},
        parent=task.id,
        root=task.root or task.id,
        rewrite=Rewrite(
            direction=direction,
            author=author,
            change={name: new[name] for name in FIELDS if new[name] != old[name]},
            critique=critique,
        ),
    )


def _keeps_pairs(task: Task) -> bool:
    """Whether some pairs are out of bounds for the task: those held out from generated training tasks."""
    return "unseen_pair" in task.traits and task.traits.get("split") in ("train", "valid_seen")


def _read(scene: Scene, parent: Goal, proposal: Mapping[str, Any]) -> Goal | Rejection:
    if not isinstance(proposal, Mapping) or not proposal:
        return Rejection(reason="malformed", detail=f"expected an object with some of {', '.join(FIELDS)}")
    for name, value in proposal.items():
        if name not in FIELDS:
            return Rejection(reason="malformed", detail=f"unknown field {str(name)[:MAX_VALUE]!r}")
        if not isinstance(value, str) or not 0 < len(value) <= MAX_VALUE:
            return Rejection(reason="malformed", detail=f"{name} is not a name of up to {MAX_VALUE} characters")
    given = {**parent.to_dict(), **{name: value.strip() for name, value in proposal.items()}}
    kind = _KIND_NAMES.get(given["kind"].lower())
    if kind is None:
        return Rejection(reason="unknown_kind", detail=f"{given['kind']!r}: there are {', '.join(GOAL_KINDS)}")
    objects = {thing.type.lower(): thing.type for thing in scene.things}
    object_type = objects.get(_bare(given["object_type"]))
    if object_type is None:
        return Rejection(reason="unknown_object", detail=f"the scene has no {given['object_type']!r}")
    homes = objects if kind == "look" else {item.type.lower(): item.type for item in scene.receptacles}
    receptacle_type = homes.get(_bare(given["receptacle_type"]))
    if receptacle_type is None:
        return Rejection(reason="unknown_receptacle", detail=f"the scene has no {given['receptacle_type']!r}")
    return Goal(kind, object_type, receptacle_type)


def _bare(name: str) -> str:
    # Rewriters that were shown PDDL answer "AppleType".
    return name.lower().removesuffix("type")


def _misfit(scene: Scene, goal: Goal) -> Rejection | None:
    copies = [
        thing for thing in scene.things if thing.type == goal.object_type and thing.pickupable and thing.receptacles
    ]
    if not copies:
        return Rejection(reason="not_takeable", detail=f"no {goal.object_type} can be taken in this scene")
    affordance = AFFORDANCE.get(goal.kind)
    if affordance is not None and not any(getattr(thing, affordance) for thing in copies):
        return Rejection(reason="wrong_affordance", detail=f"{goal.object_type} is not {affordance}")
    if goal.kind == "look":
        if not any(
            thing.type == goal.receptacle_type and thing.toggleable and thing.receptacles for thing in scene.things
        ):
            return Rejection(reason="no_lamp", detail=f"no {goal.receptacle_type} here can be switched on")
    elif (goal.receptacle_type, goal.object_type) not in scene.can_contain:
        return Rejection(reason="does_not_fit", detail=f"a {goal.receptacle_type} holds no {goal.object_type}")
    return None
