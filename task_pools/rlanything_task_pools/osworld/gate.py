"""The gate of generated tasks: every evaluator of a state tells its own goal from the start and from all others."""

import itertools
from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.osworld.guest import FileGuest, InlineFiles
from rlanything_task_pools.osworld.kinds import State
from rlanything_verifiers.osworld import evaluate

__all__ = ["Refused", "check_state", "score"]


class Refused(Exception):
    """A state is none; `reason` is a slug."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


def score(evaluator: Mapping[str, Any], guest: FileGuest) -> float:
    """What an evaluator gives for a state of files."""
    return evaluate(evaluator, guest, last_action="DONE", files=InlineFiles())


def check_state(state: State) -> None:
    """Refuse a state whose ladder is unsound.

    Every evaluator gives 0 on the untouched state, 1 after its oracle, and less than 1 after that of any other; goals
    differ, and each rung takes more than the one before.

    Raises:
        Refused: ``already_true``, ``oracle_fails``, ``siblings_alike``, ``goals_alike``, ``no_ladder``.
    """
    rungs = state.rungs
    start = FileGuest(state.files)
    ends = [start.after(rung.after, rung.modes) for rung in rungs]
    if not 2 <= len(rungs) <= 6 or any(one.steps >= two.steps for one, two in itertools.pairwise(rungs)):
        raise Refused("no_ladder", f"the rungs take {[rung.steps for rung in rungs]} steps")
    if len({rung.goal for rung in rungs}) < len(rungs):
        raise Refused("goals_alike", "two rungs ask the same")
    for number, rung in enumerate(rungs):
        if score(rung.evaluator, start) != 0:
            raise Refused("already_true", f"rung {number + 1} scores {score(rung.evaluator, start)} at the start")
        for other, end in enumerate(ends):
            found = score(rung.evaluator, end)
            if other == number and found != 1:
                raise Refused("oracle_fails", f"rung {number + 1} scores {found} after its own oracle")
            if other != number and found == 1:
                raise Refused("siblings_alike", f"rung {number + 1} scores 1 after the oracle of rung {other + 1}")
