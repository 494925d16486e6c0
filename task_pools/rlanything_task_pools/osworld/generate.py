"""The task generator: a seed becomes a state of the desktop with evaluator levels, proved by their oracles."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rlanything_task_pools.knobs import KnobError, check_seed, check_split, read_knobs
from rlanything_task_pools.osworld.difficulty import difficulty
from rlanything_task_pools.osworld.gate import check_state
from rlanything_task_pools.osworld.guest import write_file
from rlanything_task_pools.osworld.kinds import KINDS, Level, State
from rlanything_task_pools.osworld.payload import Payload, Step, make_task
from rlanything_task_pools.osworld.words import words_of
from rlanything_task_pools.rng_stream import RngStream
from rlanything_task_pools.task import Refused, Task

__all__ = ["APPS", "HELD_OUT", "Knobs", "draw_state", "generate", "kinds_of", "levels", "rung_of", "told"]

HELD_OUT = frozenset({"edit_json", "filter_lines", "make_folders", "sheet_totals", "slide_titles"})
"""Kinds that training never uses; ``valid_unseen`` draws from them, and from words that training never uses."""

APPS = tuple(sorted({app for kind in KINDS.values() for app in kind.apps}))
"""Programs of the kinds."""

MAX_DRAWS = 24
"""Maximum draws of a state until one passes the gate."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """Arguments of the generator; by default kind and evaluator level are drawn uniformly."""

    kinds: tuple[str, ...] = ()
    """Kinds to draw from; all of the split if empty. ``valid_unseen`` accepts any, with words that training never
    uses."""
    apps: tuple[str, ...] = ()
    """Programs that the kinds may use; all if empty."""
    difficulty: float | None = None
    """0 selects the first evaluator level, 1 the last; drawn uniformly when None."""
    hints: int = 0
    """Number of hints in the instruction, as far as there are so many."""

    def __post_init__(self) -> None:
        for knob, names, known in (("kinds", self.kinds, tuple(KINDS)), ("apps", self.apps, APPS)):
            for name in names:
                if name not in known:
                    raise KnobError(f"{knob}: {name!r:.80} is unknown; choose from {', '.join(known)}")
        wanted = self.difficulty
        if wanted is not None and not (
            isinstance(wanted, int | float) and not isinstance(wanted, bool) and 0 <= wanted <= 1
        ):
            raise KnobError(f"difficulty = {wanted!r:.80}: give a number from 0 to 1")
        if isinstance(self.hints, bool) or not isinstance(self.hints, int) or self.hints < 0:
            raise KnobError(f"hints = {self.hints!r:.80}: give a number from 0")


def kinds_of(split: str) -> tuple[str, ...]:
    """Names of the kinds a split draws from."""
    return tuple(name for name in KINDS if (name in HELD_OUT) == (split == "valid_unseen"))


def generate(seed: int, split: str = "train", **knobs: Any) -> Task:
    """The task of a seed, the same on every machine: each of its evaluators is proved by its oracle.

    Args:
        seed: Any integer from 0.
        split: ``train``; ``valid_seen``: the same kinds with other seeds; ``valid_unseen``: kinds and words that
            training never uses.
        **knobs: See `Knobs`.

    Raises:
        KnobError: The seed, the split or a knob is out of range, or no task with such knobs was found.
    """
    wanted = make_knobs(**knobs)
    check_split(split)
    seed = check_seed(seed)
    name = RngStream("osworld kind", split, seed).pick(_pool(split, wanted))
    state, draw = draw_state(name, split, seed)
    # The name of a stream decides what it draws: this one stays as the pinned panels have it.
    share = RngStream("osworld rung", name, split, seed).uniform()
    top = len(state.levels) - 1
    place = int(share * (top + 1)) if wanted.difficulty is None else round(wanted.difficulty * top)
    return _task(name, state, place, wanted.hints, {"seed": seed, "split": split, "draw": draw})


@lru_cache(maxsize=2048)
def draw_state(name: str, split: str, seed: int) -> tuple[State, int]:
    """The state of a kind and a seed that passes the gate, and the number of its draw.

    Raises:
        KnobError: `MAX_DRAWS` states were refused; the message has the last reason.
    """
    refused: Refused | None = None
    for draw in range(MAX_DRAWS):
        state = KINDS[name].make(RngStream("osworld state", name, split, seed, draw), words_of(split))
        try:
            check_state(state)
        except Refused as error:
            refused = error
            continue
        return state, draw
    raise KnobError(f"{name}: no state of seed {seed} in {MAX_DRAWS} draws ({refused})")


def rung_of(state: State, name: str) -> Level:
    """The level of an evaluator.

    Raises:
        KeyError: There is no evaluator of this name.
    """
    return dict(zip(_names(state), state.levels, strict=True))[name]


def told(instruction: str, hints: tuple[str, ...]) -> str:
    """An instruction followed by hints."""
    return " ".join([instruction, *hints])


def make_knobs(**knobs: Any) -> Knobs:
    """Knobs from keyword arguments, lists and single names allowed.

    Raises:
        KnobError: A knob is unknown, or its value is out of range.
    """
    return read_knobs(Knobs, knobs, names=("kinds", "apps"))


def _pool(split: str, knobs: Knobs) -> list[str]:
    allowed = tuple(KINDS) if split == "valid_unseen" else kinds_of(split)
    if strange := [name for name in knobs.kinds if name not in allowed]:
        raise KnobError(f"kinds: {split} does not use {', '.join(strange)}; it has {', '.join(allowed)}")
    pool = [
        name for name in knobs.kinds or kinds_of(split) if not knobs.apps or set(KINDS[name].apps) & set(knobs.apps)
    ]
    if not pool:
        raise KnobError(f"no kind of {split} is left by the knobs kinds and apps")
    return pool


def _names(state: State) -> list[str]:
    return [f"evaluator{number}" for number in range(1, len(state.levels) + 1)]


def levels(name: str, state: State) -> Payload:
    """The payload of a state, with the plain instruction of its first level."""
    names, levels = _names(state), state.levels
    files = [write_file(path, data) for path, data in state.files.items()]
    return Payload(
        instruction=levels[0].goal,
        config=tuple(Step.model_validate(step) for step in [*files, *state.opened]),
        evaluators={key: dict(each.evaluator) for key, each in zip(names, levels, strict=True)},
        instructions={key: each.goal for key, each in zip(names, levels, strict=True)},
        hints={key: tuple(each.hints) for key, each in zip(names, levels, strict=True)},
        steps={key: float(each.steps) for key, each in zip(names, levels, strict=True)},
        current=names[0],
        related_apps=KINDS[name].apps,
    )


def _task(name: str, state: State, place: int, hints: int, source: dict[str, Any]) -> Task:
    level = state.levels[place]
    payload = levels(name, state).model_copy(
        update={
            "instruction": told(level.goal, tuple(level.hints[:hints])),
            "current": _names(state)[place],
            "source": {"kind": name, **source},
        }
    )
    traits = {"kind": name, "app": KINDS[name].apps[0], **source, "source": "generated", **difficulty(payload)}
    return make_task(payload, tuple(level.keys), traits)
