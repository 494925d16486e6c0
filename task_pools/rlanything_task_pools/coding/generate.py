"""The task generator: a seed becomes a problem of a family, with tests that are proved by running programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rlanything_task_pools.coding.families import FAMILIES, Family, Level, Problem
from rlanything_task_pools.coding.gate import choose_tests
from rlanything_task_pools.coding.inputs import Input
from rlanything_task_pools.coding.payload import Payload, make_task
from rlanything_task_pools.coding.statements import STYLES
from rlanything_task_pools.knobs import KnobError, check_seed, check_split, read_knobs
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Refused, Task

__all__ = [
    "HELD_OUT",
    "Knobs",
    "difficulty",
    "draw",
    "families_of",
    "generate",
    "input_of",
    "movable",
    "problem_of",
    "sketch",
    "statement_of",
]


HELD_OUT = frozenset({"expressions", "intervals", "knapsack", "take_away"})
"""Families that only ``valid_unseen`` uses."""

MAX_DRAWS = 24
"""Draws of a problem until one passes the gate."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """Arguments of the generator; by default a family and each of its knobs are drawn uniformly."""

    families: tuple[str, ...] = ()
    """Families to draw from; all of the split if empty."""
    difficulty: float | None = None
    """0 puts each knob of the family on its easiest level, 1 on its hardest; drawn evenly when None."""
    levels: Mapping[str, Level] | None = None
    """Levels of some knobs by name, such as ``{"size": 200}``; every family to draw from must have them."""
    style: str = "plain"
    """Style of the statement, ``plain`` (precise and short) or ``story`` (in a small setting)."""

    def __post_init__(self) -> None:
        for name in self.families:
            if name not in FAMILIES:
                raise KnobError(f"families: {name!r:.80} is unknown; choose from {', '.join(FAMILIES)}")
        wanted = self.difficulty
        if wanted is not None and not (
            isinstance(wanted, int | float) and not isinstance(wanted, bool) and 0 <= wanted <= 1
        ):
            raise KnobError(f"difficulty = {wanted!r:.80}: give a number from 0 to 1")
        if self.levels is not None and not isinstance(self.levels, Mapping):
            raise KnobError(f"levels = {self.levels!r:.80}: give a mapping of names of knobs to levels")
        for name in self.families if self.levels else ():
            check_levels(FAMILIES[name], self.levels or {})
        if self.style not in STYLES:
            raise KnobError(f"style = {self.style!r:.80}: choose from {', '.join(STYLES)}")
        if self.levels and not self.families:
            raise KnobError("levels: name the families too, since each has different knobs")


def check_levels(family: Family, levels: Mapping[str, object]) -> None:
    """Refuse levels a family does not have.

    Raises:
        KnobError: The message lists what there is.
    """
    known = {knob.name: knob.levels for knob in family.knobs}
    for name, level in levels.items():
        if name not in known:
            raise KnobError(f"levels: {family.name} has no knob {name!r}; it has {', '.join(known)}")
        if level_index(known[name], level) is None:
            raise KnobError(
                f"levels: {name} = {level!r:.80} of {family.name} is none of {', '.join(map(repr, known[name]))}"
            )


def level_index(levels: tuple[Level, ...], level: object) -> int | None:
    """Where a level stands among its like; True is not 1."""
    return next((i for i, known in enumerate(levels) if known == level and type(known) is type(level)), None)


def families_of(split: str) -> tuple[str, ...]:
    """Names of the families a split draws from."""
    return tuple(name for name in FAMILIES if (name in HELD_OUT) == (split == "valid_unseen"))


def difficulty(family: Family, levels: Mapping[str, Level]) -> float:
    """Difficulty of the levels, from 0 (all easiest) to 1 (all hardest): the mean over the knobs."""
    places = [(knob.levels.index(levels[knob.name]), len(knob.levels) - 1) for knob in family.knobs]
    return round(sum(place / top for place, top in places if top) / max(1, len(places)), 4)


def generate(seed: int, split: str = "train", *, allow_unsafe: bool = False, **knobs: Any) -> Task:
    """The task of a seed: its tests are those of two programs that agree, and fail wrong ones.

    The same on every machine.

    Args:
        seed: Any integer from 0.
        split: ``train``; ``valid_seen``: the same families with other seeds; ``valid_unseen``: families that
            training never uses.
        allow_unsafe: Run the programs of the families, which are part of this package, without a safe sandbox
            where there is none.
        **knobs: See `Knobs`.

    Raises:
        KnobError: The seed, the split or a knob is out of range, or no task with such knobs was found.
        SandboxError: The programs could not be run.
    """
    wanted = make_knobs(**knobs)
    family, levels = _choose(seed, split, wanted)
    return _drawn(family.name, tuple(levels.items()), check_seed(seed), split, wanted.style, allow_unsafe)


def sketch(seed: int, split: str = "train", **knobs: Any) -> Problem:
    """A problem as it is drawn for a seed, without the gate: nothing is run, and nothing is proved.

    For callers that need many statements with programs and no verdicts, such as a supervised warm start.

    Args:
        seed: Any integer from 0.
        split: See `generate`.
        **knobs: See `Knobs`.

    Raises:
        KnobError: The seed, the split or a knob is out of range.
    """
    family, levels = _choose(seed, split, make_knobs(**knobs))
    return family.make(_problem_dice(family, split, check_seed(seed), 0), levels)


def statement_of(problem: Problem, style: str = "plain") -> str:
    """The statement of a problem as a task has it: the title, a blank line, the text in one of the `STYLES`."""
    return f"{problem.title}\n\n{problem.statement.text(style)}\n"


def _choose(seed: int, split: str, wanted: Knobs) -> tuple[Family, dict[str, Level]]:
    """The family of a seed, and a level for each of its knobs."""
    check_split(split)
    seed = check_seed(seed)
    pool = families_of(split)
    names = wanted.families or pool
    if strange := [name for name in names if name not in pool]:
        raise KnobError(f"families: {split} does not use {', '.join(strange)}; it has {', '.join(pool)}")
    family = FAMILIES[RngStream("coding family", split, seed).pick(names)]
    return family, _levels(family, wanted, RngStream("coding levels", family.name, split, seed))


@lru_cache(maxsize=1024)
def _drawn(
    name: str, levels: tuple[tuple[str, Level], ...], seed: int, split: str, style: str, allow_unsafe: bool
) -> Task:
    """A cached draw: panels are loaded repeatedly, and each task takes a hundred runs of programs."""
    return draw(FAMILIES[name], dict(levels), seed=seed, split=split, style=style, allow_unsafe=allow_unsafe)


def _problem_dice(family: Family, split: str, seed: int, number: int) -> RngStream:
    return RngStream("coding problem", family.name, split, seed, number)


def draw(
    family: Family,
    levels: Mapping[str, Level],
    *,
    seed: int,
    split: str,
    style: str = "plain",
    first: int = 0,
    allow_unsafe: bool = False,
    **lineage: Any,
) -> Task:
    """The task of a family at a level of each knob: the first draw of the seed that passes the gate.

    Args:
        family: The family.
        levels: One level for each of its knobs.
        seed: Together with the split it names the stream of draws.
        split: See `generate`.
        style: Style of the statement.
        first: The draw to begin with.
        allow_unsafe: See `generate`.
        **lineage: ``parent``, ``root`` and ``rewrite`` of the task.

    Raises:
        KnobError: `MAX_DRAWS` problems were refused; the message has the last reason.
        SandboxError: The programs could not be run.
    """
    key = (family.name, split, seed)
    refused: Refused | None = None
    for number in range(first, first + MAX_DRAWS):
        problem = family.make(_problem_dice(family, split, seed, number), levels)

        def rng(*name: str | int, number: int = number) -> RngStream:
            return RngStream("coding input", *key, number, *name)

        try:
            tests = choose_tests(problem, rng, allow_unsafe=allow_unsafe)
        except Refused as error:
            refused = error
            continue
        payload = Payload(
            statement=statement_of(problem, style),
            public=tests.public,
            hidden=tests.hidden,
            checker=problem.checker,
            family=family.name,
            knobs=levels,
            wrong=problem.mutants,
        )
        traits = {
            "family": family.name,
            "split": split,
            "style": style,
            "seed": seed,
            "draw": number,
            "difficulty": difficulty(family, levels),
            "source": "generated",
        }
        return make_task(payload, (problem.reference,), traits, **lineage)
    raise KnobError(f"{family.name} with {dict(levels)}: no task of seed {seed} in {MAX_DRAWS} draws ({refused})")


def movable(task: Task) -> tuple[Family, dict[str, Level]] | None:
    """The family of a generated task with its levels; None if the task has no knobs."""
    name, levels = task.payload.get("family"), task.payload.get("knobs")
    family = FAMILIES.get(name) if isinstance(name, str) else None
    if family is None or not isinstance(levels, Mapping) or set(levels) != {knob.name for knob in family.knobs}:
        return None
    try:
        check_levels(family, levels)
    except KnobError:
        return None
    return family, dict(levels)


def problem_of(task: Task) -> Problem | None:
    """The problem of a generated task, with its brute force, also where a rewrite has put words around it.

    None if the generator makes no such task of its traits.
    """
    found = movable(task)
    seed, number, split, style = (task.traits.get(trait) for trait in ("seed", "draw", "split", "style"))
    if found is None or not isinstance(seed, int) or not isinstance(number, int) or not isinstance(split, str):
        return None
    family, levels = found
    problem = family.make(_problem_dice(family, split, seed, number), levels)
    same = style in STYLES and statement_of(problem, str(style)).strip() in str(task.payload.get("statement"))
    return problem if same else None


def input_of(task: Task) -> Input | None:
    """The input format of a generated task; None where there is no `problem_of` it."""
    problem = problem_of(task)
    return None if problem is None else problem.statement.input


def make_knobs(**knobs: Any) -> Knobs:
    """Knobs from keyword arguments, lists and single names allowed.

    Raises:
        KnobError: A knob is unknown, or its value is out of range.
    """
    return read_knobs(Knobs, knobs, names=("families",))


def _levels(family: Family, knobs: Knobs, rng: RngStream) -> dict[str, Level]:
    levels: dict[str, Level] = {}
    for knob in family.knobs:
        top = len(knob.levels) - 1
        share = rng.uniform()  # drawn even where it is not used, so that one knob does not change the others
        wanted = knobs.difficulty
        place = int(share * (top + 1)) if wanted is None else min(top, int(wanted * top + share))
        levels[knob.name] = (knobs.levels or {}).get(knob.name, knob.levels[place])
    return levels
