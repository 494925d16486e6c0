"""The closed loop of RLAnything: collect, judge, integrate feedback, update both models, adapt the tasks.

The loop owns the order of events and nothing else: acting, judging, feedback, learning and the curriculum are
parts it is given. Its whole state is the learners and the pool, and every random choice of iteration ``k`` is
drawn from a stream named by ``k``; so a loop restored from a checkpoint goes on as if it had never stopped.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.config import RunConfig
from rlanything_agents.evaluate import score_matrix
from rlanything_agents.feedback import GroupFeedback, feedback_stats, group_feedback, judged_steps
from rlanything_agents.learners import Learners
from rlanything_agents.metrics import judge_quality
from rlanything_agents.reward_model import StepVotes
from rlanything_agents.rollout import rollout
from rlanything_agents.sample import Sample
from rlanything_agents.seeds import rng_of, seed_of
from rlanything_agents.trainer_config import UpdateStats
from rlanything_agents.trajectory import Trajectory
from rlanything_envs.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.critique import JudgedEpisode, JudgedStep, task_critique
from rlanything_envs.curriculum.monitor import CurriculumMonitor
from rlanything_task_pools import Outcome, TaskPool

__all__ = ["Iteration", "Loop"]

LABELLED = 24
"""Trajectories per iteration that are compared with the planner; for the curves only, never for training."""


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
        pool: The tasks; changed in place.
        envs: Environments to play in.
    """

    def __init__(
        self, config: RunConfig, learners: Learners, pool: TaskPool, envs: Sequence[gym.Env[Any, Any]]
    ) -> None:
        self.config = config
        self.learners = learners
        self.pool = pool
        self.envs = envs
        self.curriculum = Curriculum(
            pool,
            config.curriculum.rewriter,
            config.curriculum.acceptance,
            config.curriculum.scheduler,
            band=config.curriculum.band,
            rollouts=config.rollout.rollouts,
            seed=config.seed,
        )
        self.monitor = CurriculumMonitor(pool, band=config.curriculum.band)

    def iterate(self, iteration: int) -> Iteration:
        """One turn of the loop. ``iteration`` counts from 1 and names its random streams."""
        config, watch = self.config, _Stopwatch()
        rng = rng_of(config.seed, "iteration", iteration)
        groups = self.curriculum.assign(config.rollout.tasks, rng)
        with watch.lap("rollout"):
            played = self._collect(groups, iteration)
        with watch.lap("judge"):
            judged = self._judge(played, iteration)
        feedback = [
            group_feedback(
                [trajectory.outcome for trajectory in group],
                [score_matrix(steps) for steps in votes],
                config.feedback,
            )
            for group, votes in zip(played, judged, strict=True)
        ]
        with watch.lap("policy_update"):
            rate = config.policy_trainer.rate(iteration, config.iterations)
            policy = self.learners.policy.trainer.update(_policy_samples(played, feedback), rate)
        with watch.lap("judge_update"):
            rate = config.judge_trainer.rate(iteration, config.iterations)
            judge = self.learners.judge.trainer.update(self._judge_samples(judged, feedback, rng), rate)
        with watch.lap("adapt"):
            self._adapt(groups, played, judged, iteration)
        episodes = list(_episodes(iteration, groups, played, judged, feedback))
        metrics = {
            "iteration": iteration,
            "env_steps": sum(len(t.steps) for group in played for t in group),
            "success": _success(groups, played),
            "feedback": dataclasses.asdict(feedback_stats(feedback)),
            "judge_quality": self._judge_quality(groups, played, judged, rng),
            "policy": _stats(policy),
            "judge": _stats(judge),
            "tasks": self.pool.counts(),
            "curriculum": self.monitor.row().to_dict(),
            "seconds": watch.seconds,
        }
        return Iteration(metrics, episodes)

    def _collect(self, groups: Sequence[Assignment], iteration: int) -> list[list[Trajectory]]:
        settings = self.config.rollout
        n = settings.rollouts
        flat = rollout(
            self.learners.policy.model,
            self.learners.dialect,
            self.envs,
            [group.task for group in groups for _ in range(n)],
            max_steps=settings.max_steps,
            seed=seed_of(self.config.seed, "rollout", iteration),
            temperature=settings.temperature,
            constrained=settings.constrained,
            tags=[f"slot {group.slot}, {group.role}" for group in groups for _ in range(n)],
        )
        return [flat[k : k + n] for k in range(0, len(flat), n)]

    def _judge(self, played: Sequence[Sequence[Trajectory]], iteration: int) -> list[list[list[StepVotes]]]:
        settings = self.config.judge
        if not settings.train and self.config.feedback.lam == 0:
            return [[[StepVotes([], ()) for _ in t.steps] for t in group] for group in played]
        flat = iter(
            self.learners.reward_model.judge(
                [trajectory for group in played for trajectory in group],
                votes=settings.votes,
                seed=seed_of(self.config.seed, "judge", iteration),
                temperature=settings.temperature,
            )
        )
        return [[next(flat) for _ in group] for group in played]

    def _judge_samples(
        self,
        judged: Sequence[Sequence[Sequence[StepVotes]]],
        feedback: Sequence[GroupFeedback],
        rng: np.random.Generator,
    ) -> list[Sample]:
        settings = self.config.judge
        if not settings.train:
            return []
        chosen = judged_steps(feedback, rng, balance=self.config.feedback.balance, limit=settings.steps)
        return [
            sample
            for at in chosen
            for sample in judged[at.group][at.trajectory][at.step].samples(
                feedback[at.group].judge[at.trajectory][at.step].tolist()
            )
        ]

    def _adapt(
        self,
        groups: Sequence[Assignment],
        played: Sequence[Sequence[Trajectory]],
        judged: Sequence[Sequence[Sequence[StepVotes]]],
        iteration: int,
    ) -> None:
        for group, trajectories, votes in zip(groups, played, judged, strict=True):
            outcomes = [
                Outcome(
                    success=t.success,
                    score=t.score,
                    steps=len(t.steps),
                    actor=f"policy@{iteration - 1}",
                    role=group.role,
                )
                for t in trajectories
            ]
            if self.config.curriculum.adapt:
                # The summary is only written for a group that asks for a rewrite.
                critique = partial(task_critique, _judged_episodes(group, trajectories, votes))
                self.curriculum.report(group, outcomes, critique=critique)
            else:
                self.curriculum.record(group, outcomes)

    def _judge_quality(
        self,
        groups: Sequence[Assignment],
        played: Sequence[Sequence[Trajectory]],
        judged: Sequence[Sequence[Sequence[StepVotes]]],
        rng: np.random.Generator,
    ) -> dict[str, Any] | None:
        """Agreement with the planner on a few trajectories of this iteration."""
        places = [
            (g, t)
            for g, group in enumerate(played)
            for t, trajectory in enumerate(group)
            if trajectory.outcome is not None and judged[g][t] and judged[g][t][0].votes
        ]
        if not places:
            return None
        chosen = [places[k] for k in sorted(rng.choice(len(places), min(LABELLED, len(places)), replace=False))]
        true_labels = self.learners.dialect.true_labels
        return judge_quality(
            [score_matrix(judged[g][t]) for g, t in chosen],
            [np.array(true_labels(groups[g].task.payload, played[g][t].steps)) for g, t in chosen],
            [int(played[g][t].outcome or 0) for g, t in chosen],
        ).to_dict()


