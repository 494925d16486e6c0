"""Reading PDDL problems: as much of the language as ALFWorld uses, in time linear in the text."""

import re
from collections.abc import Iterator

from .errors import GameFormatError
from .goal import Goal
from .pddl_goal import parse_goal, type_name
from .scene import Receptacle, Scene, Thing

#: Largest problem text read, in characters. The largest official one has 110,000.
MAX_PROBLEM = 1_000_000

_SECTION = re.compile(r"\(\s*:(objects|init|goal|metric)\b", re.IGNORECASE)
_COMMENT = re.compile(r";[^\n]*")

_THING_TRAITS = {
    "pickupable": "pickupable",
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "toggleable": "toggleable",
    "sliceable": "sliceable",
    "isreceptacleobject": "is_receptacle_object",
    "iscool": "is_cool",
}
#: Facts of :init and the declared types of their arguments.
_ARGUMENTS = {
    "atlocation": ("agent", "location"),
    "receptacletype": ("receptacle", "rtype"),
    "receptacleatlocation": ("receptacle", "location"),
    "openable": ("receptacle",),
    "opened": ("receptacle",),
    "cancontain": ("rtype", "otype"),
    "objecttype": ("object", "otype"),
    "inreceptacle": ("object", "receptacle"),
    "objectatlocation": ("object", "location"),
    "inreceptacleobject": ("object", "object"),
    "holds": ("agent", "object"),
    "holdsany": ("agent",),
    **dict.fromkeys(_THING_TRAITS, ("object",)),
}


def parse_problem(text: str) -> tuple[Scene, Goal]:
    """Read the scene and the goal of an ALFWorld problem.

    Peculiarities of official games that the original accepts are accepted: repeated facts, things in several
    receptacles or things or in themselves, and things without an ``objectType``.

    Args:
        text: The ``pddl_problem`` of a game file.

    Raises:
        GameFormatError: The text is not such a problem; the message has the place.
        GameFormatError: The goal is none of the six ALFWorld shapes.
    """
    if len(text) > MAX_PROBLEM:
        raise GameFormatError(f"pddl_problem: {len(text)} characters; at most {MAX_PROBLEM} are read")
    if ";" in text:
        text = _COMMENT.sub("", text)
    sections = _split(text)
    return _scene(_facts(sections["init"], _declared(sections["objects"]))), parse_goal(sections["goal"])


def _split(text: str) -> dict[str, str]:
    """Cut the text into its sections; each reaches to the start of the next one."""
    found = list(_SECTION.finditer(text))
    names = [match[1].lower() for match in found]
    if [name for name in names if name != "metric"] != ["objects", "init", "goal"]:
        raise GameFormatError(
            f"pddl_problem: expected the sections :objects, :init, :goal, once each and in this order; met {names[:8]}"
        )
    ends = [match.start() for match in found[1:]] + [len(text)]
    return {name: text[match.end() : end] for name, match, end in zip(names, found, ends, strict=True)}


def _declared(text: str) -> dict[str, str]:
    """Types of the declared names, both in lower case."""
    body, closing, rest = text.partition(")")
    if not closing or rest.strip() or "(" in body:
        raise GameFormatError("pddl_problem :objects: expected one flat list of 'name ... - type' up to its bracket")
    types: dict[str, str] = {}
    waiting: list[str] = []
    words = iter(body.lower().split())
    for word in words:
        if word != "-":
            waiting.append(word)
            continue
        type_ = next(words, None)
        if type_ is None or not waiting:
            raise GameFormatError("pddl_problem :objects: a '-' without a name before it or a type behind it")
        for name in waiting:
            if types.setdefault(name, type_) != type_:
                raise GameFormatError(f"pddl_problem :objects: {name!r:.80} is declared with two types")
        waiting.clear()
    if waiting:
        raise GameFormatError(
            f"pddl_problem :objects: {waiting[0]!r:.80} has no type; write '{waiting[0]:.80} - object'"
        )
    return types


