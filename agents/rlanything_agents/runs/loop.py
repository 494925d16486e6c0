"""The closed loop of RLAnything: collect, judge, integrate feedback, update both models, adapt the tasks.

The loop owns the order of events and nothing else: acting, judging, feedback, learning and the curriculum are
parts it is given. Its whole state is the learners and the pool, and every random choice of iteration ``k`` is
drawn from a stream named by ``k``; so a loop restored from a checkpoint goes on as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.feedback.metrics import action_shares
from rlanything_agents.reward_models.corrupt import corrupt_groups
from rlanything_agents.reward_models.reviewer import Review, Reviewer
from rlanything_agents.rollout.group import RolloutGroup, success_by_role
from rlanything_agents.rollout.queries import GroupCollector
from rlanything_agents.rollout.screens import Screens
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers
from rlanything_agents.runs.background import BackgroundRewriter
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.rewriting import service_of
from rlanything_agents.training.collection import quick_collection
from rlanything_agents.training.samples import policy_samples
from rlanything_agents.training.update import UpdateStats
from rlanything_envs.curriculum import Curriculum, Rewriter
from rlanything_envs.curriculum.monitor import CurriculumMonitor
from rlanything_task_pools import TaskPool

__all__ = ["Iteration", "Loop"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one iteration did: a row of metrics, and every turn with its judgements."""

    metrics: dict[str, Any]
    episodes: list[dict[str, Any]]


@dataclass(slots=True)
class _Stopwatch:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def lap(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - start, 3)


class Loop:
    """Runs iterations.

    Args:
        config: All settings.
        learners: Policy and judge; updated in place.
        reviewer: What the reward model is asked, and what comes of its answers.
        pool: The tasks; changed in place.
        envs: Environments to play in.
        rewriter: Where new tasks come from.
        workers: Who plays; this process, in ``envs``, if None.
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
    ) -> None:
        settings = config.curriculum
        self.config = config
        self.learners = learners
        self.pool = pool
        watched = config.rollout.screenshots
        self.envs: list[gym.Env[Any, Any]] = [*map(Screens, envs[:watched]), *envs[watched:]]
        self.workers = workers or LocalWorkers(config, learners, self.envs)
        self.reviewer = reviewer
        self._background = BackgroundRewriter(rewriter) if service_of(rewriter) is not None else None
        self.curriculum = Curriculum(
            pool,
            self._background or rewriter,
            settings.acceptance,
            settings.scheduler,
            band=settings.band,
            rollouts=config.rollout.rollouts,
            seed=config.seed,
            roots=settings.roots,
            step_back=settings.step_back,
        )
        self.monitor = CurriculumMonitor(pool, band=settings.band)

    def iterate(self, before: Sequence[Mapping[str, Any]]) -> Iteration:
        """One turn of the loop.

        Args:
            before: Metrics of all iterations before; with the models and the pool, the whole past that counts.
        """
        with quick_collection():
            return self._iterate(before)

    def _iterate(self, before: Sequence[Mapping[str, Any]]) -> Iteration:
        config, watch, iteration = self.config, _Stopwatch(), len(before) + 1
        rng = rng_of(config.seed, "iteration", iteration)
        used = config.used(before)
        played = groups = self._play(iteration, rng, watch)
        corrupted: dict[str, Any] = {}
        if config.corrupt.on:  # from here on only the measurements know the truth
            groups, corrupted["corrupted"] = corrupt_groups(played, config.corrupt, config.seed, iteration)
        with watch.lap("feedback"):
            review = self.reviewer.review(groups, before)
        with self._adapting(groups, review, iteration) as adapt:
            with watch.lap("policy_update"):
                policy = self._update_policy(groups, review, iteration, used)
            with watch.lap("judge_update"):
                samples, kept = review.samples(rng)
                judge = self.learners.judge.update(samples, config.judge_trainer.rate(iteration, used), kept)
            with watch.lap("adapt"):  # or what of it was not done beside the updates
                adapt()
        with watch.lap("measure"):
            quality = self.reviewer.quality(played, rng)
            row = self.monitor.row().to_dict()
            episodes = [episode for number in range(len(groups)) for episode in review.records(number, iteration)]
        metrics = {
            "iteration": iteration,
            "env_steps": sum(len(t.steps) for group in groups for t in group.trajectories),
            "success": success_by_role(played),
            "actions": action_shares(step.command for group in played for t in group.trajectories for step in t.steps),
            **corrupted,
            "feedback": review.stats(),
            "judge_quality": quality,
            "policy": _stats(policy),
            "judge": _stats(judge),
            "tasks": self.pool.counts(),
            "curriculum": row,
            "seconds": watch.seconds,
        }
        return Iteration(metrics, episodes)

    def _play(self, iteration: int, rng: np.random.Generator, watch: _Stopwatch) -> list[RolloutGroup]:
        settings, n = self.config.rollout, self.config.rollout.rollouts
        with watch.lap("assign"):
            assignments = self.curriculum.assign(settings.tasks, rng)
        played: list[list[Trajectory]] = []
        with self.workers.queries(self.reviewer.params(iteration)) as asking:

            def ask(number: int, group: list[Trajectory]) -> None:
                played.append(group)
                asking.add(self.reviewer.queries(assignments[number], group))

            with watch.lap("rollout"):
                self.workers.play(
                    [assignment.task for assignment in assignments for _ in range(n)],
                    Play(settings.max_steps, seed_of(self.config.seed, "rollout", iteration), settings.temperature),
                    tags=[f"slot {assignment.slot}, {assignment.role}" for assignment in assignments for _ in range(n)],
                    ended=GroupCollector(n, ask).add,
                )
            with watch.lap("judge"):  # what of it was not done while others still played
                return self.reviewer.collate(assignments, played, asking.answers())

    def _update_policy(
        self, groups: Sequence[RolloutGroup], review: Review, iteration: int, used: float
    ) -> UpdateStats:
        own = iteration - self.config.judge.warmup  # the policy stands still until the judge is warm
        samples = policy_samples(groups, review.advantages) if own > 0 else []
        kept = sum(any(a.any() for a in rows) for rows in review.advantages)
        return self.learners.policy.update(samples, self.config.policy_trainer.rate(max(1, own), used), kept)

    def _adapting(
        self, groups: Sequence[RolloutGroup], review: Review, iteration: int
    ) -> AbstractContextManager[Callable[[], None]]:
        """What adapts the tasks; where a service rewrites them, that goes on beside the block and is only waited for.

        Updates and tasks read nothing of each other, and the groups are reported one after the other in both cases.
        """
        steps = [partial(self._adapt, group, review, number, iteration) for number, group in enumerate(groups)]
        if self._background is not None:
            return self._background.doing(steps)

        def adapt() -> None:
            for step in steps:
                step()

        return nullcontext(adapt)

    def _adapt(self, group: RolloutGroup, review: Review, number: int, iteration: int) -> None:
        outcomes = group.pool_outcomes(f"policy@{iteration - 1}")
        if self.config.curriculum.adapt:
            # The summary is only written for a group that asks for a rewrite.
            self.curriculum.report(group.assignment, outcomes, critique=partial(review.critique, number))
        else:
            self.curriculum.record(group.assignment, outcomes)


def _stats(update: UpdateStats) -> dict[str, Any]:
    """As plain data; empty where there was nothing to learn from, so that no curve shows a zero for it."""
    stats = dataclasses.asdict(update)
    del stats["seconds"]  # the stopwatch has it
    return stats if update.optimizer_steps else {}
