"""Description of a coding task for the prompt of a rewriter."""

from rlanything_task_pools.coding.payload import Payload, read_payload
from rlanything_task_pools.coding.rewrite import movable, root_statement
from rlanything_task_pools.task import Task

__all__ = ["describe"]

MAX_PROGRAM = 4_000
MAX_EXAMPLE = 600


def describe(task: Task) -> str:
    """The statement (and that of the root, if another), examples, knobs, and a correct program.

    Raises:
        TaskFormatError: The task is not a coding task.
    """
    payload = read_payload(task.payload)
    root, parts = root_statement(task), []
    if root.split() != payload.statement.split():
        parts.append(f"Root problem, which every rewrite should stay near:\n{root.strip()}")
    parts.append(f"{'Current problem' if parts else 'Problem'}:\n{payload.statement.strip()}")
    if payload.entry_point is not None:
        tests = "stdin is the JSON list of its arguments and stdout the JSON of its result"
        if payload.checker.get("kind") == "asserts":
            tests = f"stdin holds Python asserts about it and stdout is empty; or {tests}"
        parts.append(f"The solver writes the function {payload.entry_point}. In a test, {tests}.")
    for number, test in enumerate(payload.public[:3], 1):
        parts.append(f"Example {number}\ninput:\n{_cut(test.stdin)}\noutput:\n{_cut(test.stdout)}")
    parts.append(_tests(payload))
    if (found := movable(task)) is not None:
        family, levels = found
        lines = [
            f"- {knob.name}: {levels[knob.name]!r} of {', '.join(map(repr, knob.levels))}" for knob in family.knobs
        ]
        parts.append("Knobs, each with its levels from easy to hard:\n" + "\n".join(lines))
    if task.proof and len(task.proof[0]) <= MAX_PROGRAM:
        parts.append(f"A correct program:\n{task.proof[0].strip()}")
    return "\n\n".join(parts)


def _tests(payload: Payload) -> str:
    longest = max(len(test.stdin) for test in payload.hidden)
    return (
        f"{len(payload.public)} public and {len(payload.hidden)} hidden tests (inputs of up to {longest} characters); "
        f"{payload.limits.cpu:g} s of processor time a test; outputs are compared as {payload.checker.get('kind')}."
    )


def _cut(text: str) -> str:
    text = text.rstrip("\n")
    return text if len(text) <= MAX_EXAMPLE else text[:MAX_EXAMPLE] + " [...]"
