"""Rewrites: another evaluator of the same state, more or fewer hints, other words, another start.

A proposal has the parts ``instruction`` and ``start``. The instruction is what the published rewriter writes, which may
also come alone: an object with just one key, the name of an evaluator of the task, and as its value the new text. The
start is that of `Start`. Evaluators stay what they are: none is ever invented.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rlanything_task_pools.domain import LEFT_OUT, some_of
from rlanything_task_pools.osworld.difficulty import difficulty, steps_of
from rlanything_task_pools.osworld.generate import told
from rlanything_task_pools.osworld.meaning import likeness, lost
from rlanything_task_pools.osworld.payload import Payload, make_task, read_payload
from rlanything_task_pools.osworld.proof import flaw
from rlanything_task_pools.osworld.start import Origin, Start, read_start, start_of
from rlanything_task_pools.task import Direction, Refused, Rejection, Rewrite, Task, TaskFormatError
from rlanything_verifiers.osworld import EvaluatorError

__all__ = ["OPERATORS", "proposal_schema", "propose", "validate"]

OPERATORS = ("evaluator", "hints", "words", "start")
"""``evaluator``: another one decides. ``hints``: known hints are added or left out. ``words``: an instruction in words
that no template has, by a language model. ``start``: windows, finished parts and copies of files at the start, by a
language model."""

MAX_WORDS = 4_000
MAX_VALUE = 80
"""Maximum characters of a strange value that are quoted."""


def propose(
    task: Task, direction: Direction, rng: np.random.Generator, operators: Sequence[str] = OPERATORS
) -> list[dict[str, str]]:
    """Evaluators that take more or fewer steps, the nearest first, and one hint less or more; which is first is drawn.

    An evaluator whose steps are as many as those of the current one is proposed last.
    """
    payload = read_payload(task.payload)
    given = _given(payload)
    sign = 1 if direction == "harder" else -1
    here = steps_of(payload, payload.current)
    switches: list[dict[str, str]] = []
    if "evaluator" in operators:
        away = {name: sign * (steps_of(payload, name) - here) for name in payload.evaluators if name != payload.current}
        if payload.steps:
            away = {name: far for name, far in away.items() if far > 0}
        nearest = sorted(away, key=lambda name: (away[name] <= 0, abs(away[name]), name))
        count = len(given)
        switches = [{name: told(payload.instructions[name], payload.hints.get(name, ())[:count])} for name in nearest]
    hints: list[dict[str, str]] = []
    if "hints" in operators:
        known = payload.hints.get(payload.current, ())
        count = len(given) - sign
        if 0 <= count <= len(known) and (given or direction == "easier"):
            hints.append({payload.current: told(payload.instructions[payload.current], known[:count])})
    queues = [switches, hints] if rng.random() < 0.5 else [hints, switches]
    turns = [queue[i] for i in range(len(switches) + 1) for queue in queues if i < len(queue)]
    return [proposal for proposal in turns if _goes(payload, proposal, direction)]


def proposal_schema(task: Task, operators: Sequence[str] = OPERATORS) -> dict[str, Any]:
    """JSON schema of the proposals that `validate` reads for a task.

    Without another start it is that of the published proposals.
    """
    payload = read_payload(task.payload)
    instruction = {
        "type": "object",
        "properties": _properties(payload, operators),
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }
    start = _start_schema(task, payload, operators) if "start" in operators else {}
    if not start:
        return instruction
    parts = {"instruction": instruction} if instruction["properties"] else {}
    return some_of(parts | {"start": some_of(start)}, LEFT_OUT)


def _start_schema(task: Task, payload: Payload, operators: Sequence[str]) -> dict[str, Any]:
    """The parts of a start that can change, for any evaluator that a proposal may name."""
    if flaw(task) is not None:
        return {}
    names = payload.evaluators if "evaluator" in operators else [payload.current]
    origins = [Origin.of(payload.model_copy(update={"current": name})) for name in names]
    origin, done = origins[0], dict.fromkeys(path for one in origins for path in one.several_parts())
    parts = {
        "closed": (origin.windows(), "what the agent has to open itself; [] opens all"),
        "done": (done, "files of the evaluator's work that are finished at the start"),
        "copies": (origin.copied(), "files that lie on the Desktop once more, under another name"),
    }
    return {
        name: {"type": "array", "items": {"enum": list(names)}, "maxItems": len(names), "description": said}
        for name, (names, said) in parts.items()
        if names
    }


def _properties(payload: Payload, operators: Sequence[str]) -> dict[str, Any]:
    names = list(payload.evaluators) if "evaluator" in operators else [payload.current]
    free = {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_WORDS,
        "description": "one of these in other words, with every name and number of it",
    }
    properties: dict[str, Any] = {}
    for name in names:
        known = payload.hints.get(name, ()) if {"hints", "words"} & set(operators) else ()
        texts = [told(payload.instructions[name], known[:count]) for count in range(len(known) + 1)]
        kept = [text for text in texts if (name, text.split()) != (payload.current, payload.instruction.split())]
        options = [{"enum": kept}] * bool(kept) + [free] * ("words" in operators)
        if options:
            properties[name] = {"anyOf": options}
    return properties


def validate(
    task: Task,
    proposal: Mapping[str, Any],
    *,
    direction: Direction,
    author: str,
    critique: str = "",
    operators: Sequence[str] = OPERATORS,
) -> Task | Rejection:
    """A proposal as a task, or the reason why it is none.

    Reasons of rejection: ``malformed``, ``bad_parent``, ``unknown_evaluator``, ``operator_off``, ``unchanged``,
    ``meaning_lost`` (the instruction leaves out what the plain one of that evaluator names, or is more like another),
    and those of `Origin.started`. The direction is stored and not checked.
    """
    try:
        parent = read_payload(task.payload)
    except (TaskFormatError, EvaluatorError) as error:
        return Rejection(reason="bad_parent", detail=str(error)[:400])
    if (wrong := flaw(task)) is not None:
        return Rejection(reason="bad_parent", detail=wrong[:400])
    try:
        name, text, start = _read(parent, proposal)
        same = name == parent.current and text.split() == parent.instruction.split()
        if not same:
            _allow(parent, name, text, operators)
        if start is not None and "start" not in operators:
            raise Refused("operator_off", "another start is asked for, and this kind of rewrite is not enabled")
        payload = parent.model_copy(update={"current": name, "instruction": parent.instruction if same else text})
        payload = _restart(payload, start)
        if same and payload.source == parent.source:
            raise Refused("unchanged", "evaluator, instruction and start are those of the task")
        read_payload(payload.to_dict())
    except Refused as refused:
        return refused.rejection
    except TaskFormatError as error:
        return Rejection(reason="malformed", detail=str(error)[:400])
    record: dict[str, Any] = {"evaluator": name, "from": parent.current, "instruction": payload.instruction}
    if payload.source != parent.source:
        record["start"] = start_of(payload).model_dump(exclude_none=True)
    return make_task(
        payload,
        _keys(payload),
        {**task.traits, **difficulty(payload)},
        parent=task.id,
        root=task.root or task.id,
        rewrite=Rewrite(direction=direction, author=author, change=record, critique=critique),
    )


def _read(parent: Payload, proposal: object) -> tuple[str, str, Start | None]:
    """The evaluator, its instruction and the start that a proposal asks for; what it leaves out is the task's."""
    known, start = ", ".join(parent.evaluators), None
    if isinstance(proposal, Mapping) and proposal and not any(isinstance(value, str) for value in proposal.values()):
        parts = {key: value for key, value in proposal.items() if value is not None}
        if stray := [key for key in parts if key not in ("instruction", "start")]:
            strange = f"{stray[0]!r:.{MAX_VALUE}}"
            raise Refused("malformed", f"{strange}: give instruction and start, or one of {known} with a text")
        start = read_start(parts["start"]) if "start" in parts else None
        proposal = parts.get("instruction", {parent.current: parent.instruction})
    if not isinstance(proposal, Mapping) or len(proposal) != 1:
        raise Refused("malformed", f"expected an object with just one key, one of {known}")
    name, text = next(iter(proposal.items()))
    if name not in parent.evaluators:
        raise Refused("unknown_evaluator", f"{name!r:.{MAX_VALUE}} is none of {known}; evaluators are not invented")
    if not isinstance(text, str) or not text.strip():
        raise Refused("malformed", f"{name}: expected the instruction as a text, got {type(text).__name__}")
    text = text.strip()
    if len(text) > MAX_WORDS or (
        not text.isprintable() and not text.replace("\n", " ").replace("\t", " ").isprintable()
    ):
        raise Refused("malformed", f"{name}: an instruction has at most {MAX_WORDS} printable characters")
    return name, text, start


