"""True step labels from the state of the world: they measure a judge and never train one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.domains.alfworld.belief import LAMP, Belief
from rlanything_envs.alfworld.texts import kind_of_name
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["step_labels"]


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """Label each step 1 if it brings the agent nearer to its goal, else -1.

    A step does so if it shortens the remaining plan, or if it is the first look into a receptacle that can hold a
    wanted type of which too few objects have been seen. Where no plan remains, the looks still count, and so does a
    step that makes the goal reachable again.

    Args:
        payload: The task's payload, of which ``scene`` and ``goal`` are used.
        commands: The agent's commands, from the start of the episode.
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
    """Remove the types of which enough objects have been seen or are in hand; ``unseen`` maps a type to that number."""
    for kind, wanted in list(unseen.items()):
        if len(belief.found(kind)) + (kind_of_name(belief.holding or "") == kind) >= wanted:
            del unseen[kind]


def _length(world: World) -> float:
    """Steps of the remaining plan; infinite where there is none."""
    steps = plan(world)
    return float("inf") if steps is None else len(steps)
