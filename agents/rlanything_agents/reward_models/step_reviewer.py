"""Reviewer of a step judge: it queries the votes, integrates them with the outcomes, and measures the judge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.feedback import CRITIC, FeedbackConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.feedback import (
    GroupFeedback,
    batch_feedback,
    feedback_stats,
    group_accuracy,
    judged_steps,
    votes_count,
)
from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.feedback.critic import Critic, evidence_of
from rlanything_agents.feedback.metrics import judge_quality, quality_intervals
from rlanything_agents.feedback.percent import percent
from rlanything_agents.reward_models.critic_memory import CriticMemory
from rlanything_agents.reward_models.judged_group import JudgedGroup, score_matrix
from rlanything_agents.reward_models.reviewer import Measure
from rlanything_agents.reward_models.step_judge import StepJudge, StepVotes, Vote
from rlanything_agents.rollout.group import rewarded_outcomes
from rlanything_agents.rollout.queries import Answer, Query
from rlanything_agents.rollout.trajectory import Step, Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.curriculum import Assignment, rewrite_direction
from rlanything_envs.curriculum.critique import Critique, task_critique
from rlanything_envs.curriculum.summary import Summariser
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import SamplingParams
from rlanything_task_pools import Task

__all__ = ["StepReview", "StepReviewer", "label_votes", "stored_trajectory"]

TrueLabels: TypeAlias = Callable[[Mapping[str, Any], Trajectory], "list[int] | None"]

OF_SIGNS = frozenset({"p_plus", "p_minus", "mu", "process", "process_balanced", "likeliest"})
"""Numbers of votes on steps, which a forecast of a low chance of success is not."""
LABELLED = 24
"""Trajectories per iteration whose votes are compared with the true labels; for the curves only, never for training."""


class StepReviewer:
    """Reviewer of a reward model that votes on every step.

    Args:
        config: All settings.
        judge: The reward model.
        true_labels: Function from a task's payload and an episode to 1, -1 or 0 (neither) per step; it returns None
            where the domain has no ground truth.
    """

    success = "success"
    measures = (
        Measure("judge, its most probable votes: process accuracy (balanced)", "likeliest"),
        Measure("judge, single votes: process accuracy (balanced)", "process_balanced"),
        Measure("judge, single votes: process accuracy (plain)", "process"),
        Measure("judge, outcome accuracy", "outcome"),
        Measure("judge, outcome AUC", "outcome_auc"),
        Measure("judge, outcome AUC in mid-episode", "mid_auc"),
        Measure("judge, calibration error", "calibration", -1),
        Measure("judge, votes that cannot be read", "unparsable", -1),
    )

    def __init__(self, config: RunConfig, judge: StepJudge, true_labels: TrueLabels) -> None:
        self.config = config
        self.judge = judge
        self.true_labels = true_labels
        self.memory = CriticMemory()

    @property
    def note(self) -> str:
        """What the measures mean, and which of their changes are no learning."""
        noise = self.config.warm_start.label_noise
        taught = _taught(self.config)
        return (
            "Process accuracy compares votes with the planner's step labels on fixed trajectories of the warm-started "
            'policy; balanced means that always answering "wrong" scores 50 %. '
            + (
                f"The warm start flipped {percent(noise, 0)} of the labels that it taught the judge: single votes "
                "repeat these errors at first, its most probable votes do not, so only the latter say what was learnt. "
                if noise and taught
                else ""
            )
            + "A judge that always says the same has an outcome AUC of 50 %, in mid-episode too; its calibration error "
            "is the distance of its scores, read as chances of success, from the outcomes. Unreadable votes count in "
            "their own line alone."
        )

    def params(self, iteration: int) -> SamplingParams:
        """Sampling parameters of the votes."""
        settings, seed = self.config.judge, seed_of(self.config.seed, "judge", iteration)
        return self.judge.params(votes=max(1, settings.votes), seed=seed, temperature=settings.temperature)

    def queries(self, assignment: Assignment, episodes: Sequence[Trajectory]) -> list[Query]:
        """One query per step of each episode; none where nothing depends on the votes."""
        if not self._is_queried(assignment, episodes):
            return []
        return [query for t in episodes for query in self.judge.queries(t)]

    def collate(
        self, assignments: Sequence[Assignment], played: Sequence[list[Trajectory]], answers: Sequence[Answer]
    ) -> list[JudgedGroup]:
        """The groups with their votes; an episode with a step on which the generator failed is masked."""
        votes = self._votes(assignments, played, answers)
        groups = zip(assignments, played, votes, strict=True)
        return [JudgedGroup(assignment, *_masked(group, steps)) for assignment, group, steps in groups]

    def review(self, groups: Sequence[JudgedGroup], iteration: int = 1) -> StepReview:
        """Integrate outcomes and votes."""
        feedback = _rules(self.config)
        played = [(rewarded_outcomes(group.trajectories, feedback), group.scores()) for group in groups]
        tasks = [group.assignment.task.id for group in groups]
        critic = None
        if feedback.credit == CRITIC:
            outcomes = [np.array([np.nan if o is None else float(o) for o in ends]) for ends, _ in played]
            critic = self.memory.critic(iteration, evidence_of(tasks, outcomes, [votes for _, votes in played]))
        found = batch_feedback(
            played,
            feedback,
            readable=[group.readable() for group in groups],
            states=[group.states() for group in groups],
            tasks=tasks,
            critic=critic,
            sampled=[group.forecasts() for group in groups] if self.config.judge.answers == "forecasts" else None,
        )
        return StepReview(self.config, list(groups), found, critic)

    def save(self, folder: Path) -> None:
        """Store what the critic remembers, where there is one."""
        self.memory.save(folder)

    def load(self, folder: Path) -> None:
        """Continue with what the critic of a checkpoint remembers."""
        self.memory.load(folder)

    def panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """Trajectories with the true labels of their steps; those without an outcome or a step are left out."""
        payloads = {task.id: task.payload for task in tasks}
        return [
            {**t.to_dict(), "labels": labels}
            for t in trajectories
            if t.outcome is not None and t.steps and (labels := self.true_labels(payloads[t.task_id], t)) is not None
        ]

    def measure(self, panel: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Fields of `JudgeQuality`, each share with its interval (``NAME_interval``); empty for an empty panel, as in a
        domain without true labels.

        ``likeliest`` is the balanced process accuracy of the votes that are most probable, token by token.
        """
        if not panel:
            return {}
        shown = [stored_trajectory(record) for record in panel], [record["labels"] for record in panel]
        settings, seed = self.config.judge, seed_of(0, "judge panel")
        sampled = _judged(self.judge, *shown, votes=max(1, settings.votes), temperature=settings.temperature, seed=seed)
        likeliest = _judged(self.judge, *shown, votes=1, temperature=0.0, seed=seed)
        limits = quality_intervals(*sampled, seed)
        if (best := quality_intervals(*likeliest, seed).get("process_balanced")) is not None:
            limits["likeliest"] = best
        result = {**judge_quality(*sampled).to_dict(), "likeliest": judge_quality(*likeliest).process_balanced}
        ends = {f"{name}_interval": ends for name, ends in _without_signs(self.config, dict(limits)).items() if ends}
        return {**_without_signs(self.config, result), **ends}

    def measured_on(self, result: Mapping[str, Any]) -> str:
        """Numbers of steps and of trajectories."""
        return f"{result['steps']} steps, {result['trajectories']} trajectories"

    def _is_queried(self, assignment: Assignment, episodes: Sequence[Trajectory]) -> bool:
        """Whether the reward model is queried about a group."""
        feedback, curriculum = _rules(self.config), self.config.curriculum
        outcomes = rewarded_outcomes(episodes, feedback)
        accuracy = group_accuracy(np.array([np.nan if t.outcome is None else t.outcome for t in episodes]))
        # The tasks of these groups are rewritten, and the rewriter reads what the votes blame.
        rewritten = (
            curriculum.rewrites
            and assignment.role == "active"
            and accuracy is not None
            and rewrite_direction(accuracy, curriculum.band) is not None
        )
        # Answers without a form may be unreadable, which teaches the format outside of the bands.
        formats = feedback.teach_format and self.config.judge_learns and self.judge.prompts.form is None
        return self.config.queries_judge and (
            self.config.judge.scope == "all"
            or votes_count(outcomes, feedback)
            or rewritten
            or (formats and any(outcome is not None for outcome in outcomes))
        )

    def _votes(
        self, assignments: Sequence[Assignment], played: Sequence[Sequence[Trajectory]], answers: Sequence[Answer]
    ) -> list[list[list[StepVotes]]]:
        """Votes per group, trajectory and step; empty where the reward model was not queried."""
        parsed = iter(self.judge.votes(answers))
        return [
            [[next(parsed) if queried else StepVotes([], ()) for _ in t.steps] for t in group]
            for group, queried in ((g, self._is_queried(a, g)) for a, g in zip(assignments, played, strict=True))
        ]

    def quality(self, groups: Sequence[JudgedGroup], rng: np.random.Generator) -> dict[str, Any] | None:
        """Agreement with the true labels on at most `LABELLED` trajectories; None where there is nothing to compare."""
        if not self.config.queries_judge:
            return None
        places = [
            (group, t)
            for group in groups
            for t, trajectory in enumerate(group.trajectories)
            if trajectory.outcome is not None and trajectory.steps and group.votes[t][0].votes
        ]
        if not places:
            return None
        chosen = [places[k] for k in sorted(rng.choice(len(places), min(LABELLED, len(places)), replace=False))]
        labels = [self.true_labels(group.assignment.task.payload, group.trajectories[t]) for group, t in chosen]
        if any(found is None for found in labels):
            return None
        found = judge_quality(
            [score_matrix(group.votes[t]) for group, t in chosen],
            [np.array(own) for own in labels],
            [int(group.trajectories[t].outcome or 0) for group, t in chosen],
        )
        return _without_signs(self.config, found.to_dict())


