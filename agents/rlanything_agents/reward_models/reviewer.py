"""What a loop asks of a reward model, whatever kind it is: one that votes on steps, or one that writes unit tests.

A domain's supervision says which `Reviewer` it has. A reviewer knows what the reward model is asked about a group of
episodes, reads the answers, whoever fetched them (see `rollout.queries`), and weighs them in a `Review`: advantages for
the policy, training data for the reward model itself, numbers for the curves. It also knows how the reward model is
measured on a fixed panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.queries import Answer
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment
from rlanything_envs.llm.generator import Prompt, SamplingParams
from rlanything_task_pools import Task

__all__ = ["Measure", "Review", "Reviewer"]

G = TypeVar("G", bound=RolloutGroup)
"""A group with what the reward model said of it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of `Reviewer.measure` that is reported before and after.

    Attributes:
        what: Its name for readers.
        key: Its key in the result; a share from 0 to 1.
    """

    what: str
    key: str


class Review(Protocol):
    """What outcomes and the reward model's words on the groups of one iteration come to."""

    @property
    def advantages(self) -> Sequence[Sequence[NDArray[np.float64]]]:
        """The policy's: of each group and trajectory one per step; 0 leaves a step out."""
        ...

    def samples(self, rng: np.random.Generator) -> tuple[list[Sample], int]:
        """What the reward model learns from, and how many groups it comes from."""
        ...

    def stats(self) -> dict[str, Any]:
        """Diagnostics of the feedback."""
        ...

    def critique(self, group: int) -> str:
        """Why the episodes of a group ended as they did, for whoever rewrites their task."""
        ...

    def records(self, group: int, iteration: int) -> Sequence[dict[str, Any]]:
        """The episodes of a group with what was said about them, ready for JSON."""
        ...


class Reviewer(Protocol[G]):
    """One kind of reward model."""

    @property
    def success(self) -> str:
        """What it is called that an episode was won."""
        ...

    @property
    def measures(self) -> Sequence[Measure]:
        """What of `measure` is reported."""
        ...

    @property
    def note(self) -> str:
        """What the measures mean, in a sentence or two."""
        ...

    def params(self, iteration: int) -> SamplingParams:
        """How the reward model is asked; the number of the iteration names the random stream."""
        ...

    def queries(self, assignment: Assignment, episodes: Sequence[Trajectory]) -> Sequence[Prompt]:
        """What it is asked about a group, as far as anything depends on it.

        Args:
            assignment: The task of the group.
            episodes: Played on it.
        """
        ...

    def collate(
        self, assignments: Sequence[Assignment], played: Sequence[list[Trajectory]], answers: Sequence[Answer]
    ) -> list[G]:
        """The groups of an iteration with what the reward model said of them.

        Args:
            assignments: The task of each group.
            played: Its episodes.
            answers: To the `questions` on all groups, in their order.

        Raises:
            ServiceLost: There is no answer to any of several.
        """
        ...

    def review(self, groups: Sequence[G], before: Sequence[Mapping[str, Any]]) -> Review:
        """Weigh outcomes and what the reward model said.

        Args:
            groups: What `heard` gave, or falsified copies of it.
            before: Metrics of all iterations before.
        """
        ...

    def quality(self, groups: Sequence[G], rng: np.random.Generator) -> dict[str, Any] | None:
        """How good the reward model was, against the truth; None where it was not asked. For the curves only."""
        ...

    def panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """What the reward model is going to be measured on, as JSON.

        Args:
            trajectories: Episodes of the warm-started policy on held-out tasks.
            tasks: These tasks.
        """
        ...

    def measure(self, panel: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Measure the reward model on a panel."""
        ...

    def measured_on(self, result: Mapping[str, Any]) -> str:
        """How much a result of `measure` was measured on, in words."""
        ...
