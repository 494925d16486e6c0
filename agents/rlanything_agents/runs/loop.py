"""The closed loop of RLAnything: assign, rollout, judge, feedback, update, adapt, measure.

`Loop` fixes the order of these steps and calls the parts that do them. Its state is the models and the task pool, and
every random choice of iteration ``k`` comes from a stream named by ``k``, so a loop restored from a checkpoint takes
the same course as one that was never interrupted.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.feedback.metrics import action_shares
from rlanything_agents.reward_models.reviewer import Review, Reviewer
from rlanything_agents.rollout.group import RolloutGroup, has_spread, rewarded_outcomes, success_by_role
from rlanything_agents.rollout.queries import GroupCollector
from rlanything_agents.rollout.screens import Screens
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers
from rlanything_agents.runs.ahead import AheadBatch
from rlanything_agents.runs.background import Abandoned, BackgroundRewriter, in_background
from rlanything_agents.runs.hooks import Hook
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.rewriting import service_of
from rlanything_agents.training.samples import policy_samples
from rlanything_agents.training.update import UpdateStats
from rlanything_envs.curriculum import Assignment, Critique, Curriculum, Rewriter, Summariser
from rlanything_envs.curriculum.monitor import CurriculumMonitor
from rlanything_task_pools import TaskPool

__all__ = ["Iteration", "Loop"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """Result of one iteration.

    Attributes:
        metrics: One row of ``metrics.jsonl``.
        episodes: One record per episode, with the judgements of its turns, ready for JSON.
        batches: Number of episodes of each rollout, in their order.
    """

    metrics: dict[str, Any]
    episodes: list[dict[str, Any]]
    batches: list[int]


class Loop:
    """Runs iterations.

    Args:
        config: All settings.
        learners: Policy and reward model; updated in place.
        reviewer: Queries the reward model, and turns its answers into advantages and training data.
        pool: The tasks; changed in place.
        envs: Environments for the rollouts.
        rewriter: Proposes harder and easier tasks.
        workers: Run the rollouts and answer the queries; this process, with ``envs``, if None.
        summariser: Summarises episodes for the rewriter; scripted if None.
        hooks: Called between the steps of an iteration, in this order.
    """

    def __init__(
        self,
        config: RunConfig,
        learners: Learners,
        reviewer: Reviewer[Any],
        pool: TaskPool,
        envs: Sequence[gym.Env[Any, Any]],
        rewriter: Rewriter,
        workers: Workers | None = None,
        summariser: Summariser | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        settings = config.curriculum
        self.summariser = summariser
        self.config = config
        self.learners = learners
        self.reviewer = reviewer
        self.pool = pool
        recorded = config.rollout.screenshots
        self.envs: list[gym.Env[Any, Any]] = [*map(Screens, envs[:recorded]), *envs[recorded:]]
        self.workers = workers or LocalWorkers(config, learners, self.envs)
        self.hooks = hooks
        self._background = BackgroundRewriter(rewriter) if service_of(rewriter) is not None else None
        self.curriculum = Curriculum(
            pool,
            self._background or rewriter,
            settings.acceptance,
            band=settings.band,
            rollouts=config.rollout.rollouts,
            seed=config.seed,
        )
        self.monitor = CurriculumMonitor(pool, band=settings.band)
        self.ahead: AheadBatch | None = None
        """First batch of the next iteration, where `RolloutConfig.ahead` is set."""

    def save(self, folder: Path) -> None:
        """Store in a checkpoint what models and pool do not contain."""
        if self.ahead is not None:
            self.ahead.save(folder)

    def load(self, folder: Path) -> None:
        """Continue from a checkpoint, with models and pool restored from it."""
        self.ahead = AheadBatch.load(folder, self.pool)

    def iterate(self, before: Sequence[Mapping[str, Any]]) -> Iteration:
        """Run one iteration.

        Args:
            before: Metrics of all earlier iterations. With the models and the pool they are the whole state of a run.
        """
        iteration = len(before) + 1
        used = self.config.used(before)
        rng = rng_of(self.config.seed, "iteration", iteration)
        stopwatch = _Stopwatch()

        ahead = len(self.ahead.groups) if self.ahead else 0
        judged, batches = self._rollout_and_judge(iteration, rng, stopwatch)
        env_steps = sum(len(trajectory.steps) for group in judged for trajectory in group.trajectories)
        groups = judged
        for hook in self.hooks:
            groups = hook.judged(groups, iteration)
        with stopwatch.lap("feedback"):
            review = self.reviewer.review(groups, before)
            if self.config.curriculum.rejected == "drop":
                review = review.without(self._rejected(groups))
        for hook in self.hooks:
            review = hook.reviewed(review, groups, iteration)
        with stopwatch.lap("adapt"):
            critiques = self._critiques(groups, review)
        over = self.config.used([*before, {"env_steps": env_steps}]) >= 1
        with (
            self._playing_ahead(None if over else iteration + 1, stopwatch) as next_batch,
            self._adapting(groups, review, critiques, iteration, ahead) as adapt,
        ):
            with stopwatch.lap("policy_update"):
                policy = self._update_policy(groups, review, iteration, used)
            with stopwatch.lap("judge_update"):
                judge = self._update_judge(review, rng, iteration, used)
            with stopwatch.lap("adapt"):  # only the rest, where a rewriter works in the background of the updates
                adapt()
            with stopwatch.lap("rollout"):
                self.ahead = next_batch()
        with stopwatch.lap("measure"):
            quality = self.reviewer.quality(judged, rng)
            curriculum = self.monitor.row().to_dict()
            episodes = [record for number in range(len(groups)) for record in review.records(number, iteration)]

        trajectories = [trajectory for group in judged for trajectory in group.trajectories]
        overlong = sum(trajectory.overlong for trajectory in trajectories)
        crashes = sum(bool(trajectory.agent_crash) for trajectory in trajectories)
        metrics = {
            "iteration": iteration,
            "env_steps": env_steps,
            "success": success_by_role(judged),
            "groups": self._group_counts(judged, ahead),
            "overlong": {"episodes": overlong, "share": overlong / len(trajectories)},
            "agent_crash": {"episodes": crashes, "share": crashes / len(trajectories)},
            "actions": action_shares(step.command for trajectory in trajectories for step in trajectory.steps),
            "feedback": review.stats(),
            "judge_quality": quality,
            "policy": _update_metrics(policy),
            "judge": _update_metrics(judge),
            "tasks": self.pool.counts(),
            "curriculum": curriculum,
            "seconds": stopwatch.seconds,
        }
        return Iteration(metrics, episodes, [size * self.config.rollout.rollouts for size in batches])

    def _rollout_and_judge(
        self, iteration: int, rng: np.random.Generator, stopwatch: _Stopwatch
    ) -> tuple[list[RolloutGroup], list[int]]:
        """Draw tasks, roll out one group of episodes per task, and query the reward model about every complete group.

        With ``rollout.refill`` there are further batches, on tasks that no group has played yet, in place of groups
        without spread. Some workers answer the first queries while other groups are still being rolled out.

        The first batch may have been played ahead, during the updates of the iteration before.

        Returns:
            All groups in the order of the batches, and the number of groups of each batch.
        """
        settings = self.config.rollout
        assignments: list[Assignment] = []
        groups: list[list[Trajectory]] = []
        batches: list[int] = []
        with self.workers.queries(self.reviewer.params(iteration)) as queries:

            def query(group: list[Trajectory]) -> None:
                assignment = assignments[len(groups)]
                groups.append(group)
                queries.add(self.reviewer.queries(assignment, group))

            while len(batches) <= settings.refill:
                played = {assignment.slot for assignment in assignments}
                missing = min(settings.tasks - sum(map(self._has_spread, groups)), len(self.pool.slots) - len(played))
                if not missing:
                    break
                ahead, self.ahead = self.ahead, None
                if ahead is not None:
                    assignments += ahead.assignments
                    for group in ahead.groups:
                        query(group)
                else:
                    with stopwatch.lap("assign"):
                        drawn = self.curriculum.assign(missing, rng, without=played)
                    assignments += drawn
                    seed = seed_of(self.config.seed, "rollout", iteration, *([len(batches)] if batches else []))
                    with stopwatch.lap("rollout"):
                        self._play(drawn, seed, query)
                batches.append(missing)
            with stopwatch.lap("judge"):  # time spent judging after the last rollout finished
                return self.reviewer.collate(assignments, groups, queries.answers()), batches

    @contextmanager
    def _playing_ahead(self, iteration: int | None, stopwatch: _Stopwatch) -> Iterator[Callable[[], AheadBatch | None]]:
        """Roll out the first batch of an iteration with the present weights while the block changes them.

        Its tasks are drawn when the block begins, so they depend on nothing that happens in it.

        Args:
            iteration: Number of the iteration; None where there is no further one.
            stopwatch: Measures the drawing of tasks.

        Yields:
            A function that waits for the batch; it returns None where nothing is played ahead.
        """
        if iteration is None or not self.config.rollout.ahead:
            yield lambda: None
            return
        with stopwatch.lap("assign"):
            rng = rng_of(self.config.seed, "ahead", iteration)
            drawn = self.curriculum.assign(min(self.config.rollout.tasks, len(self.pool.slots)), rng)
        abandoned = threading.Event()

        def check(ended: int) -> None:
            if abandoned.is_set():
                raise Abandoned("the iteration has ended")

        def play() -> AheadBatch:
            groups: list[list[Trajectory]] = []
            self._play(drawn, seed_of(self.config.seed, "rollout", iteration), groups.append, check)
            return AheadBatch(drawn, groups)

        with self.learners.keeping("policy"), in_background(play, abandoned) as result:
            yield result

    def _play(
        self,
        assignments: Sequence[Assignment],
        seed: int,
        complete: Callable[[list[Trajectory]], None],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Roll out one group of episodes per assignment; call ``complete`` with each group, in their order."""
        settings = self.config.rollout
        repeated = [assignment for assignment in assignments for _ in range(settings.rollouts)]
        self.workers.play(
            [assignment.task for assignment in repeated],
            Play(settings.max_steps, seed, settings.temperature),
            tags=[f"slot {assignment.slot}, {assignment.role}" for assignment in repeated],
            progress=progress,
            ended=GroupCollector(settings.rollouts, lambda _, group: complete(group)).add,
        )

    def _has_spread(self, episodes: Sequence[Trajectory]) -> bool:
        return has_spread(rewarded_outcomes(episodes, self.config.feedback))

    def _group_counts(self, groups: Sequence[RolloutGroup], ahead: int) -> dict[str, Any]:
        """Number of groups, how many of them were played ahead and by ``rollout.refill``, and the share with spread."""
        played = len(groups)
        spread = sum(self._has_spread(group.trajectories) for group in groups)
        refilled = played - self.config.rollout.tasks
        return {"played": played, "ahead": ahead, "refilled": refilled, "spread": spread / played}

    def _update_policy(
        self, groups: Sequence[RolloutGroup], review: Review, iteration: int, used: float
    ) -> UpdateStats:
        updates = iteration - self.config.judge.warmup  # the policy is not updated before the judge is warmed up
        samples = policy_samples(groups, review.advantages) if updates > 0 else []
        learnt_from = sum(any(steps.any() for steps in group) for group in review.advantages)
        rate = self.config.policy_trainer.rate(max(1, updates), used)
        return self.learners.policy.update(samples, rate, learnt_from)

    def _update_judge(self, review: Review, rng: np.random.Generator, iteration: int, used: float) -> UpdateStats:
        samples, learnt_from = review.samples(rng)
        rate = self.config.judge_trainer.rate(iteration, used)
        return self.learners.judge.update(samples, rate, learnt_from)

    def _rejected(self, groups: Sequence[RolloutGroup]) -> set[int]:
        """Numbers of the groups with which the curriculum will reject their candidate; nothing is reported yet."""
        if not self.config.curriculum.adapt:
            return set()
        return {
            number
            for number, group in enumerate(groups)
            if self.curriculum.rejects(group.assignment, group.pool_outcomes(""))
        }

    def _critiques(self, groups: Sequence[RolloutGroup], review: Review) -> dict[int, Critique]:
        """Critiques by the reward model, before it is updated, of the groups whose tasks will be rewritten."""
        if self.config.summariser != "judge" or not self.config.curriculum.adapt:
            return {}
        return {
            number: review.critique(number, self.summariser)
            for number, group in enumerate(groups)
            if self.curriculum.rewrites(group.assignment, group.pool_outcomes(""))
        }

    def _adapting(
        self,
        groups: Sequence[RolloutGroup],
        review: Review,
        critiques: Mapping[int, Critique],
        iteration: int,
        ahead: int,
    ) -> AbstractContextManager[Callable[[], None]]:
        """Context whose value adapts the tasks to the groups, one group after the other.

        A rewriter that waits for a service begins when the context is entered and works in the background; its value
        then waits until it is done. Updates and tasks read nothing of each other, so both orders have one result.
        """
        steps = [
            partial(
                self._adapt,
                group,
                # Lazy otherwise: a critique is written only for a group whose task is rewritten.
                critiques.get(number) or partial(review.critique, number, self.summariser),
                iteration - 1 - (number < ahead),
            )
            for number, group in enumerate(groups)
        ]
        if self._background is not None:
            return self._background.running(steps)

        def adapt() -> None:
            for step in steps:
                step()

        return nullcontext(adapt)

    def _adapt(self, group: RolloutGroup, critique: Critique | Callable[[], Critique], updates: int) -> None:
        """Report the outcomes of a group to the curriculum, which may have its task rewritten.

        Args:
            group: The group, played by the policy after so many ``updates``.
            critique: For the rewriter.
            updates: See ``group``.
        """
        outcomes = group.pool_outcomes(f"policy@{updates}")
        if self.config.curriculum.adapt:
            self.curriculum.report(group.assignment, outcomes, critique=critique)
        else:
            self.curriculum.record(group.assignment, outcomes)


@dataclass(slots=True)
class _Stopwatch:
    """Seconds of each step of an iteration, by its name; laps of one name add up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


def _update_metrics(update: UpdateStats) -> dict[str, Any]:
    """Statistics of an update as plain data; empty without an optimizer step, so that no curve shows a zero for it."""
    stats = dataclasses.asdict(update)
    del stats["seconds"]  # measured by the stopwatch
    return stats if update.optimizer_steps else {}
