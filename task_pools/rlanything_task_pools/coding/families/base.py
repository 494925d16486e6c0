"""Base of the families of problems: knobs, and a maker of a statement with correct and nearly correct programs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlanything_task_pools.coding.statements import Statement
from rlanything_task_pools.rng_stream import RngStream

Level = int | str | bool


@dataclass(frozen=True)
class Knob:
    """One way in which the problems of a family get harder."""

    name: str
    levels: tuple[Level, ...]
    """Values from easy to hard."""


@dataclass(frozen=True)
class Problem:
    """One problem: its statement, two correct programs, and nearly correct ones.

    All programs are Python sources that read stdin and write stdout.
    """

    title: str
    statement: Statement
    """Complete: task, input format, output format, constraints."""
    reference: str
    """Solves every input of the constraints well within the limits."""
    brute: str
    """Solves small inputs by another algorithm, so that the two do not share a mistake."""
    mutants: tuple[str, ...]
    """Three or more plausible wrong programs; the hidden tests of a task fail each of them."""
    small: Callable[[RngStream], str]
    """A random small input that `brute` can solve."""
    full: Callable[[RngStream], str]
    """A random input of the size of the knobs."""
    edges: tuple[str, ...] = ()
    """Fixed inputs worth a test, small enough for `brute`."""
    checker: Mapping[str, Any] = field(default_factory=lambda: {"kind": "tokens"})
    """The checker of outputs, in the format of `rlanything_verifiers.coding`."""


@dataclass(frozen=True)
class Family:
    """A maker of problems of one kind."""

    name: str
    summary: str
    """The task of the problems, in a line."""
    knobs: tuple[Knob, ...]
    make: Callable[[RngStream, Mapping[str, Any]], Problem]
    """A problem from draws and a level for each knob: the same from the same draws, on every machine."""
