"""Ground truth on single steps, from the state of the world: for measuring a judge, never for training one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.alfworld.belief import LAMP, Belief, kind_of_name
from rlanything_agents.alfworld.words import TYPES
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["step_labels"]


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """1 for each step that brings the agent nearer to its goal, else -1.

    A step does so if it shortens the plan that remains from the current state, or if it is the first look
    into a receptacle that could hold what is sought while none of that has been seen.

    Args:
        payload: The task's world: ``scene`` and ``goal``.
        commands: What the agent did, from the start.
    """
    game = Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"]))
    world = World(game)
    belief = Belief(world.reset(), frozenset(TYPES))
    holds = {(place.lower(), thing.lower()) for place, thing in game.scene.can_contain}
    sought = [game.goal.object_type.lower()] + [LAMP] * (game.goal.kind == "look")
    unseen = dict.fromkeys(sought)
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
        for kind in [kind for kind in unseen if belief.found(kind) or kind_of_name(belief.holding or "") == kind]:
            del unseen[kind]
    return labels


def _length(world: World) -> float:
    steps = plan(world)
    return float("inf") if steps is None else len(steps)
