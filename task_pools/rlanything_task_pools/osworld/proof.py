"""Verification of desktop tasks: a generated one is made again with its oracles and compared."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.knobs import SPLITS, KnobError
from rlanything_task_pools.osworld.generate import draw_state, levels
from rlanything_task_pools.osworld.kinds import KINDS
from rlanything_task_pools.osworld.meaning import lost
from rlanything_task_pools.osworld.payload import Payload, read_payload
from rlanything_task_pools.osworld.start import Origin, start_of
from rlanything_task_pools.task import Refused, Task, TaskFormatError
from rlanything_verifiers.osworld import EvaluatorError

__all__ = ["flaw", "keys"]


def flaw(task: Task) -> str | None:
    """The fault of a task of unknown origin, in a sentence; else None.

    A generated task is drawn again from its seed, its oracles pass the gate, state and evaluators must be the same, and
    another start is proved. Of any other task only the form can be checked: there is no oracle.
    """
    if task.domain != "osworld":
        return f"it is a task of the domain {task.domain!r:.80}, not of 'osworld'"
    try:
        payload = read_payload(task.payload)
    except (TaskFormatError, EvaluatorError) as error:
        return str(error)
    if task.goal != payload.instruction:
        return "the goal is not the instruction of the payload"
    if "kind" not in payload.source:
        return _restarted(payload) if "start" in payload.source else None
    return _remade(payload, payload.source)


def keys(task: Task, name: str | None = None) -> list[str]:
    """PyAutoGUI lines that reach the goal of an evaluator on a real desktop by keyboard and mouse alone.

    Args:
        task: A generated task.
        name: An evaluator of the task; that which decides by default.

    Returns:
        One line for each action; nothing where no such lines are known, as for another start than the seed's.

    Raises:
        TaskFormatError: The task is not a desktop task, or has no such evaluator.
    """
    payload = read_payload(task.payload)
    wanted = payload.current if name is None else name
    if wanted not in payload.evaluators:
        raise TaskFormatError(f"{wanted!r:.80} is none of the evaluators {', '.join(payload.evaluators)}")
    if _remade(payload, payload.source) is not None or "start" in payload.source:
        return []
    state, _ = draw_state(payload.source["kind"], payload.source["split"], payload.source["seed"])
    return list(dict(zip(payload.evaluators, state.levels, strict=True))[wanted].keys)


def _remade(payload: Payload, source: Mapping[str, Any]) -> str | None:
    kind, split, seed = (source.get(name) for name in ("kind", "split", "seed"))
    known = isinstance(kind, str) and kind in KINDS and split in SPLITS
    if not known or not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        return f"the source {dict(source)!r:.200} is not that of a generated task"
    try:
        state, draw = draw_state(str(kind), str(split), seed)
    except KnobError as error:
        return str(error)
    if draw != source.get("draw"):
        return f"the source says draw {source.get('draw')!r:.40}, and the first sound one is {draw}"
    made = levels(str(kind), state)
    for field in ("evaluators", "instructions", "hints", "steps", "related_apps"):
        if getattr(payload, field) != getattr(made, field):
            return f"{field}: not what the seed makes"
    if (wrong := _restarted(payload)) is not None:
        return wrong
    if missing := lost(payload.instructions[payload.current], payload.instruction):
        return f"instruction: {missing}"
    return None


def _restarted(payload: Payload) -> str | None:
    """The fault of a task's start, in a sentence; else None."""
    try:
        same = Origin.of(payload).started(payload, start_of(payload))
    except Refused as refused:
        return f"start: {refused}"
    return None if same.config == payload.config else "config: not what the seed makes, or not at this start"