def _restart(payload: Payload, start: Start | None) -> Payload:
    """The task at another start, or at its own one; what another evaluator does not ask for is not done then."""
    origin, now = Origin.of(payload), start_of(payload)
    parts = origin.parts()
    kept = Start(closed=now.closed, copies=now.copies, done=tuple(path for path in now.done or () if path in parts))
    return origin.started(payload, kept if start is None else start.over(kept))


def _allow(parent: Payload, name: str, text: str, operators: Sequence[str]) -> None:
    if name != parent.current and "evaluator" not in operators:
        raise Refused("operator_off", "another evaluator is asked for, and this kind of rewrite is not enabled")
    plain, known = parent.instructions[name], parent.hints.get(name, ())
    templates = [told(plain, known[:count]).split() for count in range(len(known) + 1)]
    listed = text.split() in templates
    if not listed and "words" not in operators:
        raise Refused("operator_off", "the instruction is not a plain one with known hints, and no other is enabled")
    hinted = len(text.split()) != len(plain.split())
    if name == parent.current and not {"hints", "words"} & set(operators):
        raise Refused("operator_off", "the instruction changes, and this kind of rewrite is not enabled")
    if hinted and listed and not {"hints", "words"} & set(operators) and not _given(parent):
        raise Refused("operator_off", "hints are given, and this kind of rewrite is not enabled")
    if listed:  # a long hint may have more words of another instruction
        return
    if missing := lost(plain, text):
        raise Refused("meaning_lost", f"{name}: {missing}")
    nearest = max(parent.instructions, key=lambda other: likeness(parent.instructions[other], text))
    if likeness(parent.instructions[nearest], text) > likeness(plain, text):
        raise Refused("meaning_lost", f"{name}: the instruction asks rather for what {nearest} checks")


def _goes(parent: Payload, proposal: Mapping[str, str], direction: Direction) -> bool:
    """Whether a scripted proposal goes in a direction by the difficulty of generated tasks."""
    ((name, text),) = proposal.items()
    if not parent.steps and parent.current != name:
        return True  # the order of an imported task's evaluators is unknown; rollouts decide
    payload = parent.model_copy(update={"current": name, "instruction": text})
    before, after = (float(difficulty(each)["difficulty"]) for each in (parent, payload))
    return before != after and (after > before) == (direction == "harder")


def _given(payload: Payload) -> tuple[str, ...]:
    """The known hints that the instruction gives, the first ones in order."""
    known = payload.hints.get(payload.current, ())
    return tuple(hint for hint in known if hint in payload.instruction)


def _keys(payload: Payload) -> tuple[str, ...]:
    level = Origin.of(payload).level
    return () if level is None or "start" in payload.source else tuple(level.keys)
