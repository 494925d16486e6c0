"""Description of a desktop task for the prompt of a rewriter."""

from rlanything_task_pools.osworld.difficulty import steps_of
from rlanything_task_pools.osworld.payload import Payload, file_of, read_payload
from rlanything_task_pools.task import Task

__all__ = ["describe"]

MAX_FILE = 600
MAX_FILES = 12


def describe(task: Task) -> str:
    """The agent's instruction, the state of the desktop, and every evaluator with its plain instruction and hints.

    Raises:
        TaskFormatError: The task is not a desktop task.
        EvaluatorError: An evaluator is malformed.
    """
    payload = read_payload(task.payload)
    known = payload.hints.get(payload.current, ())
    parts = [
        f"Instruction (evaluator {payload.current}):\n{payload.instruction.strip()}",
        f"Programs: {', '.join(payload.related_apps) or 'unknown'}",
        "The desktop at the start:\n" + "\n".join(_state(payload)),
        "Evaluators of this state, each with its plain instruction:\n" + "\n".join(_evaluators(payload)),
    ]
    if known:
        parts.append("Hints known for the current evaluator:\n" + "\n".join(f"- {hint}" for hint in known))
    parts.append(
        "A rewrite names just one of these evaluators and gives its instruction. The instruction may be worded anew "
        "and may have more or fewer hints, but it keeps the essential meaning of the plain one, with every name and "
        "number. At the start programs may be closed, parts of the work done, and copies of files on the Desktop."
    )
    return "\n\n".join(parts)


def _evaluators(payload: Payload) -> list[str]:
    known = bool(payload.steps)
    return [
        f"- {name}{f' (about {steps_of(payload, name):g} steps)' if known else ''}: {payload.instructions[name]}"
        for name in payload.evaluators
    ]


def _state(payload: Payload) -> list[str]:
    lines = []
    for step in payload.config:
        if step.type == "write_file":
            path, data = file_of(step.parameters)
            lines.append(f"- file {path}: {_content(data)}")
        else:
            lines.append(f"- {step.type}: {_cut(str(step.parameters), 200)}")
    hidden = len(lines) - MAX_FILES
    return lines[:MAX_FILES] + ([f"- and {hidden} more steps"] if hidden > 0 else []) or ["- nothing is set up"]


def _content(data: bytes) -> str:
    try:
        return "\n  " + _cut(data.decode(), MAX_FILE).rstrip().replace("\n", "\n  ")
    except UnicodeDecodeError:
        return f"{len(data)} bytes"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + " [...]"
