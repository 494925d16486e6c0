"""Recognising the six ALFWorld goals in PDDL."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import GameFormatError
from .goal import Goal, GoalKind

#: Official goals have some 1,000 characters and nest 8 deep.
_MAX_GOAL = 10_000
_MAX_GOAL_DEPTH = 32

_TOKEN = re.compile(r"[()]|[^\s()]+")

_Tree = str | list["_Tree"]
_Atom = tuple[str, ...]


def type_name(name: str) -> str:
    """The plain name of a PDDL type constant: ``"Apple"`` of ``"AppleType"``."""
    if not name.lower().endswith("type"):
        raise GameFormatError(f"pddl_problem: the type {name!r:.80} must end in 'Type', like 'AppleType'")
    return name[:-4]


@dataclass(frozen=True, slots=True)
class _Formula:
    """A goal as one conjunction: its variables with their types, and its atoms."""

    types: dict[str, str]
    atoms: frozenset[_Atom]


def parse_goal(text: str) -> Goal:
    """Read the goal of an ALFWorld problem.

    The formula is brought into one existential conjunction and compared with those of the six tasks, so that
    names of variables, nesting and order do not matter.

    Args:
        text: The text between ``(:goal`` and the end of the problem.

    Raises:
        GameFormatError: The brackets do not match.
        GameFormatError: The goal is none of the six ALFWorld tasks.
    """
    if len(text) > _MAX_GOAL:
        raise GameFormatError(f"pddl_problem :goal: {len(text)} characters; official goals have about 1,000")
    tokens = _TOKEN.findall(text)
    tree, end = _tree([token.lower() for token in tokens])
    # Official files close one bracket more than they open: the goal templates bring the problem's own along.
    if any(token != ")" for token in tokens[end:]):
        raise GameFormatError("pddl_problem :goal: something other than brackets follows the goal; remove it")
    spelling = {token.lower(): token for token in tokens}
    return _recognise(_flatten(tree, {}, _Formula({}, frozenset())), spelling)


def _tree(tokens: list[str]) -> tuple[_Tree, int]:
    """Nested lists from the first balanced expression, and where it ends."""
    stack: list[list[_Tree]] = []
    for i, token in enumerate(tokens):
        if token == "(":
            if len(stack) >= _MAX_GOAL_DEPTH:
                raise GameFormatError(f"pddl_problem :goal: nested more than {_MAX_GOAL_DEPTH} deep")
            stack.append([])
        elif not stack:
            break
        elif token != ")":
            stack[-1].append(token)
        else:
            done = stack.pop()
            if not stack:
                return done, i + 1
            stack[-1].append(done)
    raise GameFormatError("pddl_problem :goal: expected one bracketed expression")


def _unsupported(what: str) -> GameFormatError:
    return GameFormatError(
        f"pddl_problem :goal: {what}; supported are the six ALFWorld tasks"
        " (pick and place, clean, heat, cool, two objects, look in light)"
    )


def _flatten(tree: _Tree, scope: dict[str, str], formula: _Formula) -> _Formula:
    """Merge nested ``and`` and ``exists`` into one conjunction with variables of distinct names."""
    if isinstance(tree, str) or not tree or not isinstance(tree[0], str):
        raise _unsupported("an expression without a predicate")
    head, rest = tree[0], tree[1:]
    if head == "and":
        for part in rest:
            formula = _flatten(part, scope, formula)
        return formula
    if head == "exists":
        if len(rest) != 2 or isinstance(rest[0], str):
            raise _unsupported("'exists' without a list of variables and one condition")
        types = dict(formula.types)
        inner = dict(scope)
        for name, type_ in _variables(rest[0]):
            inner[name] = f"{name}/{len(types)}"
            types[inner[name]] = type_
        return _flatten(rest[1], inner, _Formula(types, formula.atoms))
    words = [head, *rest]
    if head == "not" and len(rest) == 1 and isinstance(rest[0], list) and rest[0][:1] == ["="]:
        words = ["differ", *rest[0][1:]]
    if any(not isinstance(word, str) for word in words):
        raise _unsupported(f"the condition {head!r:.80}")
    atom = tuple(scope.get(word, word) for word in words if isinstance(word, str))
    if atom[0] == "differ":
        atom = ("differ", *sorted(atom[1:]))
    return _Formula(formula.types, formula.atoms | {atom})


def _variables(words: list[_Tree]) -> Iterator[tuple[str, str]]:
    waiting: list[str] = []
    flat = iter(words)
    for word in flat:
        if word == "-":
            type_ = next(flat, None)
            if not isinstance(type_, str):
                raise _unsupported("a variable without a type")
            yield from ((name, type_) for name in waiting)
            waiting.clear()
        elif isinstance(word, str) and word.startswith("?"):
            waiting.append(word)
        else:
            raise _unsupported("a list of variables that holds something else")
    if waiting:
        raise _unsupported(f"the variable {waiting[0]!r:.80} without a type")


_STATE: dict[GoalKind, tuple[str, str]] = {
    "clean": ("cleanable", "isclean"),
    "heat": ("heatable", "ishot"),
    "cool": ("coolable", "iscool"),
}


def _recognise(formula: _Formula, spelling: dict[str, str]) -> Goal:
    """Find the kind whose conjunction this is, up to the names of variables."""
    types, atoms = formula.types, formula.atoms
    by_type: dict[str, list[str]] = {"object": [], "receptacle": [], "agent": [], "location": []}
    for variable, type_ in types.items():
        if type_ not in by_type:
            raise _unsupported(f"a variable of type {type_!r:.80}")
        by_type[type_].append(variable)
    objects, receptacles = by_type["object"], by_type["receptacle"]
    agents, places = by_type["agent"], by_type["location"]
    is_a = {atom[1]: atom[2] for atom in atoms if atom[0] in ("objecttype", "receptacletype") and len(atom) == 3}

    def named(variable: str) -> str:
        name = is_a[variable]
        return type_name(spelling.get(name, name))

    candidates: list[tuple[GoalKind, str, str, set[_Atom]]] = []
    if len(receptacles) == 1 and all(variable in is_a for variable in objects):
        r = receptacles[0]
        if len(objects) == 1 and not agents and not places and r in is_a:
            (o,) = objects
            base: set[_Atom] = {("objecttype", o, is_a[o]), ("receptacletype", r, is_a[r]), ("inreceptacle", o, r)}
            candidates.append(("simple", o, r, base))
            candidates += [(kind, o, r, base | {(able, o), (state, o)}) for kind, (able, state) in _STATE.items()]
        elif len(objects) == 2 and not agents and not places and r in is_a and is_a[objects[0]] == is_a[objects[1]]:
            pair: set[_Atom] = {("receptacletype", r, is_a[r]), ("differ", *sorted(objects))}
            for o in objects:
                pair |= {("objecttype", o, is_a[o]), ("inreceptacle", o, r)}
            candidates.append(("two", objects[0], r, pair))
        elif len(objects) == 2 and len(places) == 1 and 1 <= len(agents) <= 2:
            for lamp, o in (objects, objects[::-1]):
                for near, hand in {(agents[0], agents[-1]), (agents[-1], agents[0])}:
                    scene: set[_Atom] = {
                        ("objecttype", lamp, is_a[lamp]),
                        ("toggleable", lamp),
                        ("istoggled", lamp),
                        ("receptacleatlocation", r, places[0]),
                        ("atlocation", near, places[0]),
                        ("inreceptacle", lamp, r),
                        ("objecttype", o, is_a[o]),
                        ("holds", hand, o),
                    }
                    candidates.append(("look", o, lamp, scene))
    for kind, o, r, expected in candidates:
        if atoms == expected:
            return Goal(kind, named(o), named(r))
    met = ", ".join(sorted({atom[0] for atom in atoms})) or "nothing"
    raise _unsupported(f"a conjunction of {met:.200} over {len(objects)} objects and {len(receptacles)} receptacles")
