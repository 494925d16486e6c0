"""Rewrites: knobs moved to other levels, and a statement with tests and programs by a language model.

All proposals are untrusted. Knobs are moved by drawing the problem again from the same seed; a new statement is
accepted only as far as programs prove it. Both may come in one proposal: the statement then has words around the
problem that is drawn, which nobody has seen before, and only the program that is known to solve it may prove tests.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from rlanything_task_pools.coding.generate import draw, level_index, movable, problem_of
from rlanything_task_pools.coding.payload import Example, make_task, read_payload
from rlanything_task_pools.coding.screen import screen, undecided
from rlanything_task_pools.coding.statements import STYLES
from rlanything_task_pools.domain import LEFT_OUT, some_of
from rlanything_task_pools.frozen import freeze
from rlanything_task_pools.knobs import KnobError
from rlanything_task_pools.task import Direction, Refused, Rejection, Rewrite, StrictRecord, Task, TaskFormatError
from rlanything_verifiers.coding import JudgeError, shared_sandbox

__all__ = ["OPERATORS", "movable", "proposal_schema", "propose", "root_statement", "validate"]

OPERATORS = ("knob", "statement")
"""``knob``: knobs of a generated task, to other levels. ``statement``: everything, by a language model."""

PROBLEM = "{problem}"
"""Stands in a proposed statement for the problem as it is, or as the moved knobs make it."""
MIN_STATEMENT, MAX_STATEMENT = 40, 10_000
MAX_TEXT = 64_000
"""Longest input or output of a proposed test: tests that make every program slow are a cheap attack on a judge."""
MAX_PROGRAM = 20_000
SECRET_LINE = 8
"""Fewest characters of a line of a program that a statement may not show, with another one."""
MAX_VALUE = 80
"""Maximum characters of a strange value that are quoted."""


class _ProposedTest(StrictRecord):
    stdin: str = Field(max_length=MAX_TEXT)
    stdout: str = Field(max_length=MAX_TEXT)


_Source = Annotated[str, Field(min_length=1, max_length=MAX_PROGRAM)]


class _Proposal(StrictRecord):
    """A rewritten problem; what is null stays as in the task."""

    knobs: dict[str, Any] | None = None
    statement: Annotated[str, Field(max_length=MAX_STATEMENT)] | None = None
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
            moves.append({"knobs": {knob.name: knob.levels[place]}})
    return [moves[i] for i in rng.permutation(len(moves))]


def proposal_schema(task: Task, operators: Sequence[str] = OPERATORS) -> dict[str, Any]:
    """JSON schema of the proposals that `validate` reads for a task."""
    parts = _knob_schema(task) if "knob" in operators else {}
    return some_of(parts | (_statement_schema() if "statement" in operators else {}), LEFT_OUT)


def _knob_schema(task: Task) -> dict[str, Any]:
    """The knobs that have other levels, as a part of a proposal; nothing where there are none."""
    found = movable(task)
    if found is None:
        return {}
    family, levels = found
    offered = {knob: [level for level in knob.levels if level != levels[knob.name]] for knob in family.knobs}
    knobs = {
        knob.name: {"enum": others, "description": f"from easy to hard; now {levels[knob.name]}"}
        for knob, others in offered.items()
        if others
    }
    return {"knobs": some_of(knobs)} if knobs else {}


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

    ``knobs`` has other levels by the names of knobs; some of ``statement``, ``public``, ``hidden``, ``solution`` and
    ``wrong_programs`` make another problem. What is left out or null stays as it is. The direction is stored and not
    checked. Reasons of rejection: ``malformed``, ``operator_off``, ``bad_parent``, ``unchanged``; for knobs
    ``no_knobs``, ``unknown_knob``, ``no_sound_problem``; for a statement ``few_tests``, ``degenerate``,
    ``solution_shown``, ``problem_left_out`` (knobs move, and it is another problem), ``out_of_bounds`` (it keeps the
    constraints, and a test breaks them), ``undecided`` (the problem's checker fails on an expected output),
    ``unsolved`` (no correct program passes all tests), ``undiscerning`` (no wrong program fails one).

    Raises:
        SandboxError: The programs could not be run, which says nothing of the proposal.
    """
    try:
        read_payload(task.payload)
    except TaskFormatError as error:
        return Rejection(reason="bad_parent", detail=str(error)[:400])
    try:
        proposed = _read(proposal)
        knobs = {name: level for name, level in (proposed.knobs or {}).items() if level is not None}
        own = proposed.model_dump(exclude={"knobs"}, exclude_none=True)
        for kind, asked in (("knob", knobs), ("statement", own)):
            if asked and kind not in operators:
                raise Refused("operator_off", f"rewrites by {kind} are not enabled")
        if not knobs and not own:
            raise Refused("unchanged", "every part is null")
        rewrite = Rewrite(direction=direction, author=author, change={}, critique=critique)
        moved = _move(task, knobs, rewrite, allow_unsafe) if knobs else task
        return _restate(task, moved, proposed, rewrite, allow_unsafe) if own else moved
    except Refused as refused:
        return refused.rejection


