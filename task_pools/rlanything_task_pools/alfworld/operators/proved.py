"""Proof of a change, its direction by the difficulty score, and the ranking of proposals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import CLUTTER_WEIGHT, clutter, difficulty, is_shut
from rlanything_task_pools.alfworld.generate import goal_traits
from rlanything_task_pools.alfworld.household import held_out
from rlanything_task_pools.alfworld.operators.change import (
    JITTER,
    MARGIN,
    STEP,
    Change,
    Operator,
    Parent,
    hint_of,
    hinted,
)
from rlanything_task_pools.alfworld.operators.hint import check_secret
from rlanything_task_pools.task import Direction, Refused, Scalar
from rlanything_verifiers.alfworld import Game, GameFormatError, prove

LAST_RESORT = 2.0
"""Penalty of clutter in the ranking: its effect on difficulty is the least certain."""


@dataclass(frozen=True, slots=True)
class Proved:
    """A change with a proof: solvable, and not solved from the start."""

    sentence: str
    """With the hint."""
    hint: str
    proof: tuple[str, ...]
    traits: Mapping[str, Scalar]
    before: float
    """Difficulty of the parent."""
    after: float
    fresh: bool = False
    """Whether it is in another scene."""

    def goes(self, direction: Direction) -> bool:
        """Whether the change goes in a direction, by `MARGIN` at least.

        Another scene is a step by itself for an agent that mastered the old one: there every change counts as harder
        that is not easier by a step or more.
        """
        moved = self.after - self.before
        if direction == "easier":
            return -moved >= MARGIN
        return self.after > STEP["easier"] * self.before if self.fresh else moved >= MARGIN


def prove_change(parent: Parent, change: Change) -> Proved:
    """Prove a change by solving it.

    Raises:
        Refused: ``unsolvable``, ``already_true``, ``solution_in_hint``, ``malformed``.
    """
    task, scene, goal = parent.task, change.scene, change.goal
    plain = task.goal.removesuffix(hinted("", hint_of(task)))
    variant = 1 if plain == parent.goal.sentence(1) else 0
    hint = change.hint if change.hint is not None else hint_of(task) if goal == parent.goal else ""
    sentence = hinted(plain if goal == parent.goal else goal.sentence(variant), hint)
    try:
        proof = prove(Game(scene, goal, sentence=sentence))
    except GameFormatError as error:  # ids that clash, a sentence that the grammar would interpret
        raise Refused("malformed", str(error)) from None
    if proof is None:
        raise Refused("unsolvable", f"no plan reaches: {sentence}")
    if not proof:
        raise Refused("already_true", f"true before the first action: {sentence}")
    check_secret(hint, tuple(proof))
    added = clutter(task.traits)
    before = difficulty(parent.scene, parent.goal, len(task.proof) or None) + CLUTTER_WEIGHT * added
    added += change.clutter
    traits: dict[str, Scalar] = {**task.traits, **change.traits, **goal_traits(scene, goal, len(proof))}
    after = float(traits["difficulty"]) + CLUTTER_WEIGHT * added
    if added or "clutter" in task.traits:
        traits |= {"clutter": added, "difficulty": round(after, 2)}
    if scene is not parent.scene:
        traits["closed"] = sum(is_shut(item) for item in scene.receptacles)
    if "unseen_pair" in task.traits:
        traits["unseen_pair"] = held_out(goal.object_type, goal.receptacle_type)
    return Proved(sentence, hint, tuple(proof), traits, before, after, change.fresh)


def ranked(
    operator: Operator,
    parent: Parent,
    direction: Direction,
    rng: np.random.Generator,
    proposals: Iterable[dict[str, Any]],
    step: float | None = None,
) -> list[dict[str, Any]]:
    """The provable proposals in a direction, those nearest to a step in difficulty first.

    Args:
        operator: The operator of the proposals.
        parent: The task that is rewritten.
        direction: The required direction.
        rng: Decides between near equals.
        proposals: The proposals.
        step: Target difficulty as a multiple of the parent's; `STEP` of the direction if None.
    """
    found, aim = [], STEP[direction] if step is None else step
    for proposal in proposals:
        try:
            change = operator.apply(parent, proposal)
            proved = prove_change(parent, change)
        except Refused:
            continue
        if proved.goes(direction):
            rank = abs(proved.after - aim * proved.before) + JITTER * rng.random()
            rank += LAST_RESORT * (change.clutter != 0)
            found.append((rank, proposal))
    found.sort(key=lambda pair: pair[0])
    return [proposal for _, proposal in found]
