"""Difficulty score of a desktop task.

``difficulty = steps * 0.9 ** (extra / 10)``, where *steps* is how many things a person does for the evaluator (choose a
file, type a text, save; one more for each window that is closed at the start, one less for each file that is done) and
*extra* is by how many words the instruction is longer than the plain one: hints. At ten
words a hint takes a tenth off; no text takes off more than half. The weights are a convention, not a measurement of an
agent: acceptance by rollouts has the last word.
"""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.osworld.payload import Payload

__all__ = ["difficulty", "steps_of"]

WORTH = 0.9
WORDS = 10
LEAST = 0.5


def difficulty(payload: Payload) -> dict[str, str | int | float]:
    """The traits ``difficulty``, ``steps``, ``evaluator`` (its name) and ``hints`` (how many are given) of a task."""
    plain, current = payload.instructions[payload.current], payload.current
    extra = max(0, len(payload.instruction.split()) - len(plain.split()))
    start = payload.source.get("start")
    changes = [start.get(part) if isinstance(start, Mapping) else None for part in ("closed", "done")]
    closed, done = (len(names) if isinstance(names, list) else 0 for names in changes)
    steps = max(1.0, steps_of(payload, current) + closed - done)
    return {
        "difficulty": round(steps * max(LEAST, WORTH ** (extra / WORDS)), 3),
        "steps": steps,
        "evaluator": current,
        "hints": sum(hint in payload.instruction for hint in payload.hints.get(current, ())),
    }


def steps_of(payload: Payload, name: str) -> float:
    """Steps of an evaluator; where they are not known, three for each thing that it checks."""
    return payload.steps.get(name) or 3.0 * _checks(payload.evaluators[name])


def _checks(evaluator: Mapping[str, Any]) -> int:
    functions, options = evaluator.get("func"), evaluator.get("options")
    listed = options if isinstance(options, list) else [options]
    rules = [option.get("rules") for option in listed if isinstance(option, Mapping)]
    more = sum(len(rule) - 1 for rule in rules if isinstance(rule, list) and rule)
    return (len(functions) if isinstance(functions, list) else 1) + more