def _read(proposal: object) -> _Proposal:
    if not isinstance(proposal, Mapping) or not proposal:
        raise Refused("malformed", f"expected a JSON object with some of {', '.join(_Proposal.model_fields)}")
    try:
        return _Proposal.model_validate(freeze(proposal, "proposal"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:MAX_VALUE]
        raise Refused("malformed", f"{place}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise Refused("malformed", str(error)[:400]) from None


def root_statement(task: Task) -> str:
    """The statement a line of rewrites began with; that of the task itself if it is no rewrite."""
    kept = None if task.rewrite is None else task.rewrite.change.get("root_statement")
    return kept if isinstance(kept, str) else str(task.payload.get("statement", task.goal))


def _move(task: Task, knobs: Mapping[str, Any], rewrite: Rewrite, allow_unsafe: bool) -> Task:
    """The problem that the seed makes at other levels of some knobs."""
    found = movable(task)
    if found is None:
        raise Refused("no_knobs", "this task was not generated from knobs; propose a statement")
    family, levels = found
    known = {knob.name: knob.levels for knob in family.knobs}
    for name, level in knobs.items():
        if name not in known:
            raise Refused("unknown_knob", f"no knob {name!r:.{MAX_VALUE}}; use {', '.join(known)}")
        if level_index(known[name], level) is None:
            raise Refused("unknown_knob", f"{name} has no level {level!r:.{MAX_VALUE}}, only {known[name]}")
    if all(levels[name] == level for name, level in knobs.items()):
        raise Refused("unchanged", f"these are the levels of {', '.join(knobs)} already")
    seed, number, split, style = (task.traits.get(trait) for trait in ("seed", "draw", "split", "style"))
    moves = {name: {"from": levels[name], "to": level} for name, level in knobs.items()}
    try:
        made = draw(
            family,
            {**levels, **knobs},
            # A task that lost its traits still has one stream of draws: that of its content.
            seed=seed if isinstance(seed, int) else int(task.id.rpartition("-")[2], 16),
            first=number if isinstance(number, int) and 0 <= number < 1000 else 0,
            split=split if isinstance(split, str) else "train",
            style=style if style in STYLES else "plain",
            allow_unsafe=allow_unsafe,
            **_lineage(task, rewrite, {"knobs": moves}),
        )
    except KnobError as error:
        raise Refused("no_sound_problem", str(error)) from None
    if made.id == task.id:
        raise Refused("unchanged", "the same problem was drawn again")
    return made


def _restate(task: Task, moved: Task, proposed: _Proposal, rewrite: Rewrite, allow_unsafe: bool) -> Task:
    """A problem in other words, with other tests: the present one, or that of the moved knobs."""
    parent = read_payload(moved.payload)
    words = PROBLEM if proposed.statement is None else proposed.statement
    if words.count(PROBLEM) > 1:
        raise Refused("malformed", f"statement: {PROBLEM} stands in it more than once")
    if moved is not task and PROBLEM not in words:
        raise Refused("problem_left_out", f"knobs move, so the statement has to be words around {PROBLEM}")
    statement = words.replace(PROBLEM, parent.statement).strip()
    if not MIN_STATEMENT <= len(statement) <= MAX_STATEMENT + len(parent.statement):
        raise Refused("malformed", f"statement: it needs at least {MIN_STATEMENT} characters")
    public = list(parent.public)
    if proposed.public is not None:
        public = [Example(stdin=test.stdin, stdout=test.stdout) for test in proposed.public]
    if any(not (letter.isprintable() or letter in "\n\t") for letter in statement):
        raise Refused("malformed", "statement: it holds characters that cannot be printed")
    kept = _bare(statement) == _bare(parent.statement)
    if kept and public == list(parent.public):
        if moved is not task:
            return moved
        raise Refused("unchanged", "statement and examples are those of the task")
    # A test that the statement or a public test shows is not hidden.
    known, shown = {test.stdin for test in public}, _bare(statement)
    hidden = []
    for test in parent.hidden if proposed.hidden is None else proposed.hidden:
        if test.stdin not in known and not (len(bare := _bare(test.stdin)) >= 10 and bare in shown):
            known.add(test.stdin)
            hidden.append(Example(stdin=test.stdin, stdout=test.stdout))
    if len(hidden) < 3:
        raise Refused("few_tests", f"only {len(hidden)} hidden tests are new inputs that are not shown; give 3")
    if len({" ".join(test.stdout.split()) for test in hidden}) < 2:
        raise Refused("degenerate", "all hidden tests expect the same output")
    _check_limits(moved, statement, (*public, *hidden))
    # Of the present problem, or of one that is drawn, only the program known to solve it may prove other tests.
    known_only = kept or moved is not task or proposed.solution is None
    solutions = (*([] if known_only or proposed.solution is None else [proposed.solution]), *moved.proof[:1])
    _check_secret(parent.statement, statement, solutions)
    fields = {
        "statement": statement,
        "public": tuple(test.model_dump() for test in public),
        "hidden": tuple(test.model_dump() for test in hidden),
        "checker": parent.checker,
        "limits": parent.limits.model_dump(),
        "entry_point": parent.entry_point,
        "languages": parent.languages,
    }
    traits: Mapping[str, Any] = {"split": task.traits.get("split", "train"), "source": "rewritten"}
    if known_only and PROBLEM in words:  # its knobs can move still
        fields |= {"family": parent.family, "knobs": parent.knobs}
        traits = {**moved.traits, "source": "rewritten"}
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
    change = {} if moved.rewrite is None or moved is task else moved.rewrite.change
    lineage = _lineage(task, rewrite, {**change, "statement": statement})
    return make_task(payload, found.good[:1], traits, **lineage)


def _lineage(task: Task, rewrite: Rewrite, change: Mapping[str, Any]) -> dict[str, Any]:
    change = {**change, "root_statement": root_statement(task)}
    return {"parent": task.id, "root": task.root or task.id, "rewrite": Rewrite(**{**dict(rewrite), "change": change})}


def _bare(text: str) -> str:
    """Letters, digits and signs of a text: what stands around and between them hides nothing."""
    return "".join(re.findall(r"[^\W_]|[-+*/%=<>]", text.lower()))


def _check_secret(old: str, new: str, solutions: Sequence[str]) -> None:
    """Refuse a statement that shows lines of a correct program which the present one does not show."""
    before, after = _bare(old), _bare(new)
    for solution in solutions:
        bare = {_bare(line) for line in solution.splitlines()}
        lines = {line for line in bare if len(line) >= SECRET_LINE and not line.isalpha()}  # others may be prose
        shown = [line for line in lines if line in after and line not in before]
        if len(shown) > 1 or (shown and len(lines) <= 2):
            raise Refused("solution_shown", "the statement shows lines of a correct program")


def _check_limits(task: Task, statement: str, tests: Sequence[Example]) -> None:
    """Refuse tests outside of the limits, if the rewrite keeps the sections of a generated problem as they are."""
    problem = problem_of(task)
    if problem is None:
        return
    sections = problem.statement.text().rpartition("\n\nInput\n")[2].split()
    if f" {' '.join(sections)} " not in f" {' '.join(statement.split())} ":
        return
    for test in tests:
        try:
            problem.statement.input.read(test.stdin)
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
    return {
        "statement": {
            "type": "string",
            "description": f"the whole problem with its constraints and hints, near the root problem, same I/O style; "
            f"{PROBLEM} stands for the problem as it is, and is needed where knobs move",
        },
        "public": {**tests, "minItems": 1, "maxItems": 8, "description": "examples that the solver may see"},
        "hidden": {**tests, "minItems": 3, "maxItems": 32, "description": "other tests, never shown"},
        "solution": program,
        "wrong_programs": {"type": "array", "items": program, "minItems": 1, "maxItems": 8},
    }
