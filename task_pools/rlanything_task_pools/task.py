"""Tasks as data: goal, world, proof and lineage.

`Task` holds everything needed to play it and is identified by its content. `Rewrite` records how a task was made from
another, `Rejection` why a proposal did not become a task, and `Outcome` the result of one episode.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from rlanything_task_pools.frozen import FrozenDict, canonical_json, freeze

Direction = Literal["harder", "easier"]
Role = Literal["active", "candidate", "eval"]
Scalar = str | int | float | bool

MAX_JSON_BYTES = 4_000_000
"""Largest task text `Task.from_json` reads; the largest official ALFWorld game is 0.1 MB."""


class TaskFormatError(ValueError):
    """The text is not a task; the message names the field and what is wrong with it."""


def _frozen_mapping(value: object) -> FrozenDict:
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    frozen: FrozenDict = freeze(value, "object")
    return frozen


def _frozen_scalars(value: object) -> FrozenDict:
    frozen = _frozen_mapping(value)
    for key, item in frozen.items():
        if not isinstance(item, str | int | float):
            raise ValueError(f"{key}: expected text, a number or a truth value, got {type(item).__name__}")
    return frozen


JsonObject = Annotated[Mapping[str, Any], PlainValidator(_frozen_mapping)]
Traits = Annotated[Mapping[str, Scalar], PlainValidator(_frozen_scalars)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class StrictRecord(BaseModel):
    """Base of what is read from untrusted JSON: frozen, and without unknown fields or conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Rewrite(StrictRecord):
    """How a task was made from its parent."""

    direction: Direction
    """Intended change of difficulty."""
    author: Name
    """Author of the proposal: ``scripted`` or the name of a language model."""
    change: JsonObject
    """The fields that differ from the parent, in the domain's own format."""
    critique: str = ""
    """The summary of episodes that the rewriter had."""
    critic: str = ""
    """Who wrote the critique: the name of a language model, ``scripted``, or both; empty where that is not known."""


class Rejection(StrictRecord):
    """Why a proposal did not become a task."""

    reason: Name
    """Short identifier, such as ``unsolvable``."""
    detail: str = ""
    """The fault in detail, for a reader or for the next prompt."""


class Refused(Exception):
    """A proposal or a problem is unsound: raised while it is parsed or checked, and caught by its operator."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail

    @property
    def rejection(self) -> Rejection:
        """The record of it."""
        return Rejection(reason=self.reason, detail=self.detail[:1000])


class Outcome(StrictRecord):
    """The result of one episode."""

    success: bool | None
    """None without an outcome: the infrastructure failed, or nothing verifies the task. It gives no reward and never
    counts as a failure."""
    score: float = Field(allow_inf_nan=False)
    steps: int = Field(ge=0)
    actor: str
    """The agent, for example a policy name with its version."""
    role: Role
    """Purpose of the episode: the slot's active task, a pending candidate, the root where another task is active, an
    earlier task of the slot that is replayed, or evaluation."""


class Task(StrictRecord):
    """One self-contained task of a domain: frozen, JSON, identified by its content."""

    domain: Name
    goal: str = Field(min_length=1, max_length=10_000)
    """The goal in words, as the agent reads it."""
    payload: JsonObject
    """Data from which the domain builds the world and checks the goal."""
    proof: tuple[str, ...] = ()
    """Actions that solve the task."""
    traits: Traits = FrozenDict()
    """Facts to filter and report by: kind, room, split, plan length, ..."""
    parent: str | None = None
    root: str | None = None
    rewrite: Rewrite | None = None

    @cached_property
    def id(self) -> str:
        """``domain-`` and 16 hex digits of the SHA-256 of (domain, goal, payload), the same on every machine."""
        content = canonical_json([self.domain, self.goal, self.payload])
        return f"{self.domain}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """Short fields only: a world of thousands of words is no help in an error message."""
        yield "id", self.id
        yield "goal", self.goal

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A changed copy, validated; its id follows from its content."""
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | dict(update or {}))

    def as_root(self) -> Self:
        """The task without a lineage."""
        return self.model_copy(update={"parent": None, "root": None, "rewrite": None})

    def to_json(self) -> str:
        """Canonical JSON of the whole task, lineage included."""
        record = {name: getattr(self, name) for name in type(self).model_fields}
        if self.rewrite is not None:
            record["rewrite"] = {name: getattr(self.rewrite, name) for name in Rewrite.model_fields}
        return canonical_json(record)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a task from untrusted JSON.

        Raises:
            TaskFormatError: The text is not JSON or too large, or a field is missing, unknown or of the wrong kind.
        """
        if len(text) > MAX_JSON_BYTES:
            raise TaskFormatError(f"task JSON of {len(text)} bytes: more than {MAX_JSON_BYTES} are not read")
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TaskFormatError(f"task is not JSON: {error}") from None
        return cls.from_dict(record)

    @classmethod
    def from_dict(cls, record: object) -> Self:
        """As `from_json`, from JSON that was already decoded."""
        if not isinstance(record, Mapping):
            raise TaskFormatError(f"task: expected a JSON object, got {type(record).__name__}")
        try:
            return cls.model_validate({**record, "proof": _as_tuple(record.get("proof", ()))})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "task"
            raise TaskFormatError(f"task field {place}: {first['msg']}") from None
        except (TypeError, RecursionError) as error:
            raise TaskFormatError(f"task: {error}") from None


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def twins(tasks: Iterable[Task]) -> tuple[int, int] | None:
    """Positions of the first two tasks with the same id; None where all differ."""
    first: dict[str, int] = {}
    return next(((one, k) for k, task in enumerate(tasks) if (one := first.setdefault(task.id, k)) != k), None)
