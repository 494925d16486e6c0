"""Writing a game as a PDDL problem of the ALFRED domain."""

from collections.abc import Iterable

from .game import Game
from .goal import Goal
from .scene import Scene

#: Types that the domain names; they must be declared even where no receptacle or thing has them.
_DOMAIN_RTYPES = ("Fridge", "Microwave", "Sink", "SinkBasin")
_DOMAIN_OTYPES = ("ButterKnife", "Knife")


def problem_text(game: Game) -> str:
    """The PDDL problem of a game."""
    scene, goal = game.scene, game.goal
    lines = ["(define (problem alfworld_game)", " (:domain alfred)", " (:objects"]
    lines += [f"  {line}" for line in _objects(scene, goal)]
    lines += [" )", " (:init"]
    lines += [f"  ({line})" for line in _facts(scene)]
    lines += [" )", f" (:goal {goal_text(goal)})", ")", ""]
    return "\n".join(lines)


def _objects(scene: Scene, goal: Goal) -> list[str]:
    declared: dict[str, str] = {"agent1": "agent1 - agent"}

    def declare(names: Iterable[str], type_: str) -> None:
        for name in names:  # the first declaration of a name stands: PDDL knows neither case nor two types
            declared.setdefault(name.lower(), f"{name} - {type_}")

    places = [r.location for r in scene.receptacles] + [t.location for t in scene.things if t.location] + [scene.start]
    fits = sorted(scene.can_contain)
    declare(places, "location")
    declare((f"{r.type}Type" for r in scene.receptacles), "rtype")
    declare((f"{rtype}Type" for rtype, _ in fits), "rtype")
    declare((f"{thing.type}Type" for thing in scene.things if thing.type), "otype")
    declare((f"{otype}Type" for _, otype in fits), "otype")
    declare((f"{name}Type" for name in _DOMAIN_OTYPES), "otype")
    declare([f"{goal.object_type}Type"], "otype")
    declare([f"{goal.receptacle_type}Type"], "otype" if goal.kind == "look" else "rtype")
    declare((f"{name}Type" for name in _DOMAIN_RTYPES), "rtype")
    declare((r.id for r in scene.receptacles), "receptacle")
    declare((thing.id for thing in scene.things), "object")
    return list(declared.values())


def _facts(scene: Scene) -> list[str]:
    facts = [f"atLocation agent1 {scene.start}"]
    if scene.holding is not None:
        facts += [f"holds agent1 {scene.holding}", "holdsAny agent1"]
    for r in scene.receptacles:
        facts += [f"receptacleType {r.id} {r.type}Type", f"receptacleAtLocation {r.id} {r.location}"]
        if r.openable:
            facts.append(f"openable {r.id}")
        if r.opened:
            facts.append(f"opened {r.id}")
    facts += [f"canContain {rtype}Type {otype}Type" for rtype, otype in sorted(scene.can_contain)]
    for thing in scene.things:
        if thing.type is not None:
            facts.append(f"objectType {thing.id} {thing.type}Type")
        facts += [f"inReceptacle {thing.id} {receptacle}" for receptacle in thing.receptacles]
        if thing.location is not None:
            facts.append(f"objectAtLocation {thing.id} {thing.location}")
        facts += [f"inReceptacleObject {thing.id} {outer}" for outer in thing.inside]
        traits = {
            "pickupable": thing.pickupable,
            "cleanable": thing.cleanable,
            "heatable": thing.heatable,
            "coolable": thing.coolable,
            "toggleable": thing.toggleable,
            "sliceable": thing.sliceable,
            "isReceptacleObject": thing.is_receptacle_object,
            "isCool": thing.is_cool,
        }
        facts += [f"{predicate} {thing.id}" for predicate, holds in traits.items() if holds]
    return facts


def goal_text(goal: Goal) -> str:
    """The goal in PDDL."""
    thing, place = f"{goal.object_type}Type", f"{goal.receptacle_type}Type"
    if goal.kind == "look":
        return (
            "(and (exists (?lamp - object ?r - receptacle ?a - agent ?l - location)"
            f" (and (objectType ?lamp {place}) (toggleable ?lamp) (isToggled ?lamp)"
            " (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?lamp ?r)))"
            f" (exists (?o - object ?a - agent) (and (objectType ?o {thing}) (holds ?a ?o))))"
        )
    if goal.kind == "two":
        return (
            "(exists (?r - receptacle) (exists (?o1 - object)"
            f" (and (receptacleType ?r {place}) (objectType ?o1 {thing}) (inReceptacle ?o1 ?r)"
            " (exists (?o2 - object)"
            f" (and (not (= ?o1 ?o2)) (objectType ?o2 {thing}) (inReceptacle ?o2 ?r))))))"
        )
    state = {
        "simple": "",
        "clean": " (cleanable ?o) (isClean ?o)",
        "heat": " (heatable ?o) (isHot ?o)",
        "cool": " (coolable ?o) (isCool ?o)",
    }[goal.kind]
    return (
        "(exists (?r - receptacle) (exists (?o - object)"
        f" (and (objectType ?o {thing}) (receptacleType ?r {place}){state} (inReceptacle ?o ?r))))"
    )
