"""Evaluators: JSON that names a state of the desktop, its expected value, and the metric that compares them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rlanything_verifiers.osworld.errors import EvaluatorError, MissingRequirement, Unreadable, VerifierError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.getters import GETTERS
from rlanything_verifiers.osworld.guest import Files, Guest
from rlanything_verifiers.osworld.libraries import ask_for
from rlanything_verifiers.osworld.metrics import METRICS, UPSTREAM
from rlanything_verifiers.osworld.registry import Context, Getter, Metric, Slot

__all__ = ["Strict", "check_evaluator", "check_libraries", "evaluate", "evaluator_urls"]

INFEASIBLE = "infeasible"
"""The function of the tasks that cannot be done; giving up is the right answer to these alone."""

Strict = Literal["own", "upstream"]
"""Whose reading of a metric counts, where two differ on purpose."""


@dataclass(frozen=True)
class _Source:
    """One value of a check: where it comes from and the slot it goes into."""

    getter: Getter
    config: Any
    slot: Slot
    place: str
    rules: bool

    def value(self, context: Context) -> Any:
        return self.config if self.rules else self.getter(context, self.config)


@dataclass(frozen=True)
class _Check:
    metric: Metric
    sources: tuple[_Source, ...]
    options: Mapping[str, Any]

    def ask_for_libraries(self) -> None:
        """Make sure that everything is installed that it needs for whatever an agent may have left.

        Raises:
            MissingRequirement: it is not.
        """
        for name in (*self.metric.needs, *(each for source in self.sources for each in source.getter.needs)):
            ask_for(name)

    def score(self, context: Context, strict: Strict) -> float:
        """Score in [0, 1]; 0 where the agent's result is missing or cannot be read, or makes the check fail."""
        values: list[tuple[Any, bool]] = []
        for source in self.sources:
            before = context.questions
            try:
                value = source.value(context)
                theirs = context.questions > before or _from_desktop(value)
                if not source.rules:
                    if not source.slot.nullable and _missing(value, source.slot):
                        return 0.0
                    value = source.slot.read(value, source.place)
            except Unreadable:
                return 0.0
            except Exception as error:
                if context.raised(error) or isinstance(error, MissingRequirement):
                    raise
                if context.questions > before:
                    return 0.0  # the desktop is in a state in which the question makes no sense
                raise
            values.append((value, theirs))
        upstream = UPSTREAM.get(self.metric.name) if strict == "upstream" else None
        return self._measured(values, upstream or self.metric)

    def _measured(self, values: list[tuple[Any, bool]], metric: Metric) -> float:
        try:
            return _unit(metric(*(value for value, _ in values), **self.options))
        except Unreadable:
            return 0.0
        except MissingRequirement:
            raise
        except Exception as error:
            if isinstance(error, EvaluatorError) and not any(theirs for _, theirs in values[1:]):
                raise  # what was expected makes no sense, and it is the task's own
            failure = error
        try:  # the control: the same without anything of the agent
            models = [value for value, theirs in values if not theirs]
            metric(*(_instead(value, models) if theirs else value for value, theirs in values), **self.options)
        except Unreadable:
            return 0.0
        except Exception as error:
            if isinstance(error, EvaluatorError | VerifierError):
                raise
            said = f"{type(failure).__name__}: {failure}"[:200]
            raise VerifierError(f"{self.metric.name} failed on what it was given: {said}") from failure
        return 0.0


def _unit(score: float) -> float:
    return min(1.0, max(0.0, float(score))) if math.isfinite(score) else 0.0


def _from_desktop(value: Any) -> bool:
    """Whether a value holds a file of the desktop, which may have been fetched earlier."""
    files = value if isinstance(value, list) else [value]
    return any(isinstance(file, File) and not file.reference for file in files)


def _instead(value: Any, models: list[Any]) -> Any:
    """What stands in the place of an agent's value in a control: the task's own of that type, else an empty one."""
    for model in models:
        if type(model) is type(value):
            return model
    if isinstance(value, File):
        return File(value.name, b"")
    return type(value)() if isinstance(value, str | dict | list) else None