def _judged_episodes(
    group: Assignment, trajectories: Sequence[Trajectory], votes: Sequence[Sequence[StepVotes]]
) -> list[JudgedEpisode]:
    """The episodes as whoever rewrites their task is told of them."""
    return [
        JudgedEpisode(
            goal=group.task.goal,
            steps=tuple(
                JudgedStep(step.action, step.observation, judged.scores)
                for step, judged in zip(trajectory.steps, steps, strict=True)
            ),
            success=trajectory.success,
            opening=trajectory.opening,
        )
        for trajectory, steps in zip(trajectories, votes, strict=True)
    ]


def _stats(update: UpdateStats) -> dict[str, Any]:
    """As plain data; empty where there was nothing to learn from, so that no curve shows a zero for it."""
    stats = dataclasses.asdict(update)
    del stats["seconds"]  # the stopwatch has it
    return stats if update.optimizer_steps else {}


def _policy_samples(played: Sequence[Sequence[Trajectory]], feedback: Sequence[GroupFeedback]) -> list[Sample]:
    return [
        trajectory.sample(advantages.tolist())
        for group, result in zip(played, feedback, strict=True)
        for trajectory, advantages in zip(group, result.policy, strict=True)
        if advantages.any()
    ]


def _success(groups: Sequence[Assignment], played: Sequence[Sequence[Trajectory]]) -> dict[str, float | None]:
    rates: dict[str, float | None] = {}
    for role in ("active", "candidate"):
        ended = [
            trajectory.outcome == 1
            for group, trajectories in zip(groups, played, strict=True)
            for trajectory in trajectories
            if group.role == role and trajectory.outcome is not None
        ]
        rates[role] = sum(ended) / len(ended) if ended else None
    return rates


def _episodes(
    iteration: int,
    groups: Sequence[Assignment],
    played: Sequence[Sequence[Trajectory]],
    judged: Sequence[Sequence[Sequence[StepVotes]]],
    feedback: Sequence[GroupFeedback],
) -> Iterator[dict[str, Any]]:
    """Every episode of the iteration, with what was said about each turn and what came of it."""
    for group, trajectories, votes, result in zip(groups, played, judged, feedback, strict=True):
        for t, trajectory in enumerate(trajectories):
            rewards, advantages = result.rewards[t], result.policy[t]
            yield {
                "iteration": iteration,
                "slot": group.slot,
                "role": group.role,
                "goal": group.task.goal,
                **{k: v for k, v in trajectory.to_dict().items() if k not in ("tag", "steps")},
                "turns": [
                    {
                        "thought": step.thought,
                        "action": step.action,
                        "observation": step.observation,
                        "judgements": [vote.text for vote in votes[t][i].votes],
                        "votes": list(votes[t][i].scores),
                        "reward": None if np.isnan(rewards[i]) else round(float(rewards[i]), 4),
                        "advantage": round(float(advantages[i]), 4),
                    }
                    for i, step in enumerate(trajectory.steps)
                ],
            }
