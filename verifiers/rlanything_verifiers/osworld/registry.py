"""Metrics and getters under OSWorld's names. The signature of a function is the schema of its part of an evaluator.

A metric takes what a getter found on the desktop, then what was expected, then its options by keyword. `File` in an
annotation asks for a file, a dataclass for the rules of a ``{"type": "rule"}``, anything else for a value. A class that
needs more than pydantic's reading of its fields has a ``from_json(value, place)``. A single option by the name of
``options`` is a dataclass with all of them.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.guest import Files, Guest
from rlanything_verifiers.osworld.libraries import needs

__all__ = [
    "GETTERS",
    "METRICS",
    "UPSTREAM",
    "Context",
    "Getter",
    "Metric",
    "Slot",
    "getter",
    "metric",
    "score_of",
    "upstream_reading",
]


@dataclass(frozen=True)
class Slot:
    """One parameter of a metric or getter, with the values that it accepts.

    Attributes:
        name: of the parameter.
        annotation: its type, resolved.
        required: whether it has no default.
    """

    name: str
    annotation: Any
    required: bool

    @property
    def file(self) -> bool:
        """Whether it takes files; otherwise it takes data."""
        return _mentions_file(self.annotation)

    @property
    def nullable(self) -> bool:
        """Whether it takes None."""
        return self.annotation is Any or type(None) in typing.get_args(self.annotation)

    def suits(self, given: frozenset[Any]) -> bool:
        """Whether some value of these types may fit."""
        if self.file or File in given:
            return self.file and bool(given & _parts(self.annotation))
        parts = {dict if dataclasses.is_dataclass(part) else part for part in _parts(self.annotation)}
        return Any in given or Any in parts or bool(given & parts)

    def read(self, value: Any, place: str) -> Any:
        """The value in the type of the slot.

        Raises:
            EvaluatorError: it does not fit.
        """
        if self.file:
            if _is_files(value, many=list in _parts(self.annotation), one=File in _parts(self.annotation)):
                return value
            raise EvaluatorError(f"{place}: {type(value).__name__} where a file is needed")
        if hasattr(self.annotation, "from_json"):
            return self.annotation.from_json(value, place)
        from pydantic import ValidationError

        try:
            return _adapter(self.annotation).validate_python(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            raise EvaluatorError(f"{place}{where}: {first['msg']}, got {first['input']!r:.80}") from error


@lru_cache(maxsize=1024)
def _adapter(annotation: Any) -> Any:
    """Validator of a type, cached since it is costly to make."""
    from pydantic import TypeAdapter

    return TypeAdapter(annotation)


@dataclass(frozen=True)
class Metric:
    """A function that scores a state of the desktop, in [0, 1]."""

    name: str
    function: Callable[..., float]

    def __call__(self, *arguments: Any, **options: Any) -> float:
        """Score values that fit the slots."""
        return self.function(*arguments, **options)

    @property
    def needs(self) -> tuple[str, ...]:
        """Modules and programs that it may use."""
        return needs(self.function)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Positional parameters: the result and, where there is one, the expected value."""
        return tuple(_slots(self.function)[0])

    @cached_property
    def options(self) -> Mapping[str, Slot]:
        """Keyword parameters."""
        return {slot.name: slot for slot in _slots(self.function)[1]}


def score_of(report: object) -> float:
    """A score that another process reported: 0 for what is no number in [0, 1]; an agent's program may have said it."""
    number = isinstance(report, int | float) and not isinstance(report, bool)
    return float(report) if number and 0 <= report <= 1 else 0.0  # type: ignore[operator, arg-type]


class _Asked:
    """Passes questions on to a desktop, or to the files of a task, and keeps what they raised.

    An error that they raise is for whoever made them. Every other one comes of what they answered.
    """

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.count = 0
        self.raised: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        question = getattr(self._inner, name)

        def ask(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            try:
                return question(*arguments, **options)
            except Exception as error:
                self.raised = error
                raise

        return ask


class Context:
    """One evaluation: the desktop, the files of the task, and the files fetched so far by the name they were given."""

    def __init__(self, guest: Guest, files: Files) -> None:
        self._desktop, self._store = _Asked(guest), _Asked(files)
        self.guest: Guest = self._desktop
        self.files: Files = self._store
        self.fetched: dict[str, File] = {}

    @property
    def questions(self) -> int:
        """How often the desktop was asked for something."""
        return self._desktop.count

    def raised(self, error: Exception) -> bool:
        """Whether the desktop, or the store of the task's files, raised an error itself."""
        return error is self._desktop.raised or error is self._store.raised


@dataclass(frozen=True)
class Getter:
    """A function that finds something out: on the desktop, in the evaluator, or among the files of the task."""

    name: str
    function: Callable[[Context, Any], Any]

    def __call__(self, context: Context, config: Any) -> Any:
        """Get the value that the settings describe."""
        return self.function(context, config)

    @property
    def needs(self) -> tuple[str, ...]:
        """Modules and programs that it may use."""
        return needs(self.function)

    @cached_property
    def config(self) -> Slot:
        """JSON form of its part of an evaluator."""
        return _slots(self.function)[0][1]

    @cached_property
    def gives(self) -> frozenset[Any]:
        """Types of its results, except None."""
        return frozenset(_parts(typing.get_type_hints(self.function)["return"]) - {type(None)})


METRICS: dict[str, Metric] = {}
"""The functions an evaluator can name."""

UPSTREAM: dict[str, Metric] = {}
"""OSWorld's reading of metrics of which ours differs on purpose."""

GETTERS: dict[str, Getter] = {}
"""The ways an evaluator can name to find something out."""


def metric(function: Callable[..., float]) -> Metric:
    """Put a function into `METRICS` under its own name."""
    made = METRICS[function.__name__] = Metric(function.__name__, function)
    return made


def upstream_reading(function: Callable[..., float]) -> Callable[..., float]:
    """Put a function into `UPSTREAM` under its own name. It has the parameters of the metric of that name."""
    UPSTREAM[function.__name__] = Metric(function.__name__, function)
    return function


def getter(function: Callable[[Context, Any], Any]) -> Getter:
    """Put a function into `GETTERS` under its own name."""
    made = GETTERS[function.__name__] = Getter(function.__name__, function)
    return made


def _slots(function: Callable[..., Any]) -> tuple[list[Slot], list[Slot]]:
    hints = typing.get_type_hints(function, include_extras=True)
    places: tuple[list[Slot], list[Slot]] = ([], [])
    for name, parameter in inspect.signature(function).parameters.items():
        required = parameter.default is parameter.empty
        places[parameter.kind is parameter.KEYWORD_ONLY].append(Slot(name, hints[name], required))
    return places


def _parts(annotation: Any) -> set[Any]:
    """The types of a union, or the type itself; a list of anything is `list`."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return {typing.get_origin(part) or part for part in (typing.get_args(annotation) if union else (annotation,))}


def _mentions_file(annotation: Any) -> bool:
    return annotation is File or any(_mentions_file(part) for part in typing.get_args(annotation))


def _is_files(value: Any, many: bool, one: bool) -> bool:
    if isinstance(value, list):
        return many and all(isinstance(item, File) for item in value)
    return one and isinstance(value, File)