def _rules(config: RunConfig) -> FeedbackConfig:
    """The formulas; forecasts are paid a proper score, for which all outcomes and steps must count as they come."""
    proper = {"balance": False, "judge_band": None} if config.judge.answers == "forecasts" else {}
    return config.feedback.model_copy(update=proper)


@dataclass(frozen=True, slots=True)
class StepReview:
    """Feedback of one iteration from outcomes and votes; see `rlanything_agents.reward_models.reviewer.Review`."""

    config: RunConfig
    groups: list[JudgedGroup]
    feedback: list[GroupFeedback]
    critic: Critic | None = None

    @property
    def advantages(self) -> list[tuple[Floats, ...]]:
        """Advantages of the policy: per group and trajectory an array of shape (steps,)."""
        return [found.policy for found in self.feedback]

    def samples(self, rng: np.random.Generator) -> list[Sample]:
        """Votes with an advantage, at most those on ``judge.steps`` steps."""
        settings = self.config.judge
        if not self.config.judge_learns:
            return []
        chosen = judged_steps(self.feedback, rng, balance=_rules(self.config).balance, limit=settings.steps)
        return [
            sample
            for at in chosen
            for sample in self.groups[at.group]
            .votes[at.trajectory][at.step]
            .samples(self.feedback[at.group].judge[at.trajectory][at.step].tolist())
        ]

    def without(self, groups: Collection[int]) -> StepReview:
        """See `rlanything_agents.reward_models.reviewer.Review.without`."""
        found = [
            replace(one, policy=tuple(map(np.zeros_like, one.policy)), judge=tuple(map(np.zeros_like, one.judge)))
            if number in groups
            else one
            for number, one in enumerate(self.feedback)
        ]
        return replace(self, feedback=found)

    def stats(self) -> dict[str, Any]:
        """See `FeedbackStats`; with a critic also what its votes explain, and its lambda."""
        stats = _without_signs(self.config, asdict(feedback_stats(self.feedback)))
        return stats if self.critic is None else {**stats, "explained": self.critic.explained, "lam": self.critic.lam}

    def critique(self, group: int, summariser: Summariser | None = None) -> Critique:
        """Summary of the episodes, their votes and the reasons of these, for the rewriter."""
        return task_critique(self.groups[group].judged_episodes(), summariser)

    def records(self, group: int, iteration: int) -> list[dict[str, Any]]:
        """One record per episode, with the votes, the reward and the advantage of each turn."""
        return list(self.groups[group].records(iteration, self.feedback[group]))


