"""Players: who plays and judges which episodes of a loop, and when.

- `Player` plays an iteration with the present weights, in this process or on workers.
- `AheadPlayer` plays an iteration during the updates of the one before it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rlanything_agents.config import RolloutConfig, RunConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.rollout.group import RolloutGroup
from rlanything_agents.rollout.queries import GroupCollector
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import Play, Workers
from rlanything_agents.runs.ahead import AheadBatch
from rlanything_agents.runs.background import in_background
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.progress import Stopwatch
from rlanything_envs.curriculum import Assignment, Curriculum
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["AheadPlayer", "Player", "make_player"]


@dataclass
class Player:
    """Plays and judges the groups of an iteration with the present weights.

    Attributes:
        settings: Number of groups, their size, and the settings of their episodes.
        workers: Run the rollouts and answer the queries to the reward model.
        reviewer: Writes the queries, and collates the answers.
        curriculum: Draws the tasks.
        seed: Seed of the rollouts.
    """

    settings: RolloutConfig
    workers: Workers
    reviewer: Reviewer[Any]
    curriculum: Curriculum
    seed: int = 0

    def play(self, iteration: int, rng: np.random.Generator, stopwatch: Stopwatch) -> list[RolloutGroup]:
        """The groups of an iteration: tasks drawn, episodes played, the reward model's answers collated.

        Args:
            iteration: Number of the iteration, from 1.
            rng: Draws the tasks.
            stopwatch: Measures the laps ``assign``, ``rollout`` and ``judge``.
        """
        with stopwatch.lap("assign"):
            assignments = self.draw(rng)
        return self.judged(assignments, lambda ready: self.rollout(assignments, iteration, ready), iteration, stopwatch)

    def during_updates(self, iteration: int | None, stopwatch: Stopwatch) -> AbstractContextManager[None]:
        """Context in which both models are updated; here nothing is played meanwhile.

        Args:
            iteration: Number of the next iteration; None where there is none.
            stopwatch: Measures what is waited for.
        """
        return nullcontext()

    def save(self, folder: Path) -> None:
        """Store in a checkpoint what models and pool do not contain."""
        self.reviewer.save(folder)

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint, with models and pool restored from it."""
        self.reviewer.load(folder)

    def draw(self, rng: np.random.Generator) -> list[Assignment]:
        """The tasks of an iteration."""
        return self.curriculum.assign(min(self.settings.tasks, len(self.curriculum.pool.slots)), rng)

    def judged(
        self,
        assignments: Sequence[Assignment],
        episodes: Callable[[Callable[[list[Trajectory]], None]], None],
        iteration: int,
        stopwatch: Stopwatch,
    ) -> list[RolloutGroup]:
        """Query the reward model about every complete group.

        Some workers answer the first queries while other groups are still being rolled out.

        Args:
            assignments: Task of each group.
            episodes: Calls its argument with the episodes of each group, in this order.
            iteration: Names the random stream of the answers.
            stopwatch: See `play`.
        """
        groups: list[list[Trajectory]] = []
        with self.workers.queries(self.reviewer.params(iteration)) as queries:

            def query(group: list[Trajectory]) -> None:
                queries.add(self.reviewer.queries(assignments[len(groups)], group))
                groups.append(group)

            with stopwatch.lap("rollout"):
                episodes(query)
            with stopwatch.lap("judge"):  # time spent judging after the last rollout finished
                return self.reviewer.collate(assignments, groups, queries.answers())

    def rollout(
        self,
        assignments: Sequence[Assignment],
        iteration: int,
        complete: Callable[[list[Trajectory]], None],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Roll out one group of episodes per assignment; call ``complete`` with each group, in their order."""
        settings = self.settings
        repeated = [assignment for assignment in assignments for _ in range(settings.rollouts)]
        self.workers.play(
            [assignment.task for assignment in repeated],
            Play(settings.max_steps, seed_of(self.seed, "rollout", iteration), settings.temperature),
            tags=[f"slot {assignment.slot}, {assignment.role}" for assignment in repeated],
            progress=progress,
            ended=GroupCollector(settings.rollouts, lambda _, group: complete(group)).add,
        )


@dataclass
class AheadPlayer(Player):
    """Plays the next iteration while the models are updated, with the weights before the updates.

    Its tasks are drawn before the updates, so they depend on nothing that happens in them. Workers or the server of the
    policy must play: this process is busy.

    Attributes:
        learners: The models, which keep the weights of the policy for the episodes.
    """

    learners: Learners = field(kw_only=True)
    _batch: AheadBatch | None = field(default=None, init=False)

    def play(self, iteration: int, rng: np.random.Generator, stopwatch: Stopwatch) -> list[RolloutGroup]:
        """See `Player.play`; groups that were played ahead say so in `RolloutGroup.ahead`."""
        batch, self._batch = self._batch, None
        if batch is None:
            return super().play(iteration, rng, stopwatch)

        def episodes(ready: Callable[[list[Trajectory]], None]) -> None:
            for group in batch.groups:
                ready(group)

        groups = self.judged(batch.assignments, episodes, iteration, stopwatch)
        return [replace(group, ahead=True) for group in groups]

    @contextmanager
    def during_updates(self, iteration: int | None, stopwatch: Stopwatch) -> Iterator[None]:
        """Roll out the next iteration while the block updates the models."""
        if iteration is None:
            yield
            return
        with stopwatch.lap("assign"):
            drawn = self.draw(rng_of(self.seed, "ahead", iteration))
        abandoned = threading.Event()

        def check(ended: int) -> None:
            if abandoned.is_set():
                raise RunMustStop("the iteration has ended")

        def play() -> AheadBatch:
            groups: list[list[Trajectory]] = []
            self.rollout(drawn, iteration, groups.append, check)
            return AheadBatch(drawn, groups)

        with self.learners.keeping("policy"), in_background(play, abandoned) as result:
            yield
            with stopwatch.lap("rollout"):
                self._batch = result()

    def save(self, folder: Path) -> None:
        """Store the batch that was played ahead in a checkpoint, too."""
        super().save(folder)
        if self._batch is not None:
            self._batch.save(folder)

    def load(self, folder: Path) -> None:
        """Continue with the batch of a checkpoint, too."""
        super().load(folder)
        self._batch = AheadBatch.load(folder, self.curriculum.pool)


def make_player(
    config: RunConfig, workers: Workers, reviewer: Reviewer[Any], curriculum: Curriculum, learners: Learners
) -> Player:
    """The player that a configuration names; see `Player` for the arguments."""
    rest = (config.rollout, workers, reviewer, curriculum, config.seed)
    return AheadPlayer(*rest, learners=learners) if config.rollout.ahead else Player(*rest)
