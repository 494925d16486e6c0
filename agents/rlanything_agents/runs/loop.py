"""The closed loop of RLAnything: assign, rollout, judge, feedback, update, adapt.

`Loop.iterate` is the algorithm of the paper. A *player* decides who plays which episodes when, and *hooks* see or
change what passes between two steps; records, monitors and the interventions of studies are hooks. The state of a loop
is the models, the task pool, the player and the reviewer, and every random choice of iteration ``k`` comes from a
stream named by ``k``, so a loop restored from a checkpoint takes the same course as one that was never interrupted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from rlanything_agents.config.seeds import rng_of
from rlanything_agents.feedback.metrics import action_shares
from rlanything_agents.reward_models.reviewer import Review, Reviewer
from rlanything_agents.rollout.copies import Role
from rlanything_agents.rollout.group import RolloutGroup, has_spread, success_by_role
from rlanything_agents.runs.background import BackgroundRewriter
from rlanything_agents.runs.hooks import Hook, Iteration
from rlanything_agents.runs.learners import Learners
from rlanything_agents.runs.player import Player
from rlanything_agents.runs.progress import Stopwatch
from rlanything_agents.training.samples import policy_samples
from rlanything_agents.training.update import UpdateStats
from rlanything_envs.curriculum import Critique, Curriculum, Summariser
from rlanything_envs.curriculum.monitor import CurriculumMonitor

__all__ = ["Loop"]


class Loop:
    """Runs iterations.

    Args:
        learners: Policy and reward model; updated in place.
        reviewer: Queries the reward model, and turns its answers into advantages and training data.
        curriculum: Draws the tasks and rewrites them.
        player: Plays and judges the episodes of an iteration.
        used: Share of the budget that the iterations of some metrics rows have used; the last one reaches 1.
        seed: Seed of the random choices.
        adapt: Whether tasks are rewritten; otherwise their outcomes are recorded alone.
        summariser: Summarises episodes for the rewriter; scripted if None.
        summarise_first: Whether summaries are written before the updates, as where the reward model writes them.
        hooks: Called between the steps of an iteration, in this order.
    """

    def __init__(
        self,
        learners: Learners,
        reviewer: Reviewer[Any],
        curriculum: Curriculum,
        player: Player,
        *,
        used: Callable[[Sequence[Mapping[str, Any]]], float],
        seed: int = 0,
        adapt: bool = True,
        summariser: Summariser | None = None,
        summarise_first: bool = False,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.learners, self.reviewer, self.curriculum, self.player = learners, reviewer, curriculum, player
        self.used, self.seed, self.adapt, self.hooks = used, seed, adapt, hooks
        self.summariser, self.summarise_first = summariser, summarise_first
        self.monitor = CurriculumMonitor(curriculum.pool, band=curriculum.band)

    def iterate(self, before: Sequence[Mapping[str, Any]]) -> Iteration:
        """Run one iteration.

        Args:
            before: Metrics of all earlier iterations. With models, pool and player they are the whole state of a run.
        """
        number, used = len(before) + 1, self.used(before)
        rng = rng_of(self.seed, "iteration", number)
        stopwatch = Stopwatch()

        # Tasks are drawn, a group of episodes is played for each, and the reward model votes on every step or tests
        # every program.
        played = groups = self.player.play(number, rng, stopwatch)
        for hook in self.hooks:
            groups = hook.judged(groups, number)

        # Integrated rewards for both models (paper, equations 1 to 4).
        with stopwatch.lap("feedback"):
            review = self.reviewer.review(groups, number)
        for hook in self.hooks:
            review = hook.reviewed(review, groups, number)

        # Both models learn from what they wrote themselves, and the tasks adapt to how the policy did.
        env_steps = sum(len(trajectory.steps) for group in played for trajectory in group.trajectories)
        last = self.used([*before, {"env_steps": env_steps}]) >= 1
        with stopwatch.lap("adapt"):
            critiques = self._critiques(groups, review)
        with (
            self.player.during_updates(None if last else number + 1, stopwatch),
            self._adapting(groups, critiques, number, stopwatch),
        ):
            with stopwatch.lap("policy_update"):
                policy = self._update("policy", policy_samples(groups, review.advantages), number, used)
            with stopwatch.lap("judge_update"):
                judge = self._update("judge", review.samples(rng), number, used)

        with stopwatch.lap("measure"):
            row = {
                "iteration": number,
                "env_steps": env_steps,
                **_played(played),
                "feedback": review.stats(),
                "judge_quality": self.reviewer.quality(played, rng),
                "policy": policy,
                "judge": judge,
                "tasks": self.curriculum.pool.counts(),
                "curriculum": self.monitor.row().to_dict(),
                **self.learners.counted(),
            }
            episodes = list(self._records(review, groups, number))
        result = Iteration({**row, "seconds": stopwatch.seconds}, episodes)
        for hook in self.hooks:
            hook.iterated(result)
        return result

    def _records(self, review: Review, groups: Sequence[RolloutGroup], number: int) -> Iterator[dict[str, Any]]:
        """Records of the episodes, with the raw texts of their turns."""
        for at, group in enumerate(groups):
            for record, trajectory in zip(review.records(at, number), group.trajectories, strict=True):
                for turn, raw in zip(record["turns"], self.learners.actor.renderer.raw(trajectory), strict=True):
                    turn.update(raw)
                yield record

    def _update(self, role: Role, samples: Any, number: int, used: float) -> dict[str, Any]:
        """Train a model on samples; returns the statistics as plain data.

        They are empty without an optimizer step, so that no curve shows a zero for it.
        """
        learner = self.learners.both[role]
        rate = learner.config.rate(number, used)
        update: UpdateStats = learner.update(samples, rate)
        stats = dataclasses.asdict(update) | {"learning_rate": rate * learner.config.learning_rate}
        del stats["seconds"]  # measured by the stopwatch
        return stats if update.optimizer_steps else {}

    def _critiques(self, groups: Sequence[RolloutGroup], review: Review) -> list[Critique | Callable[[], Critique]]:
        """Critique of each group for the rewriter.

        A critique is written only for a group whose task is rewritten: when the rewriter reads it, or at once, where
        the reward model writes it, which is about to be updated.
        """
        critiques: list[Critique | Callable[[], Critique]] = []
        for number, group in enumerate(groups):
            critique = partial(review.critique, number, self.summariser)
            now = self.summarise_first and self.adapt
            written = now and self.curriculum.rewrites(group.assignment, group.pool_outcomes(""))
            critiques.append(critique() if written else critique)
        return critiques

    @contextmanager
    def _adapting(
        self,
        groups: Sequence[RolloutGroup],
        critiques: Sequence[Critique | Callable[[], Critique]],
        number: int,
        stopwatch: Stopwatch,
    ) -> Iterator[None]:
        """Adapt the tasks to the groups, one after the other.

        A rewriter that waits for a service works during the block, others after it. Updates and tasks read nothing of
        each other, so both orders have one result.
        """

        def report(group: RolloutGroup, critique: Critique | Callable[[], Critique], updates: int) -> None:
            outcomes = group.pool_outcomes(f"policy@{updates}")
            if self.adapt:
                self.curriculum.report(group.assignment, outcomes, critique=critique)
            else:
                self.curriculum.record(group.assignment, outcomes)

        steps = [
            partial(report, group, critique, number - 1 - group.ahead)
            for group, critique in zip(groups, critiques, strict=True)
        ]
        rewriter = self.curriculum.rewriter
        background = rewriter.running(steps) if isinstance(rewriter, BackgroundRewriter) else nullcontext(None)
        with background as wait:
            yield
            with stopwatch.lap("adapt"):  # only the rest, where the rewriter has begun
                if wait is not None:
                    wait()
                else:
                    for step in steps:
                        step()


def _played(groups: Sequence[RolloutGroup]) -> dict[str, Any]:
    """What the episodes of an iteration came to, for its row of metrics."""
    episodes = [trajectory for group in groups for trajectory in group.trajectories]
    turns = sum(len(episode.steps) for episode in episodes)
    sampled = sum(step is not None for episode in episodes for step in episode.step_of_token)
    overlong = sum(episode.overlong for episode in episodes)
    crashes = sum(bool(episode.agent_crash) for episode in episodes)
    return {
        "success": success_by_role(groups),
        "groups": {
            "played": len(groups),
            "ahead": sum(group.ahead for group in groups),
            "spread": sum(has_spread(group.outcomes) for group in groups) / len(groups),
        },
        "turns": {"episode": turns / len(episodes), "tokens": sampled / turns if turns else None},
        "overlong": {"episodes": overlong, "share": overlong / len(episodes)},
        "agent_crash": {"episodes": crashes, "share": crashes / len(episodes)},
        "actions": action_shares(step.command for episode in episodes for step in episode.steps),
    }
