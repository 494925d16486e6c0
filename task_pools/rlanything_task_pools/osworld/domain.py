"""The desktop domain object, the result of ``rlanything_task_pools.get_domain("osworld")``."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rlanything_task_pools.collection import Collection
from rlanything_task_pools.domain import check_operators
from rlanything_task_pools.osworld import generate, proof, rewrite
from rlanything_task_pools.osworld.describe import describe
from rlanything_task_pools.osworld.importing import import_folder, load
from rlanything_task_pools.task import Direction, Rejection, Task


class OSWorldDomain:
    """Tasks on a desktop with a screen, a keyboard and a mouse; see `Domain` for what the methods promise.

    Args:
        operators: Ways to rewrite a task: ``evaluator`` (another one of the same state), ``hints`` (add or leave out
            known ones), ``words`` (an instruction by a language model), ``start`` (what is open, done and lies on the
            Desktop, by a language model).

    Raises:
        KnobError: There is no operator of a name.
    """

    name = "osworld"
    env_id = "RLAnything/OSWorld-v0"

    def __init__(self, operators: Iterable[str] = rewrite.OPERATORS) -> None:
        self.operators = check_operators(operators, rewrite.OPERATORS)

    def with_operators(self, names: Iterable[str]) -> "OSWorldDomain":
        """The same domain with other rewrite operators."""
        return OSWorldDomain(names)

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed; the knobs are those of `Knobs`.

        Raises:
            KnobError: A knob has a value that cannot be.
        """
        return generate.generate(seed, split, **knobs)

    def describe(self, task: Task) -> str:
        """Instruction, state, evaluators and hints, for a rewriter's prompt."""
        return describe(task)

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> list[dict[str, str]]:
        """Evaluators nearest in steps, and one hint more or less, whatever kinds of actions are blamed."""
        return rewrite.propose(task, direction, rng, self.operators)

    def proposal_schema(self, task: Task) -> dict[str, Any]:
        """JSON schema of a rewrite by the enabled operators."""
        return rewrite.proposal_schema(task, self.operators)

    def validate(
        self, task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
    ) -> Task | Rejection:
        """The proposed rewrite as a task, or the reason why it is none."""
        return rewrite.validate(
            task, proposal, direction=direction, author=author, critique=critique, operators=self.operators
        )

    def verify(self, task: Task) -> str | None:
        """Make a generated task again and run its oracles; check the form of any other."""
        return proof.flaw(task)

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a JSON file in OSWorld's form, with or without the evaluators of RLAnything.

        Raises:
            TaskFormatError: It is not such a file.
            EvaluatorError: An evaluator is malformed, or names what there is not.
        """
        return load(source)

    def load_all(self, source: str | os.PathLike[str]) -> Collection:
        """The task files of a folder and those below it, in the forms of `load`; or a single one.

        Raises:
            TaskFormatError, EvaluatorError: The single file is no task.
        """
        if Path(source).is_file():
            return Collection((load(source),), {})
        tasks, refused = import_folder(source)
        return Collection(tuple(tasks), refused)


DOMAIN = OSWorldDomain()
