"""True step labels from the state of the world: they measure a judge and never train one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_agents.domains.alfworld.belief import Belief
from rlanything_envs.alfworld.texts import kind_of_name
from rlanything_verifiers.alfworld import Game, Goal, Scene, World, plan

__all__ = ["plan_lengths", "potentials", "step_labels"]


def step_labels(payload: Mapping[str, Any], commands: Sequence[str]) -> list[int]:
    """Label each step 1, 0 or -1.

    A step is worth 1 if it shortens the remaining plan, or if it searches where a wanted thing can be: while too few of
    the wanted objects have been seen, it walks for the first time to a receptacle that can hold one and that was not
    looked into, or looks into it for the first time. The same search where none can be is worth 0: an agent that does
    not know the scene has to find that out. Every other step is -1: it undoes something, repeats something, or costs a
    turn in which nothing is gained. Where no plan remains, searches still count, and so does a step that makes the goal
    reachable again.

    Args:
        payload: The task's payload, of which ``scene`` and ``goal`` are used.
        commands: The agent's commands, from the start of the episode.
    """
    game = Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"]))
    world = World(game)
    belief = Belief(world.reset())
    holds = {(place.lower(), thing.lower()) for place, thing in game.scene.can_contain}
    remaining = _length(world)
    labels = []
    for command in commands:
        sought = belief.sought
        searched = belief.update(world.step(command))
        left = _length(world)
        if left < remaining:
            labels.append(1)
        elif searched is None or not sought:
            labels.append(-1)
        else:
            labels.append(1 if any((kind_of_name(searched), kind) in holds for kind in sought) else 0)
        remaining = left
    return labels


def potentials(payload: Mapping[str, Any], commands: Sequence[str]) -> list[float]:
    """Potential of the state before each command and after the last: minus the remaining plan's share of the first one.

    A state from which no plan is found is worth as much as the start, -1.

    Args:
        payload: As for `step_labels`.
        commands: The agent's commands, from the start of the episode.
    """
    lengths = plan_lengths(payload, commands)
    return [-1.0, *(-length / lengths[0] if length < float("inf") else -1.0 for length in lengths[1:])]


def plan_lengths(payload: Mapping[str, Any], commands: Sequence[str]) -> list[float]:
    """Steps of the remaining plan before each command and after the last, shape (commands + 1,); infinite without one.

    Args:
        payload: As for `step_labels`.
        commands: The agent's commands, from the start of the episode.
    """
    world = World(Game(Scene.from_dict(payload["scene"]), Goal.from_dict(payload["goal"])))
    world.reset()
    lengths = [_length(world)]
    for command in commands:
        world.step(command)
        lengths.append(_length(world))
    return lengths


def _length(world: World) -> float:
    """Steps of the remaining plan; infinite where there is none."""
    steps = plan(world)
    return float("inf") if steps is None else len(steps)