def _facts(text: str, types: dict[str, str]) -> dict[str, dict[tuple[str, ...], None]]:
    """The facts of :init by lower-case predicate, without repetition, in order of appearance."""
    facts: dict[str, dict[tuple[str, ...], None]] = {name: {} for name in _ARGUMENTS}
    head, *pieces = text.split("(")
    if head.strip() or not pieces:
        raise GameFormatError("pddl_problem :init: expected bracketed facts")
    last = len(pieces) - 1
    for i, piece in enumerate(pieces):
        body, closing, rest = piece.partition(")")
        rest = rest.strip()
        if not closing or (rest if i < last else rest != ")"):
            raise GameFormatError(f"pddl_problem :init: brackets do not match at fact {i + 1}, '({piece.strip():.80}'")
        words = body.split()
        predicate = words[0].lower() if words else ""
        expected = _ARGUMENTS.get(predicate)
        if expected is None:
            raise GameFormatError(
                f"pddl_problem :init: '({body.strip():.80})' is not a fact that ALFWorld games start with; remove it"
            )
        if len(words) != len(expected) + 1:
            raise GameFormatError(f"pddl_problem :init: '({body.strip():.80})' needs {len(expected)} arguments")
        for word, type_ in zip(words[1:], expected, strict=True):
            if types.get(word.lower()) != type_:
                raise GameFormatError(
                    f"pddl_problem :init: '({body.strip():.80})': declare '{word:.80} - {type_}' in :objects"
                )
        facts[predicate][tuple(words[1:])] = None
    return facts


def _one(pairs: dict[tuple[str, ...], None], predicate: str) -> dict[str, str]:
    """A fact as a function of its first argument (lower case)."""
    found: dict[str, str] = {}
    for subject, value in pairs:
        if found.setdefault(subject.lower(), value).lower() != value.lower():
            raise GameFormatError(f"pddl_problem :init: {predicate} gives {subject:.80} two values; keep one")
    return found


def _many(pairs: dict[tuple[str, ...], None]) -> dict[str, list[str]]:
    """A fact as a relation: all values of its first argument (lower case)."""
    found: dict[str, list[str]] = {}
    for subject, value in pairs:
        found.setdefault(subject.lower(), []).append(value)
    return found


def _named(facts: dict[str, dict[tuple[str, ...], None]]) -> dict[str, str]:
    """The things that any fact names, lower case to the first spelling: those with a type first, in its order.

    A declaration alone makes no thing: TextWorld numbers and shows what its facts name. So a thing with a
    trait and no type (the cracked eggs of official games) is one, and counts in the numbering of its class.
    """
    found: dict[str, str] = {}
    for predicate in ("objecttype", *(name for name in _ARGUMENTS if name != "objecttype")):
        for place, type_ in enumerate(_ARGUMENTS[predicate]):
            if type_ == "object":
                for arguments in facts[predicate]:
                    found.setdefault(arguments[place].lower(), arguments[place])
    return found


def _known(subjects: Iterator[str], known: dict[str, str], predicate: str, missing: str) -> None:
    for subject in subjects:
        if subject not in known:
            raise GameFormatError(f"pddl_problem :init: {subject:.80} has {predicate} but no {missing}; add it")


def _scene(facts: dict[str, dict[tuple[str, ...], None]]) -> Scene:
    starts = [place for _, place in facts["atlocation"]]
    if len(starts) != 1:
        raise GameFormatError(f"pddl_problem :init: expected one atLocation of the agent, met {len(starts)}")
    receptacle_types = _one(facts["receptacletype"], "receptacleType")
    receptacle_places = _one(facts["receptacleatlocation"], "receptacleAtLocation")
    thing_types = _one(facts["objecttype"], "objectType")
    thing_places = _one(facts["objectatlocation"], "objectAtLocation")
    openable = {name.lower() for (name,) in facts["openable"]}
    opened = {name.lower() for (name,) in facts["opened"]}
    held = [name for _, name in facts["holds"]]
    if len(held) > 1 or len(held) != len(facts["holdsany"]):
        raise GameFormatError("pddl_problem :init: expected at most one holds of the agent, and holdsAny along with it")
    contents, outer = _many(facts["inreceptacle"]), _many(facts["inreceptacleobject"])
    traits = {trait: {name.lower() for (name,) in facts[trait]} for trait in _THING_TRAITS}

    _known(iter(receptacle_places), receptacle_types, "receptacleAtLocation", "receptacleType")
    _known(iter(receptacle_types), receptacle_places, "receptacleType", "receptacleAtLocation")
    _known(iter(openable | opened), receptacle_types, "openable or opened", "receptacleType")

    receptacles = tuple(
        Receptacle(
            name, type_name(type_), receptacle_places[name.lower()], name.lower() in openable, name.lower() in opened
        )
        for name, type_ in facts["receptacletype"]
        if receptacle_types[name.lower()] is type_
    )
    things = tuple(
        Thing(
            name,
            type_name(thing_types[low]) if low in thing_types else None,
            tuple(contents.get(low, ())),
            thing_places.get(low),
            tuple(outer.get(low, ())),
            **{field: low in traits[trait] for trait, field in _THING_TRAITS.items()},
        )
        for low, name in _named(facts).items()
    )
    fits = frozenset((type_name(r), type_name(o)) for r, o in facts["cancontain"])
    return Scene(starts[0], receptacles, things, fits, held[0] if held else None)
