"""The coding domain object, the result of ``rlanything_task_pools.get_domain("coding")``."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rlanything_task_pools.coding import generate, rewrite, screen
from rlanything_task_pools.coding.describe import describe
from rlanything_task_pools.coding.importing import import_tasks, load
from rlanything_task_pools.collection import Collection
from rlanything_task_pools.domain import check_operators
from rlanything_task_pools.task import Direction, Rejection, Task


class CodingDomain:
    """Programming problems judged by hidden tests; see `Domain` for the contract of the methods.

    Args:
        operators: Rewrite operators: ``knob`` (knobs of a generated task, needs no language model),
            ``statement`` (another problem near it, by a language model).
        allow_unsafe: Run programs even where this machine has no safe sandbox.

    Raises:
        KnobError: A name is unknown.
    """

    name = "coding"
    env_id = "RLAnything/Coding-v0"

    def __init__(self, operators: Iterable[str] = rewrite.OPERATORS, *, allow_unsafe: bool = False) -> None:
        self.operators = check_operators(operators, rewrite.OPERATORS)
        self.allow_unsafe = allow_unsafe

    def with_operators(self, names: Iterable[str]) -> "CodingDomain":
        """The same domain with other rewrite operators."""
        return CodingDomain(names, allow_unsafe=self.allow_unsafe)

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed; the knobs are those of `Knobs`.

        Raises:
            KnobError: A knob is out of range.
        """
        return generate.generate(seed, split, allow_unsafe=self.allow_unsafe, **knobs)

    def describe(self, task: Task) -> str:
        """Root and current statement, examples, knobs and a correct program, for a rewriter's prompt."""
        return describe(task)

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Each knob moved one level in the direction, in random order; nothing for a task without knobs. No knob
        belongs to a kind of action, so the blamed ones do not count.
        """
        return rewrite.propose(task, direction, rng, self.operators)

    def proposal_schema(self, task: Task) -> dict[str, Any]:
        """JSON schema of a rewrite by the enabled operators."""
        return rewrite.proposal_schema(task, self.operators)

    def validate(
        self, task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
    ) -> Task | Rejection:
        """The proposed rewrite as a proved task, or the reason of its rejection."""
        return rewrite.validate(
            task,
            proposal,
            direction=direction,
            author=author,
            critique=critique,
            operators=self.operators,
            allow_unsafe=self.allow_unsafe,
        )

    def verify(self, task: Task) -> str | None:
        """Run the program of the proof, and the wrong ones, on all tests."""
        return screen.flaw(task, allow_unsafe=self.allow_unsafe)

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a file or folder of any format that can be imported; ``#3`` after a file names its third row.

        Raises:
            ImportFormatError: It is not such a file, holds several tasks, or its task is malformed.
        """
        return load(source, allow_unsafe=self.allow_unsafe)

    def load_all(self, source: str | os.PathLike[str]) -> Collection:
        """All problems of a file or folder of any format that can be imported, their programs run.

        Raises:
            ImportFormatError: It cannot be read at all.
            SandboxError: Programs could not be run.
        """
        found = import_tasks(source, allow_unsafe=self.allow_unsafe)
        return Collection(found.tasks, {rejected.place: rejected.reason for rejected in found.rejected})


DOMAIN = CodingDomain()
