"""Ground truth on single steps, from the state of the world: for measuring a judge, never for training one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.domains.alfworld.belief import LAMP, Belief
from rlanything_envs.alfworld.texts import kind_of_name
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["step_labels"]


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """1 for each step that brings the agent nearer to its goal, else -1.

    A step does so if it shortens the plan that remains from the current state, or if it is the first look
    into a receptacle that could hold what is sought while too little of that has been seen (or was in hand from
    the start). Where no plan remains, only the looks are left; a step that makes a goal reachable again counts.

    Args:
        payload: The task's world: ``scene`` and ``goal``.
        commands: What the agent did, from the start.
    """
    game = Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"]))
    world = World(game)
    belief = Belief(world.reset())
    holds = {(place.lower(), thing.lower()) for place, thing in game.scene.can_contain}
    unseen = {game.goal.object_type.lower(): 2 if game.goal.kind == "two" else 1}
    if game.goal.kind == "look":
        unseen[LAMP] = 1
    _forget_found(unseen, belief)
    remaining = _length(world)
    labels = []
    for command in commands:
        known = set(belief.contents)
        belief.update(world.step(command))
        left = _length(world)
        looked = [place for place in belief.contents if place not in known]
        search = bool(looked) and any((kind_of_name(looked[0]), kind) in holds for kind in unseen)
        labels.append(1 if left < remaining or search else -1)
        remaining = left
        _forget_found(unseen, belief)
    return labels


def _forget_found(unseen: dict[str, int], belief: Belief) -> None:
    """Take out the types of which enough was seen; ``unseen`` says how many that is."""
    for kind, wanted in list(unseen.items()):
        if len(belief.found(kind)) + (kind_of_name(belief.holding or "") == kind) >= wanted:
            del unseen[kind]


def _length(world: World) -> float:
    steps = plan(world)
    return float("inf") if steps is None else len(steps)
