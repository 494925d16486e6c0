"""Corrupted trajectories, whose known fault a judge should detect. Pure functions.

Only steps that the planner calls right are made wrong: a judge should call the others wrong with or without the
fault. Each corrupted step is known by its place, and by where the same step stands uncorrupted, so that a judge's
votes on it can be compared with its own votes on the same step in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np

from rlanything_agents.rollout.trajectory import Step, Trajectory

__all__ = [
    "CORRUPTIONS",
    "Corrupted",
    "Corruption",
    "CorruptionError",
    "Place",
    "corrupt",
    "flip_outcome",
    "insert_steps",
    "replace_observation",
    "swap_steps",
]

Corruption = Literal["again", "swapped", "inserted", "observation", "outcome"]
"""``again``: nothing is changed, the control for a judge's own randomness. ``swapped``: two right steps of
different kinds (first words) change places, so that, say, a thing is taken before the way to it is gone.
``inserted``: steps that were right in another task stand among the steps. ``observation``: the answer to a step is
that to another step, of another task. ``outcome``: the reported outcome is flipped; no step
changes, and the judge is not shown the outcome, so what can be noticed is that the votes contradict it."""

CORRUPTIONS: tuple[Corruption, ...] = get_args(Corruption)

T = TypeVar("T")


class CorruptionError(ValueError):
    """A corruption cannot be made; the message names it."""


class Place(NamedTuple):
    """A step of a trajectory, by their numbers."""

    trajectory: int
    step: int


@dataclasses.dataclass(frozen=True, slots=True)
class Corrupted:
    """A trajectory with a known fault.

    Attributes:
        source: Number of the trajectory it was made of.
        trajectory: The judged trajectory, without tokens, since no policy is trained on it.
        steps: Its corrupted steps.
        origins: Where each of them stands uncorrupted.
    """

    source: int
    trajectory: Trajectory
    steps: tuple[int, ...]
    origins: tuple[Place, ...]


def swap_steps(steps: Sequence[Step], one: int, other: int) -> tuple[Step, ...]:
    """The steps with two of them, answers included, at each other's place.

    Raises:
        CorruptionError: It is one step, or there is none of this number.
    """
    if one == other or not min(one, other) >= 0 or not max(one, other) < len(steps):
        raise CorruptionError(f"cannot swap the steps {one} and {other} of {len(steps)}: name two of them, from 0")
    changed = list(steps)
    changed[one], changed[other] = changed[other], changed[one]
    return tuple(changed)


def insert_steps(
    steps: Sequence[Step], new: Sequence[Step], before: Sequence[int]
) -> tuple[tuple[Step, ...], tuple[int, ...]]:
    """The steps with others among them.

    Args:
        steps: The steps of the trajectory.
        new: The inserted steps.
        before: For each of ``new``, ascending, the step it comes before; the number of steps for the end.

    Returns:
        All steps, and the places of the new ones among them.

    Raises:
        CorruptionError: Not one place for each, or they are not ascending, or outside the steps.
    """
    if len(new) != len(before) or list(before) != sorted(before):
        raise CorruptionError(f"{len(new)} steps to insert before {list(before)}: give each a place, ascending")
    if before and not 0 <= before[0] <= before[-1] <= len(steps):
        raise CorruptionError(f"cannot insert before {list(before)}: there are {len(steps)} steps, counted from 0")
    changed, places = list(steps), []
    for number, (step, place) in enumerate(zip(new, before, strict=True)):
        places.append(place + number)
        changed.insert(place + number, step)
    return tuple(changed), tuple(places)


def replace_observation(steps: Sequence[Step], at: int, other: Step) -> tuple[Step, ...]:
    """The steps with the answer to another step, in every view, in the place of one's own.

    Raises:
        CorruptionError: There is no step of this number, or that is the answer it has.
    """
    if not 0 <= at < len(steps):
        raise CorruptionError(f"there is no step {at} of {len(steps)}")
    if _answer(steps[at]) == _answer(other):
        raise CorruptionError(f"step {at} has this very observation: {other.observation[:60]!r}")
    changed = list(steps)
    changed[at] = dataclasses.replace(steps[at], observation=other.observation, message=other.message)
    return tuple(changed)


def flip_outcome(trajectory: Trajectory) -> Trajectory:
    """The trajectory with its outcome flipped.

    Raises:
        CorruptionError: It has none.
    """
    if trajectory.outcome is None:
        raise CorruptionError(f"the episode on {trajectory.task_id} has no outcome: {trajectory.error}")
    return dataclasses.replace(trajectory, outcome=-trajectory.outcome)


def corrupt(
    kind: Corruption,
    trajectories: Sequence[Trajectory],
    right: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    steps: int = 2,
) -> list[Corrupted]:
    """Corrupt those of some trajectories that allow it.

    Args:
        kind: The kind of corruption.
        trajectories: Recorded trajectories, each with an outcome; also the source of inserted steps and answers.
        right: Of each the numbers of the steps that are right.
        rng: Source of all choices.
        steps: Number of steps of a trajectory to corrupt, as far as it has them; a swap is of two.

    Returns:
        At most one for each trajectory, in order; a trajectory without enough right steps, or without another
        task to take from, is left out. Outcomes are flipped for equal numbers of solved and failed trajectories, so
        that a constant judge is at chance.

    Raises:
        CorruptionError: There is no corruption of this name.
    """
    if kind not in CORRUPTIONS:
        raise CorruptionError(f"no corruption {kind!r}; choose from {', '.join(CORRUPTIONS)}")
    if kind == "outcome":
        return [Corrupted(t, flip_outcome(_readable(trajectories[t])), (), ()) for t in _balanced(trajectories, rng)]
    made = (_corrupt_one(kind, t, trajectories, right, rng, steps) for t in range(len(trajectories)))
    return [one for one in made if one is not None]


def _corrupt_one(
    kind: Corruption,
    t: int,
    trajectories: Sequence[Trajectory],
    right: Sequence[Sequence[int]],
    rng: np.random.Generator,
    steps: int,
) -> Corrupted | None:
    mine = _readable(trajectories[t])
    if kind == "swapped":
        pairs = [(i, j) for i in right[t] for j in right[t] if i < j and _kind(mine.steps[i]) != _kind(mine.steps[j])]
        if not pairs:
            return None
        i, j = pairs[rng.integers(len(pairs))]
        swapped = dataclasses.replace(mine, steps=swap_steps(mine.steps, i, j))
        return Corrupted(t, swapped, (i, j), (Place(t, j), Place(t, i)))
    if kind == "inserted":
        origins = _drawn(_right_elsewhere(t, trajectories, right), steps, rng)
        before = sorted(rng.integers(len(mine.steps) + 1, size=len(origins)).tolist())
        new = [trajectories[at.trajectory].steps[at.step] for at in origins]
        changed, places = insert_steps(mine.steps, new, before)
        return Corrupted(t, dataclasses.replace(mine, steps=changed), places, tuple(origins)) if origins else None
    chosen = sorted(_drawn(right[t], steps, rng))
    if kind == "observation":
        changed, hit = mine.steps, []
        elsewhere = [step for k in _elsewhere(t, trajectories) for step in trajectories[k].steps]
        for i in chosen:
            answers = [other for other in elsewhere if _answer(other) != _answer(mine.steps[i])]
            if answers:
                changed = replace_observation(changed, i, answers[rng.integers(len(answers))])
                hit.append(i)
        mine, chosen = dataclasses.replace(mine, steps=changed), hit
    return Corrupted(t, mine, tuple(chosen), tuple(Place(t, i) for i in chosen)) if chosen else None


def _readable(trajectory: Trajectory) -> Trajectory:
    """Without its tokens, which are those of the steps as they were."""
    return dataclasses.replace(trajectory, prompt_ids=[], completion_ids=[], step_of_token=[], logprobs=[], allowed=[])


def _answer(step: Step) -> tuple[str, str]:
    return step.observation, step.message


def _kind(step: Step) -> str:
    return step.action.partition(" ")[0]


def _drawn(choices: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """So many of the choices, or all, each once."""
    return [choices[k] for k in rng.permutation(len(choices))[:count]]


def _elsewhere(t: int, trajectories: Sequence[Trajectory]) -> Iterator[int]:
    """Trajectories on other tasks."""
    return (k for k, other in enumerate(trajectories) if other.task_id != trajectories[t].task_id)


def _right_elsewhere(t: int, trajectories: Sequence[Trajectory], right: Sequence[Sequence[int]]) -> list[Place]:
    done = {step.action for step in trajectories[t].steps}
    return [
        Place(k, i)
        for k in _elsewhere(t, trajectories)
        for i in right[k]
        if trajectories[k].steps[i].action not in done
    ]


def _balanced(trajectories: Sequence[Trajectory], rng: np.random.Generator) -> list[int]:
    """Indices of equally many solved and failed trajectories."""
    sides: Mapping[int, list[int]] = {
        outcome: [t for t, trajectory in enumerate(trajectories) if trajectory.outcome == outcome]
        for outcome in (1, -1)
    }
    size = min(map(len, sides.values()))
    return sorted(t for side in sides.values() for t in _drawn(side, size, rng))