def _missing(value: Any, slot: Slot) -> bool:
    """Whether there is no answer. Of data an empty list is one: no cookie, page, tab or experiment is left."""
    return value is None or (isinstance(value, list) and (None in value or (slot.file and not value)))


def evaluate(
    evaluator: Mapping[str, Any], guest: Guest, *, last_action: str | None, files: Files, strict: Strict = "own"
) -> float:
    """Score the state of a desktop.

    The set-up steps under ``postconfig`` are not run here.

    Args:
        evaluator: the JSON object, in OSWorld's form.
        guest: the desktop.
        last_action: the last thing the agent did; ``"FAIL"`` means that it calls the task infeasible.
        files: source of the evaluator's URLs.
        strict: whose reading of a metric counts where ours differs from OSWorld's on purpose: ``"own"`` or
            ``"upstream"``, which is lenient where OSWorld's function passes over a difference.

    Returns:
        A score in [0, 1]. A file of the agent that is missing, malformed or beyond the limits scores 0, and so does one
        with which a function fails that does not fail without it.

    Raises:
        EvaluatorError: the evaluator cannot be carried out as written.
        VerifierError: a library is missing (asked before anything of the desktop is read), a file of the task cannot be
            read, or a function fails without anything of the agent, too: there is no score.
        Exception: whatever `guest` and `files` raise passes through.
    """
    if strict not in ("own", "upstream"):
        raise ValueError(f'strict is {strict!r:.40}; expected "own" or "upstream"')
    checks, conjunction = _parse(evaluator)
    if not checks:
        return float(METRICS[INFEASIBLE](last_action))
    if last_action == "FAIL":
        return 0.0
    for check in checks:
        check.ask_for_libraries()
    context = Context(guest, files)
    decided, scores = (0.0, []) if conjunction == "and" else (1.0, [])
    for check in checks:
        if (score := check.score(context, strict)) == decided:
            return decided
        scores.append(score)
    return sum(scores) / len(scores) if conjunction == "and" else max(scores)


def check_libraries(evaluator: Mapping[str, Any]) -> None:
    """Make sure that everything is installed here that an evaluator needs, before its task is played.

    Raises:
        MissingRequirement: it is not; the message says how to install it.
        EvaluatorError: as `check_evaluator`.
    """
    for check in _parse(evaluator)[0]:
        check.ask_for_libraries()


def check_evaluator(evaluator: Mapping[str, Any]) -> None:
    """Validate an evaluator before its task is played.

    Raises:
        EvaluatorError: a name that is not there; the message lists those that are.
        EvaluatorError: anything else; the message names the place in the JSON.
    """
    _parse(evaluator)


def evaluator_urls(evaluator: Mapping[str, Any]) -> list[str]:
    """The URLs of all files that an evaluator needs, those of its ``postconfig`` steps included, each once."""
    found: dict[str, None] = {}
    for name in ("result", "expected"):
        for part in _listed(evaluator.get(name)):
            if isinstance(part, Mapping) and part.get("type") == "cloud_file":
                found.update((path, None) for path in _listed(part.get("path")) if isinstance(path, str))
    for step in _listed(evaluator.get("postconfig")):
        if isinstance(step, Mapping) and step.get("type") == "download":
            parameters = step.get("parameters")
            for file in _listed(parameters.get("files") if isinstance(parameters, Mapping) else None):
                if isinstance(file, Mapping) and isinstance(file.get("url"), str):
                    found[file["url"]] = None
    return list(found)