def _judged(
    judge: StepJudge,
    trajectories: Sequence[Trajectory],
    labels: Sequence[Sequence[int]],
    *,
    votes: int,
    temperature: float,
    seed: int,
) -> tuple[list[np.ndarray], list[np.ndarray], list[int]]:
    """Scores, true labels and outcomes of the trajectories, as `judge_quality` takes them.

    Raises:
        RunMustStop: The judge's generator failed.
    """
    judged = judge.judge(trajectories, votes=votes, seed=seed, temperature=temperature)
    if error := next((step.error for steps in judged for step in steps if step.error), ""):
        raise RunMustStop(f"the reward model cannot be measured: {error}")
    outcomes = [int(t.outcome or 0) for t in trajectories]
    return [score_matrix(steps) for steps in judged], [np.array(steps) for steps in labels], outcomes


def stored_trajectory(record: Mapping[str, Any]) -> Trajectory:
    """Restore a trajectory from its record, without tokens: enough for a judge, not for training."""
    return Trajectory(
        task_id=record["task_id"],
        tag=record["tag"],
        opening=record["opening"],
        message=record.get("message", ""),
        steps=tuple(Step(**step) for step in record["steps"]),
        outcome=record["outcome"],
        error=record["error"],
        score=record["score"],
        prompt_ids=[],
        completion_ids=[],
        step_of_token=[],
        logprobs=[],
        allowed=[],
    )


def _masked(group: list[Trajectory], votes: list[list[StepVotes]]) -> tuple[list[Trajectory], list[list[StepVotes]]]:
    """Mask the episodes on a step of which the judge's generator failed: no outcome, no votes."""
    if not any(step.error for steps in votes for step in steps):
        return group, votes
    masked, kept = [], []
    for trajectory, steps in zip(group, votes, strict=True):
        error = next((step.error for step in steps if step.error), "")
        masked.append(replace(trajectory, outcome=None, error=f"reward model: {error}") if error else trajectory)
        kept.append([StepVotes([], ())] * len(steps) if error else steps)
    return masked, kept


def _without_signs(config: RunConfig, numbers: dict[str, Any]) -> dict[str, Any]:
    """The numbers without those that read a score as a verdict on a step, where it is a forecast of the outcome."""
    forecasts = config.judge.answers == "forecasts"
    return {name: None if forecasts and name in OF_SIGNS else number for name, number in numbers.items()}


def _taught(config: RunConfig) -> bool:
    """Whether a warm start teaches the reward model."""
    model = config.models["reward_model"]
    return model.lessons if isinstance(model, CheckpointConfig) else True


def label_votes(scores: Sequence[float]) -> list[StepVotes]:
    """One vote on each step, its score; it has no tokens, so nothing is trained on it."""
    return [StepVotes([], (Vote("planner", score, [], []),)) for score in scores]
