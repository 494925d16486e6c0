"""The interface between the loop and a reward model, whether it votes on steps or writes unit tests.

A domain's supervision makes its `Reviewer`. A reviewer writes the queries about a group of episodes, collates the
answers that `rollout.queries` collected, and integrates them with the outcomes in a `Review`: advantages for the
policy, training data for the reward model, numbers for the curves. It also measures the reward model on a fixed panel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.queries import Answer, Query
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment, Critique, Summariser
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task

__all__ = ["Measure", "Review", "Reviewer"]

G = TypeVar("G", bound=RolloutGroup)
"""A rollout group with the votes or the tests of the reward model."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of `Reviewer.measure` that is reported before and after the loop.

    Attributes:
        what: Name in the table.
        key: Key in the result of `Reviewer.measure`, a share from 0 to 1; its interval is at ``KEY_interval``.
        better: 1 where more is better, -1 where less is.
    """

    what: str
    key: str
    better: Literal[1, -1] = 1


class Review(Protocol):
    """Feedback on the groups of one iteration, integrated from outcomes and the reward model's answers."""

    @property
    def advantages(self) -> Sequence[Sequence[NDArray[np.float64]]]:
        """Advantages of the policy: per group and trajectory an array of shape (steps,); 0 leaves a step out."""
        ...

    def samples(self, rng: np.random.Generator) -> list[Sample]:
        """Training data of the reward model."""
        ...

    def without(self, groups: Collection[int]) -> Self:
        """The same review, but that neither model learns from these groups."""
        ...

    def stats(self) -> dict[str, Any]:
        """Diagnostics of the feedback."""
        ...

    def critique(self, group: int, summariser: Summariser | None = None) -> Critique:
        """Summary for the rewriter of why the episodes of a group ended as they did; scripted without a summariser."""
        ...

    def records(self, group: int, iteration: int) -> Sequence[dict[str, Any]]:
        """One record per episode of a group, with its judgements, ready for JSON."""
        ...


class Reviewer(Protocol[G]):
    """One kind of reward model."""

    @property
    def success(self) -> str:
        """Name of success in the table of results."""
        ...

    @property
    def measures(self) -> Sequence[Measure]:
        """Numbers of `measure` that are reported."""
        ...

    @property
    def note(self) -> str:
        """Explanation of the measures, in a sentence or two."""
        ...

    def params(self, iteration: int) -> SamplingParams:
        """Sampling parameters of the queries; the number of the iteration names the RNG stream."""
        ...

    def queries(self, assignment: Assignment, episodes: Sequence[Trajectory]) -> Sequence[Query]:
        """Queries for the reward model about one group; none where nothing depends on the answers.

        Args:
            assignment: The task of the group.
            episodes: The group's episodes.
        """
        ...

    def collate(
        self, assignments: Sequence[Assignment], played: Sequence[list[Trajectory]], answers: Sequence[Answer]
    ) -> list[G]:
        """Collate the answers to the queries into the judged groups of an iteration.

        Args:
            assignments: The task of each group.
            played: The episodes of each group.
            answers: Answers to the `queries` about all groups, in their order.

        Raises:
            RunMustStop: The generator failed on all of several queries.
        """
        ...

    def review(self, groups: Sequence[G], iteration: int = 1) -> Review:
        """Integrate outcomes and the reward model's answers.

        Args:
            groups: Result of `collate`, or copies of it with other outcomes.
            iteration: Number of the iteration; a critic remembers those before it.
        """
        ...

    def save(self, folder: Path) -> None:
        """Store in a checkpoint what later iterations depend on."""
        ...

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint."""
        ...

    def quality(self, groups: Sequence[G], rng: np.random.Generator) -> dict[str, Any] | None:
        """Quality of the reward model against the ground truth, for the curves only; None where it was not queried."""
        ...

    def panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Make the fixed panel that the reward model is measured on, as JSON.

        Args:
            trajectories: Episodes of the warm-started policy on held-out tasks.
            tasks: The held-out tasks.
        """
        ...

    def measure(self, panel: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Measure the reward model on a panel."""
        ...

    def measured_on(self, result: Mapping[str, Any]) -> str:
        """Size of the panel behind a result of `measure`, in words."""
        ...
