"""Validation of generator arguments in all domains: a seed, a split, and knobs in a dataclass."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["SPLITS", "KnobError", "Split", "check_seed", "check_split", "read_knobs"]

Split = Literal["train", "valid_seen", "valid_unseen"]
SPLITS: tuple[Split, ...] = get_args(Split)
"""Splits: training; evaluation on the training distribution; evaluation on a distribution that training never uses."""

K = TypeVar("K", bound="DataclassInstance")


class KnobError(ValueError):
    """A seed, a split, a knob or an operator is unknown or out of range, or no task satisfies all knobs."""


def check_seed(seed: object) -> int:
    """A seed as an integer from 0; NumPy integers are accepted.

    Raises:
        KnobError: The seed is not such an integer.
    """
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise KnobError(f"seed = {seed!r:.80}: give an integer from 0")
    return number


def check_split(split: str) -> Split:
    """A validated name of a split.

    Raises:
        KnobError: The split is not one of `SPLITS`, which the message lists.
    """
    for known in SPLITS:
        if split == known:
            return known
    raise KnobError(f"split {split!r:.80} is unknown; choose from {', '.join(SPLITS)}")


def read_knobs(kind: type[K], knobs: Mapping[str, Any], *, names: Collection[str] = ()) -> K:
    """Knobs from keyword arguments, lists allowed.

    Args:
        kind: The dataclass, which validates the values.
        knobs: The arguments.
        names: Knobs that are a tuple of names, for which a single name is accepted too.

    Raises:
        KnobError: A knob is unknown, or its value is out of range.
    """
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(knobs) - set(known))
    if unknown:
        raise KnobError(f"unknown knobs {unknown}; there are {', '.join(known)}")
    sets = {name: sorted(value, key=str) for name, value in knobs.items() if isinstance(value, set | frozenset)}
    knobs = {**knobs, **sets}  # a set has another order in each process
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in knobs.items()}
    for name in set(names) & set(knobs):
        value = knobs[name]
        if not isinstance(value, str | list | tuple):
            raise KnobError(f"{name} = {value!r:.80}: give a list of names")
        given[name] = (value,) if isinstance(value, str) else tuple(value)
    return kind(**given)