def _parse(evaluator: Mapping[str, Any]) -> tuple[list[_Check], str]:
    """The checks in order, and how they are joined; no checks where the task is infeasible."""
    if not isinstance(evaluator, Mapping):
        raise EvaluatorError(f"evaluator: a JSON object is needed, got {type(evaluator).__name__}")
    if (names := evaluator.get("func")) == INFEASIBLE:
        return [], "and"
    if (conjunction := evaluator.get("conj", "and")) not in ("and", "or"):
        raise EvaluatorError(f'evaluator.conj: "and" or "or" is needed, got {conjunction!r:.80}')
    if isinstance(names, str):
        return [_check(evaluator, names, "", evaluator.get)], conjunction
    if not isinstance(names, list) or not names:
        raise EvaluatorError(f"evaluator.func: a name or a list of names is needed, got {names!r:.80}")
    return list(_checks(evaluator, names)), conjunction


def _checks(evaluator: Mapping[str, Any], names: list[Any]) -> Iterator[_Check]:
    columns: dict[str, list[Any]] = {}
    for column in ("result", "expected", "options"):
        values = evaluator.get(column) or [None] * len(names)
        if not isinstance(values, list) or len(values) != len(names):
            raise EvaluatorError(f"evaluator.{column}: a list of {len(names)} is needed, one for each function")
        columns[column] = values
    for number, name in enumerate(names):
        row = {column: values[number] for column, values in columns.items()}
        yield _check(evaluator, name, f"[{number}]", row.get)


def _check(evaluator: Mapping[str, Any], name: Any, index: str, part: Callable[[str], Any]) -> _Check:
    metric = METRICS.get(name) if isinstance(name, str) and name != INFEASIBLE else None
    if metric is None:
        raise _unknown("function", name, f"evaluator.func{index}", METRICS)
    sources = []
    for slot, column in zip(metric.slots, ("result", "expected"), strict=False):
        place = f"evaluator.{column}{index}"
        if part(column):
            sources.append(_source(part(column), slot, place, metric))
        elif slot.required:
            raise EvaluatorError(f"{place}: {name} needs it")
        else:
            break
    if len(metric.slots) < 2 and part("expected"):
        raise EvaluatorError(f"evaluator.expected{index}: {name} compares with nothing; leave it out")
    return _Check(metric, tuple(sources), _options(part("options") or {}, metric, f"evaluator.options{index}"))


def _unknown(what: str, name: object, place: str, known: Collection[str]) -> EvaluatorError:
    names = ", ".join(sorted(known))
    return EvaluatorError(f"{place}: there is no {what} {name!r:.80}; use one of the {len(known)}: {names}")


def _source(config: Any, slot: Slot, place: str, metric: Metric) -> _Source:
    if not isinstance(config, Mapping):
        raise EvaluatorError(f'{place}: an object with a "type" is needed, got {config!r:.80}')
    kind = config.get("type")
    getter = GETTERS.get(kind) if isinstance(kind, str) else None
    if getter is None:
        raise _unknown("getter", kind, f"{place}.type", GETTERS)
    if not slot.suits(getter.gives):
        wanted = "a file" if slot.file else "data" if File in getter.gives else str(slot.annotation)
        raise EvaluatorError(f"{place}: {metric.name} needs {wanted}, which {kind!r} does not give")
    read = getter.config.read(dict(config), place)
    if kind != "rule":
        return _Source(getter, read, slot, place, False)
    return _Source(getter, slot.read(read.rules, f"{place}.rules"), slot, place, True)


def _options(options: Any, metric: Metric, place: str) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise EvaluatorError(f"{place}: a JSON object is needed, got {options!r:.80}")
    given = {name: value for name, value in options.items() if not str(name).startswith("_")}
    whole = metric.options.get("options")
    names = [part.name for part in dataclasses.fields(whole.annotation)] if whole else list(metric.options)
    if unknown := sorted(set(given) - set(names)):
        known = ", ".join(names) or "none"
        raise EvaluatorError(f"{place}.{unknown[0]}: {metric.name} has no such option; it has: {known}")
    if whole:
        return {"options": whole.read(given, place)}
    for name, slot in metric.options.items():
        if slot.required and name not in given:
            raise EvaluatorError(f"{place}.{name}: {metric.name} needs it")
    return {name: metric.options[name].read(value, f"{place}.{name}") for name, value in given.items()}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
