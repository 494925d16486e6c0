"""Rewrites: a knob moved by a level, or a statement with tests and programs by a language model.

All proposals are untrusted. A knob is moved by drawing the problem again from the same seed; a new statement is
accepted only as far as programs prove it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rlanything_task_pools.coding.generate import draw, input_of, level_index, movable
from rlanything_task_pools.coding.payload import Example, Payload, make_task, read_payload
from rlanything_task_pools.coding.screen import screen, undecided
from rlanything_task_pools.coding.statements import STYLES
from rlanything_task_pools.frozen import freeze
from rlanything_task_pools.knobs import KnobError
from rlanything_task_pools.task import Direction, Refused, Rejection, Rewrite, Task, TaskFormatError
from rlanything_verifiers.coding import JudgeError, shared_sandbox

__all__ = ["OPERATORS", "movable", "proposal_schema", "propose", "root_statement", "validate"]

OPERATORS = ("knob", "statement")
"""``knob``: one knob of a generated task, to another level. ``statement``: everything, by a language model."""

MAX_STATEMENT = 10_000
MAX_TEXT = 64_000
"""Longest input or output of a proposed test: tests that make every program slow are a cheap attack on a judge."""
MAX_PROGRAM = 20_000
SECRET_LINE = 8
"""Fewest characters of a line of a program that a statement may not show, with another one."""
MAX_VALUE = 80
"""Most characters of a strange value that are quoted."""


class _ProposedTest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    stdin: str = Field(max_length=MAX_TEXT)
    stdout: str = Field(max_length=MAX_TEXT)


_Source = Annotated[str, Field(min_length=1, max_length=MAX_PROGRAM)]


class _Proposal(BaseModel):
    """A rewritten problem; what is null stays as in the task."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    statement: Annotated[str, Field(min_length=40, max_length=MAX_STATEMENT)] | None = None
    public: Annotated[tuple[_ProposedTest, ...], Field(min_length=1, max_length=8)] | None = None
    hidden: Annotated[tuple[_ProposedTest, ...], Field(min_length=3, max_length=32)] | None = None
    solution: _Source | None = None
    wrong_programs: Annotated[tuple[_Source, ...], Field(min_length=1, max_length=8)] | None = None


def propose(
    task: Task, direction: Direction, rng: np.random.Generator, operators: Sequence[str] = OPERATORS
) -> list[dict[str, Any]]:
    """Each knob that can move a level in a direction, in random order; nothing for a task without knobs."""
    found = movable(task)
    if found is None or "knob" not in operators:
        return []
    family, levels = found
    step = 1 if direction == "harder" else -1
    moves: list[dict[str, Any]] = []
    for knob in family.knobs:
        place = knob.levels.index(levels[knob.name]) + step
        if 0 <= place < len(knob.levels):
            moves.append({"knob": knob.name, "level": knob.levels[place]})
    return [moves[i] for i in rng.permutation(len(moves))]


def proposal_schema(task: Task, operators: Sequence[str] = OPERATORS) -> dict[str, Any]:
    """JSON schema of the proposals that `validate` reads for a task."""
    schemas = [_statement_schema()] if "statement" in operators else []
    if "knob" in operators:
        schemas = _knob_schemas(task) + schemas
    return schemas[0] if len(schemas) == 1 else {"oneOf": schemas}


def _knob_schemas(task: Task) -> list[dict[str, Any]]:
    """One for each knob that has other levels."""
    found = movable(task)
    if found is None:
        return []
    family, levels = found
    schemas = []
    for knob in family.knobs:
        now = knob.levels.index(levels[knob.name])
        offered = [level for at, level in enumerate(knob.levels) if at != now]
        if offered:
            level = {"enum": list(offered), "description": f"from easy to hard; now {levels[knob.name]}"}
            schemas.append(
                {
                    "type": "object",
                    "properties": {"knob": {"const": knob.name}, "level": level},
                    "required": ["knob", "level"],
                    "additionalProperties": False,
                }
            )
    return schemas


