"""Stages of a household task, the actions of each, and the stages that a proposal eases."""

from collections.abc import Mapping
from typing import Any, Literal

from rlanything_task_pools.alfworld.operators.change import Parent

__all__ = ["STAGES", "Stage", "eased_stages"]

Stage = Literal["search", "fetch", "prepare", "place"]

STAGES: Mapping[str, Stage] = {
    "go": "search",
    "open": "search",
    "close": "search",
    "examine": "search",
    "look": "search",
    "inventory": "search",
    "take": "fetch",
    "clean": "prepare",
    "heat": "prepare",
    "cool": "prepare",
    "slice": "prepare",
    "move": "place",
    "put": "place",
    "use": "place",
}
"""First word of an action -> the stage it belongs to: most walking and opening is search."""

_STARTS: Mapping[str, frozenset[Stage]] = {
    "in_view": frozenset(["search"]),
    "in_hand": frozenset(["search", "fetch"]),
    "at_station": frozenset(["prepare"]),
    "in_place": frozenset(["place"]),
}
_PARTS: Mapping[str, frozenset[Stage]] = {
    "object_type": frozenset(["search", "fetch"]),
    "kind": frozenset(["prepare"]),
    "receptacle_type": frozenset(["place"]),
}
_NONE: frozenset[Stage] = frozenset()


def eased_stages(proposal: Mapping[str, Any], parent: Parent) -> frozenset[Stage]:
    """Stages that an easier proposal eases: what it changes in start, room or goal is what they are about."""
    if "start" in proposal:
        return _STARTS.get(str(proposal["start"]), _NONE)
    if "scene" in proposal:
        return frozenset(["search"])
    goal = parent.goal.to_dict()
    return _NONE.union(*(stages for part, stages in _PARTS.items() if proposal.get(part, goal[part]) != goal[part]))
