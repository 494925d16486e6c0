"""The six kinds of goals of ALFWorld: the condition on the final state, and the wording of the task."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .errors import GameFormatError

GoalKind = Literal["simple", "clean", "heat", "cool", "two", "look"]
GOAL_KINDS: tuple[GoalKind, ...] = get_args(GoalKind)

#: Official name of each kind, as in the folder names of the ALFWorld data set.
TASK_TYPES: Mapping[GoalKind, str] = {
    "simple": "pick_and_place_simple",
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
    "two": "pick_two_obj_and_place",
    "look": "look_at_obj_in_light",
}

#: The two wordings ALFWorld draws from for each kind (``alfworld.gen.goal_library``).
_WORDINGS: Mapping[GoalKind, tuple[str, str]] = {
    "simple": ("put a {obj} in {recep}.", "put some {obj} on {recep}."),
    "clean": ("put a clean {obj} in {recep}.", "clean some {obj} and put it in {recep}."),
    "heat": ("put a hot {obj} in {recep}.", "heat some {obj} and put it in {recep}."),
    "cool": ("put a cool {obj} in {recep}.", "cool some {obj} and put it in {recep}."),
    "two": ("put two {obj} in {recep}.", "find two {obj} and put them in {recep}."),
    "look": ("look at {obj} under the {recep}.", "examine the {obj} with the {recep}."),
}

_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,39}\Z")


def check_type_name(name: object, place: str) -> str:
    """Return ``name`` if it is a plain type name such as ``"Apple"``.

    Raises:
        GameFormatError: it is not; ``place`` names its position.
    """
    if not isinstance(name, str) or not _TYPE_NAME.match(name):
        raise GameFormatError(f"{place}: {name!r:.80} is not a type name; use letters and digits only, like 'Apple'")
    return name


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal over *types*: any object and any receptacle of the type will do.

    Attributes:
        kind: One of the six kinds.
        object_type: Type of the object to handle, such as ``"Apple"``.
        receptacle_type: Type of the place it must end in, such as ``"Fridge"``; for ``look`` the lamp,
            such as ``"DeskLamp"``.
    """

    kind: GoalKind
    object_type: str
    receptacle_type: str

    def __post_init__(self) -> None:
        if self.kind not in GOAL_KINDS:
            raise GameFormatError(f"goal kind {self.kind!r:.80} is unknown; use one of {', '.join(GOAL_KINDS)}")
        check_type_name(self.object_type, "goal object_type")
        check_type_name(self.receptacle_type, "goal receptacle_type")

    def sentence(self, variant: int = 0) -> str:
        """The goal in words, without the leading ``"Your task is to: "`` and with its full stop.

        Args:
            variant: Number of one of the two official wordings, modulo 2.
        """
        wording = _WORDINGS[self.kind][variant % 2]
        return wording.format(obj=self.object_type.lower(), recep=self.receptacle_type.lower())

    def to_dict(self) -> dict[str, str]:
        """The goal as plain JSON data."""
        return {"kind": self.kind, "object_type": self.object_type, "receptacle_type": self.receptacle_type}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Goal":
        """Read what :meth:`to_dict` wrote.

        Raises:
            GameFormatError: A key is missing, unknown or of the wrong type.
        """
        wanted = {"kind", "object_type", "receptacle_type"}
        if not isinstance(data, Mapping) or set(data) != wanted:
            raise GameFormatError(f"goal: expected a mapping with exactly the keys {sorted(wanted)}")
        return cls(data["kind"], data["object_type"], data["receptacle_type"])