def validate(
    task: Task,
    proposal: Mapping[str, Any],
    *,
    direction: Direction,
    author: str,
    critique: str = "",
    operators: Sequence[str] = OPERATORS,
    allow_unsafe: bool = False,
) -> Task | Rejection:
    """A proposal as a proved task, or the reason why it is none.

    ``{"knob": ..., "level": ...}`` moves a knob; some of ``statement``, ``public``, ``hidden``, ``solution`` and
    ``wrong_programs`` make another problem, in which what is left out or null stays as it is. The direction is stored
    and not checked. Reasons of rejection: ``malformed``, ``operator_off``, ``bad_parent``,
    ``unchanged``; for a knob ``no_knobs``, ``unknown_knob``, ``no_sound_problem``; for a statement ``few_tests``,
    ``degenerate``, ``solution_shown``, ``out_of_bounds`` (it keeps the constraints, and a test breaks them),
    ``undecided`` (the problem's checker fails on an expected output), ``unsolved`` (no correct program passes all
    tests), ``undiscerning`` (no wrong program fails one).

    Raises:
        SandboxError: The programs could not be run, which says nothing of the proposal.
    """
    try:
        parent = read_payload(task.payload)
        change = freeze(proposal, "proposal") if isinstance(proposal, Mapping) else proposal
    except TaskFormatError as error:
        return Rejection(reason="bad_parent", detail=str(error)[:400])
    except (ValueError, RecursionError) as error:
        return Rejection(reason="malformed", detail=str(error)[:400])
    try:
        if not isinstance(change, Mapping) or not change:
            raise Refused("malformed", "expected a JSON object: a knob with its level, or a statement with tests")
        change = {name: value for name, value in change.items() if value is not None}
        kind = "knob" if "knob" in change else "statement"
        if kind not in operators:
            raise Refused("operator_off", f"rewrites by {kind} are not enabled")
        if kind == "knob":
            return _move(task, change, direction, author, critique, allow_unsafe)
        return _restate(task, parent, change, direction, author, critique, allow_unsafe)
    except Refused as refused:
        return refused.rejection


def root_statement(task: Task) -> str:
    """The statement a line of rewrites began with; that of the task itself if it is no rewrite."""
    kept = None if task.rewrite is None else task.rewrite.change.get("root_statement")
    return kept if isinstance(kept, str) else str(task.payload.get("statement", task.goal))


def _move(
    task: Task, change: Mapping[str, Any], direction: Direction, author: str, critique: str, allow_unsafe: bool
) -> Task:
    found = movable(task)
    if found is None:
        raise Refused("no_knobs", "this task was not generated from knobs; propose a statement")
    family, levels = found
    if set(change) != {"knob", "level"}:
        raise Refused("malformed", "a move of a knob has the two fields knob and level")
    name, level = change["knob"], change["level"]
    knob = next((knob for knob in family.knobs if knob.name == name), None)
    if knob is None:
        raise Refused("unknown_knob", f"no knob {name!r:.{MAX_VALUE}}; use {', '.join(k.name for k in family.knobs)}")
    new, old = level_index(knob.levels, level), knob.levels.index(levels[knob.name])
    if new is None:
        raise Refused("unknown_knob", f"{name} has no level {level!r:.{MAX_VALUE}}, only {knob.levels}")
    if new == old:
        raise Refused("unchanged", f"{name} is {level!r} already")
    seed, number, split, style = (task.traits.get(trait) for trait in ("seed", "draw", "split", "style"))
    record = {"knob": knob.name, "from": levels[knob.name], "to": level, "root_statement": root_statement(task)}
    try:
        made = draw(
            family,
            {**levels, knob.name: knob.levels[new]},
            # A task that lost its traits still has one stream of draws: that of its content.
            seed=seed if isinstance(seed, int) else int(task.id.rpartition("-")[2], 16),
            first=number if isinstance(number, int) and 0 <= number < 1000 else 0,
            split=split if isinstance(split, str) else "train",
            style=style if style in STYLES else "plain",
            allow_unsafe=allow_unsafe,
            parent=task.id,
            root=task.root or task.id,
            rewrite=Rewrite(direction=direction, author=author, change=record, critique=critique),
        )
    except KnobError as error:
        raise Refused("no_sound_problem", str(error)) from None
    if made.id == task.id:
        raise Refused("unchanged", "the same problem was drawn again")
    return made


