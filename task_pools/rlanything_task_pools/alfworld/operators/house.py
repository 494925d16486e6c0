"""The operator ``house``: the same kind of goal in another generated scene.

Facts that a policy memorised (where the mug is, which cabinet is empty) do not hold there; skills do. So a mastered
task becomes harder than its difficulty score, and a small pool becomes more diverse.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlanything_task_pools.alfworld.difficulty import clutter
from rlanything_task_pools.alfworld.generate import generate
from rlanything_task_pools.alfworld.household import ROOM_BASE
from rlanything_task_pools.alfworld.operators.change import Change, Parent, check_fields, scene_and_goal
from rlanything_task_pools.alfworld.operators.proved import ranked
from rlanything_task_pools.knobs import KnobError
from rlanything_task_pools.task import Direction, Refused

HOUSES = 8
"""Number of scenes that are tried for one that is a little harder, or easier."""

MAX_HOUSE = 2**53
"""Bound on the numbers of scenes: every JSON parser keeps such integers exact."""


class HouseOperator:
    """Moves to a generated scene with a goal of the same kind in a room of the same type."""

    name = "house"
    note = "keep the kind of task and the type of room, and set it in another home, with other things and places"
    fields: tuple[str, ...] = ("house",)

    def propose(self, parent: Parent, direction: Direction, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Scenes in a direction, nearest to the parent in difficulty first: a new scene is a step by itself."""
        numbers = rng.integers(MAX_HOUSE, size=HOUSES)
        return ranked(self, parent, direction, rng, ({"house": int(number)} for number in numbers), step=1.0)

    def apply(self, parent: Parent, proposal: Mapping[str, Any]) -> Change:
        """The game of a scene.

        Raises:
            Refused: ``malformed``, ``unknown_room``, ``no_house``.
        """
        number = check_fields(proposal, self.fields, "proposal").get("house")
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_HOUSE:
            raise Refused("malformed", f"house: expected an integer from 0 to {MAX_HOUSE - 1}")
        room, kind = parent.task.traits.get("room"), parent.goal.kind
        if room not in ROOM_BASE:
            raise Refused("unknown_room", f"the task does not say which room it plays in: {room!r}")
        try:
            new = generate(number, "train", rooms=(room,), kinds=(kind,))
        except KnobError as error:
            raise Refused("no_house", str(error)) from None
        scene, goal = scene_and_goal(new)
        record = {"house": number, "was": {"object": parent.goal.object_type, "place": parent.goal.receptacle_type}}
        of_house = {name: new.traits[name] for name in ("scene", "receptacles", "source", "seed")}
        of_house |= {"unseen_scene": False} if "unseen_scene" in parent.task.traits else {}
        return Change(scene, goal, record, clutter=-clutter(parent.task.traits), traits=of_house, fresh=True)

    def properties(self, parent: Parent) -> dict[str, dict[str, Any]]:
        """JSON schema of the number of a scene."""
        return {"house": {"type": "integer", "minimum": 0, "maximum": MAX_HOUSE - 1, "description": self.note}}
