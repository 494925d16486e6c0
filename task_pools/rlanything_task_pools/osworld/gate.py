"""The gate of generated tasks: every evaluator of a state distinguishes its goal from the start and from other
goals."""

import itertools
from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.osworld.guest import FileGuest, InlineFiles
from rlanything_task_pools.osworld.kinds import State
from rlanything_task_pools.task import Refused
from rlanything_verifiers.osworld import evaluate

__all__ = ["check_state", "score"]


def score(evaluator: Mapping[str, Any], guest: FileGuest) -> float:
    """Score of an evaluator on a state of files."""
    return evaluate(evaluator, guest, last_action="DONE", files=InlineFiles())


def check_state(state: State) -> None:
    """Refuse a state whose evaluator levels are unsound.

    Every evaluator gives 0 on the untouched state, 1 after its oracle, and less than 1 after that of any other; goals
    differ, and each level takes more steps than the one before.

    Raises:
        Refused: ``already_true``, ``oracle_fails``, ``siblings_alike``, ``goals_alike``, ``no_ladder``.
    """
    levels = state.levels
    start = FileGuest(state.files)
    ends = [start.after(level.after, level.modes) for level in levels]
    if not 2 <= len(levels) <= 6 or any(one.steps >= two.steps for one, two in itertools.pairwise(levels)):
        raise Refused("no_ladder", f"the levels take {[level.steps for level in levels]} steps")
    if len({level.goal for level in levels}) < len(levels):
        raise Refused("goals_alike", "two levels ask the same")
    for number, level in enumerate(levels):
        if score(level.evaluator, start) != 0:
            raise Refused("already_true", f"level {number + 1} scores {score(level.evaluator, start)} at the start")
        for other, end in enumerate(ends):
            found = score(level.evaluator, end)
            if other == number and found != 1:
                raise Refused("oracle_fails", f"level {number + 1} scores {found} after its own oracle")
            if other != number and found == 1:
                raise Refused("siblings_alike", f"level {number + 1} scores 1 after the oracle of level {other + 1}")