def _restate(
    task: Task,
    parent: Payload,
    change: Mapping[str, Any],
    direction: Direction,
    author: str,
    critique: str,
    allow_unsafe: bool,
) -> Task:
    try:
        proposed = _Proposal.model_validate(change)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:MAX_VALUE]
        raise Refused("malformed", f"{place}: {first['msg']}") from None
    statement = (proposed.statement or parent.statement).strip()
    public = list(parent.public)
    if proposed.public is not None:
        public = [Example(stdin=test.stdin, stdout=test.stdout) for test in proposed.public]
    if statement.split() == parent.statement.split() and public == list(parent.public):
        raise Refused("unchanged", "statement and examples are those of the task")
    # A test that the statement or a public test shows is not hidden.
    known = {test.stdin for test in public}
    hidden = []
    for test in parent.hidden if proposed.hidden is None else proposed.hidden:
        if test.stdin not in known and not (len(test.stdin.strip()) >= 10 and test.stdin.strip() in statement):
            known.add(test.stdin)
            hidden.append(Example(stdin=test.stdin, stdout=test.stdout))
    if len(hidden) < 3:
        raise Refused("few_tests", f"only {len(hidden)} hidden tests are new inputs that are not shown; give 3")
    if len({" ".join(test.stdout.split()) for test in hidden}) < 2:
        raise Refused("degenerate", "all hidden tests expect the same output")
    _check_limits(task, parent, statement, (*public, *hidden))
    # Under the present statement only the program that is known to do what it says may prove other tests.
    kept = statement.split() == parent.statement.split()
    solutions = (*([] if kept or proposed.solution is None else [proposed.solution]), *task.proof[:1])
    _check_secret(parent.statement, statement, solutions)
    fields = {
        "statement": statement,
        "public": tuple(test.model_dump() for test in public),
        "hidden": tuple(test.model_dump() for test in hidden),
        "checker": parent.checker,
        "limits": parent.limits.model_dump(),
        "entry_point": parent.entry_point,
    }
    try:
        payload = read_payload(fields)
        for reason in undecided(payload, payload.judge_tests(), shared_sandbox(allow_unsafe=allow_unsafe)).values():
            raise Refused("undecided", reason)
        wrong = (*(proposed.wrong_programs or ()), *parent.wrong)
        found = screen(payload, solutions, wrong, allow_unsafe=allow_unsafe)
        if not found.good:
            raise Refused("unsolved", f"the solution fails {found.complaint}")
        if not found.wrong:
            raise Refused("undiscerning", "every wrong program passes all tests; add tests that they fail")
        payload = read_payload({**fields, "wrong": found.wrong[:8]})
    except (TaskFormatError, JudgeError) as error:
        raise Refused("malformed", str(error)) from None
    record = {"statement": statement, "root_statement": root_statement(task)}
    return make_task(
        payload,
        found.good[:1],
        {"split": task.traits.get("split", "train"), "source": "rewritten"},
        parent=task.id,
        root=task.root or task.id,
        rewrite=Rewrite(direction=direction, author=author, change=record, critique=critique),
    )


def _check_secret(old: str, new: str, solutions: Sequence[str]) -> None:
    """Refuse a statement that shows lines of a correct program which the present one does not show."""
    shown = {line.strip() for line in new.splitlines()} - {line.strip() for line in old.splitlines()}
    for solution in solutions:
        lines = {line.strip() for line in solution.splitlines() if len(line.strip()) >= SECRET_LINE}
        if len(shown & lines) > 1:
            raise Refused("solution_shown", "the statement shows lines of a correct program")


def _check_limits(task: Task, parent: Payload, statement: str, tests: Sequence[Example]) -> None:
    """Refuse tests outside of the limits, if the rewrite keeps the sections of a generated problem as they are."""
    form, sections = input_of(task), parent.statement.rpartition("\n\nInput\n")[2].split()
    if form is None or statement.rpartition("\n\nInput\n")[2].split() != sections:
        return
    for test in tests:
        try:
            form.read(test.stdin)
        except TaskFormatError as error:
            raise Refused("out_of_bounds", f"{error}, in the input {test.stdin[:200]!r}") from None


def _statement_schema() -> dict[str, Any]:
    program = {"type": "string", "description": "a Python program that reads stdin and writes stdout"}
    tests = {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"stdin": {"type": "string"}, "stdout": {"type": "string"}},
            "required": ["stdin", "stdout"],
            "additionalProperties": False,
        },
    }
    parts: dict[str, Any] = {
        "statement": {
            "type": "string",
            "description": "the whole problem with its constraints and hints, near the root problem, same I/O style",
        },
        "public": {**tests, "minItems": 1, "maxItems": 8, "description": "examples that the solver may see"},
        "hidden": {**tests, "minItems": 3, "maxItems": 32, "description": "other tests, never shown"},
        "solution": program,
        "wrong_programs": {"type": "array", "items": program, "minItems": 1, "maxItems": 8},
    }
    return {
        "description": "null keeps a part as it is",
        "type": "object",
        "properties": {name: {"anyOf": [{"const": None}, part]} for name, part in parts.items()},
        "required": list(parts),
        "additionalProperties": False,
    }
