"""Payload of a desktop task: one state, several evaluators, an instruction for each; parsed from untrusted data."""

import base64
import binascii
import json
import posixpath
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, ValidationError, model_validator

from rlanything_task_pools.frozen import canonical_json, freeze
from rlanything_task_pools.task import StrictRecord, Task, TaskFormatError
from rlanything_verifiers.osworld import check_evaluator

__all__ = ["MAX_FILE", "STEP_TYPES", "Payload", "Step", "file_of", "make_task", "read_payload"]

UPSTREAM_STEPS = (
    "activate_window",
    "chrome_close_tabs",
    "chrome_open_tabs",
    "close_window",
    "command",
    "download",
    "execute",
    "googledrive",
    "launch",
    "login",
    "open",
    "sleep",
    "update_browse_history",
    "upload_file",
)
"""Types of set-up steps in the 369 published tasks, `upload_file` aside, which none of them uses."""

STEP_TYPES = (*UPSTREAM_STEPS, "write_file")
"""All types: ``write_file`` is our own and stores a file that the task itself carries."""

MAX_FILE = 64_000
"""Maximum bytes of a file that a task carries."""
MAX_TOTAL = 2_000_000
"""Maximum characters of a payload's JSON; the largest published task has 32,000."""
MAX_STEPS = 400
MAX_EVALUATORS = 32
MAX_HINTS = 16
MAX_TEXT = 10_000
MAX_PATH = 1_000


def _object(value: object) -> dict[str, Any]:
    """A JSON object in plain dicts and lists, as verifiers and desktops read it."""
    if not isinstance(value, Mapping):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    plain: dict[str, Any] = json.loads(canonical_json(freeze(value, "object")))
    return plain


JsonObject = Annotated[dict[str, Any], PlainValidator(_object)]


class Step(StrictRecord):
    """One step of the set-up, as OSWorld writes it."""

    type: str = Field(max_length=80)
    parameters: JsonObject = Field(default={}, validate_default=True)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.type not in STEP_TYPES:
            raise ValueError(f"the step type {self.type!r} is unknown; there are {', '.join(STEP_TYPES)}")
        if self.type == "write_file":
            file_of(self.parameters)
        return self


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,80}$")]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Hint = Annotated[str, Field(min_length=1, max_length=1_000)]


class Payload(StrictRecord):
    """The payload of a desktop task, complete and checked."""

    instruction: Text
    """The agent's instruction: that of the current evaluator, possibly reworded or with hints."""
    config: tuple[Step, ...] = Field(default=(), max_length=MAX_STEPS)
    """Set-up steps of the state, the same for all evaluators."""
    evaluators: dict[Name, JsonObject] = Field(min_length=1, max_length=MAX_EVALUATORS)
    """OSWorld's evaluators by name, from easy to hard in a generated task."""
    instructions: dict[Name, Text]
    """The plain instruction of each evaluator."""
    hints: dict[Name, Annotated[tuple[Hint, ...], Field(max_length=MAX_HINTS)]] = Field(default={})
    """Sentences that tell how to do it, of which an instruction may give some."""
    steps: dict[Name, Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)]] = Field(default={})
    """Number of a person's steps for each evaluator, where known."""
    current: Name
    """The evaluator that decides."""
    related_apps: tuple[Annotated[str, Field(max_length=80)], ...] = Field(default=(), max_length=32)
    source: JsonObject = Field(default={}, validate_default=True)
    """Origin of the task: ``kind``, ``seed``, ``split`` and ``draw`` of a generated one."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = set(self.evaluators)
        if set(self.instructions) != names:
            raise ValueError(
                f"instructions: they are for {', '.join(sorted(self.instructions))}, the evaluators are "
                f"{', '.join(sorted(names))}"
            )
        for field, known in (("hints", set(self.hints)), ("steps", set(self.steps))):
            if not known <= names:
                raise ValueError(f"{field}: {min(known - names)!r} is none of the evaluators")
        if self.current not in names:
            raise ValueError(f"current: {self.current!r} is none of the evaluators {', '.join(sorted(names))}")
        return self

    @property
    def evaluator(self) -> Mapping[str, Any]:
        """The evaluator that decides."""
        return self.evaluators[self.current]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return self.model_dump()


def read_payload(value: Mapping[str, Any]) -> Payload:
    """A payload from untrusted JSON values, every function and getter of its evaluators known.

    Raises:
        TaskFormatError: A field is missing, unknown, too large or of the wrong kind.
        EvaluatorError: An evaluator is malformed, or names a function or a getter that there is not.
    """
    try:
        frozen = freeze(value, "payload")
        if len(canonical_json(frozen)) > MAX_TOTAL:
            raise ValueError(f"payload: more than {MAX_TOTAL} characters of JSON")
        payload = Payload.model_validate(frozen)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "payload"
        raise TaskFormatError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from None
    except (ValueError, RecursionError) as error:
        raise TaskFormatError(str(error)) from None
    for evaluator in payload.evaluators.values():
        check_evaluator(evaluator)
    return payload


def file_of(parameters: Mapping[str, Any]) -> tuple[str, bytes]:
    """Path and content of the file that a ``write_file`` step carries as ``text`` or ``base64``.

    Raises:
        TaskFormatError: The path is not absolute, the content is missing, given twice, malformed or too large.
    """
    path = parameters.get("path")
    if not isinstance(path, str) or len(path) > MAX_PATH or "\0" in path or posixpath.normpath(path) != path:
        raise TaskFormatError(f"write_file: path {path!r:.200} is not a plain path")
    if not path.startswith(("/", "~/")) or path.startswith("//"):
        raise TaskFormatError(f"write_file: path {path!r:.200} must begin with / or ~/")
    given = sorted(set(parameters) - {"path"})
    content = parameters.get(given[0]) if given in (["text"], ["base64"]) else None
    if not isinstance(content, str):
        raise TaskFormatError(f"write_file {path}: give its content as text or as base64, one of both")
    try:
        data = content.encode() if given == ["text"] else base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise TaskFormatError(f"write_file {path}: {given[0]} cannot be decoded: {error}") from None
    if len(data) > MAX_FILE:
        raise TaskFormatError(f"write_file {path}: {len(data)} bytes, and a task carries at most {MAX_FILE} a file")
    return path, data


def make_task(
    payload: Payload, proof: tuple[str, ...] = (), traits: Mapping[str, Any] | None = None, **lineage: Any
) -> Task:
    """A task of a payload, whose goal is the instruction."""
    return Task(
        domain="osworld",
        goal=payload.instruction,
        payload=payload.to_dict(),
        proof=proof,
        traits=traits or {},
        **lineage,
    )
