"""The domain protocol: the interface through which curricula, training loops and command lines use a domain."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from rlanything_task_pools.errors import UnknownName
from rlanything_task_pools.knobs import KnobError
from rlanything_task_pools.task import Direction, Rejection, Task

GROUP = "rlanything.domains"
"""Entry-point group in which a package registers its domains: ``name = "module:OBJECT"``."""


def check_operators(names: object, known: Sequence[str]) -> tuple[str, ...]:
    """Validated names of operators, in the order of ``known``.

    Raises:
        KnobError: A name is unknown, or there are no names.
    """
    wanted = tuple(dict.fromkeys(names)) if isinstance(names, list | tuple | set | frozenset) else (names,)
    if not wanted or any(name not in known for name in wanted):
        raise KnobError(f"operators = {names!r:.80}: choose one or more of {', '.join(known)}")
    return tuple(name for name in known if name in wanted)


@runtime_checkable
class Domain(Protocol):
    """A family of tasks: generates, describes, rewrites them, and proves that they are solvable."""

    @property
    def name(self) -> str:
        """The value of `Task.domain`."""
        ...

    @property
    def env_id(self) -> str:
        """The Gymnasium id of the environment that plays these tasks."""
        ...

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the enabled rewrite operators."""
        ...

    def with_operators(self, names: Iterable[str]) -> Self:
        """The same domain with these rewrite operators enabled and no others.

        Raises:
            KnobError: There is no such operator; the message lists them.
        """
        ...

    def generate(self, seed: int, split: str = "train", **knobs: Any) -> Task:
        """The task of a seed: the same on every machine."""
        ...

    def describe(self, task: Task) -> str:
        """Description of the task and its world, for the prompt of a rewriter."""
        ...

    def proposal_schema(self, task: Task) -> Mapping[str, Any]:
        """JSON schema of the proposals that `validate` reads for this task, for the prompt of a rewriter.

        It lists what there is to choose from and does not depend on the direction: what is harder or easier is for the
        rewriter to decide, and for the trial to show.
        """
        ...

    def propose(
        self, task: Task, direction: Direction, rng: np.random.Generator, blamed: Sequence[str] = ()
    ) -> Sequence[Mapping[str, Any]]:
        """Scripted proposals for a rewrite in a direction, best first; not validated yet.

        ``blamed`` has the kinds of actions (their first words) that a critique blames, the most blamed first. Easier
        rewrites that ease what these actions are for come before others, in a domain that can tell. Untrusted.
        """
        ...

    def validate(
        self, task: Task, proposal: Mapping[str, Any], *, direction: Direction, author: str, critique: str = ""
    ) -> Task | Rejection:
        """The proposed rewrite of ``task`` as a proved task, or its rejection. Proposals are untrusted."""
        ...

    def verify(self, task: Task) -> str | None:
        """Fault of a task of unknown origin, in a sentence; None when its proof solves it."""
        ...

    def load(self, source: str | os.PathLike[str]) -> Task:
        """The task of a file in the domain's own format."""
        ...


LEFT_OUT = "what is left out stays as it is; several parts may change at once"
"""What the schema of a proposal says of itself."""


def some_of(parts: Mapping[str, Any], description: str = "") -> dict[str, Any]:
    """JSON schema of an object with some of these parts, at least one: a model that may write null for each does so."""
    return ({"description": description} if description else {}) | {
        "type": "object",
        "properties": dict(parts),
        "minProperties": min(1, len(parts)),
        "additionalProperties": False,
    }


def domain_names() -> list[str]:
    """Names of the installed domains, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


@cache
def get_domain(name: str) -> Domain:
    """The installed domain of a name; cached, since the look-up reads the metadata of all installed packages.

    Raises:
        UnknownName: No installed package registers it; the message lists the domains there are.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            domain: Domain = point.load()
            return domain
    installed = ", ".join(domain_names()) or "none"
    raise UnknownName(
        f"no domain named {name!r} is installed (installed: {installed}); a package announces one in the "
        f"entry-point group {GROUP!r}"
    )
