"""Feedback on the groups of an iteration: both halves, after the accuracy filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rlanything_agents.config.feedback import CRITIC, FeedbackConfig
from rlanything_agents.feedback.arrays import ZERO, FeedbackError, Floats, inside
from rlanything_agents.feedback.critic import Critic, evidence_of
from rlanything_agents.feedback.forecast import brier_advantages
from rlanything_agents.feedback.format import format_advantages
from rlanything_agents.feedback.judge import judge_advantages
from rlanything_agents.feedback.policy import gigpo_advantages, integrated_rewards, policy_advantages
from rlanything_agents.feedback.pooled import pooled_baselines

Outcomes = Sequence[float | None] | Floats


@dataclass(frozen=True, slots=True)
class GroupFeedback:
    """Feedback on one group; index ``t`` is the trajectory, ``i`` the step, ``j`` the vote.

    Attributes:
        outcomes: Shape (n,): -1, +1, or NaN for a masked trajectory.
        votes: ``votes[t]`` has shape (steps of t, m); NaN for one that could not be parsed.
        rewards: ``rewards[t]`` has shape (steps,): the policy's integrated rewards; NaN for a masked
            trajectory.
        policy: ``policy[t]`` has shape (steps,): policy advantages, 0 = leave out.
        judge: ``judge[t]`` has shape (steps, m): advantages of the votes, 0 = leave out.
        accuracy: Share of solved trajectories among those not masked; ``None`` if all are masked.
        policy_kept: Whether the group passed the policy's accuracy filter.
        silent_kept: Whether its valid trajectories all failed and the policy learns from it by the reward
            model's credit alone.
        judge_kept: Whether the group passed the reward model's accuracy filter.
        policy_format: Whether ``policy`` teaches the format alone; see `FeedbackConfig.teach_format`.
        judge_format: Whether ``judge`` teaches the format alone.
    """

    outcomes: Floats
    votes: tuple[Floats, ...]
    rewards: tuple[Floats, ...]
    policy: tuple[Floats, ...]
    judge: tuple[Floats, ...]
    accuracy: float | None
    policy_kept: bool
    silent_kept: bool
    judge_kept: bool
    policy_format: bool
    judge_format: bool


def batch_feedback(
    groups: Sequence[tuple[Outcomes, Sequence[ArrayLike]]],
    config: FeedbackConfig,
    *,
    readable: Sequence[Sequence[Floats]] | None = None,
    states: Sequence[Sequence[Sequence[str]]] | None = None,
    tasks: Sequence[str] | None = None,
    critic: Critic | None = None,
    sampled: Sequence[Sequence[Floats]] | None = None,
) -> list[GroupFeedback]:
    """Compute the advantages of all groups of an iteration, after the filters.

    Args:
        groups: For each group one outcome per trajectory (-1, +1, or ``None``/NaN for an infrastructure error),
            and one array of votes of shape (steps, m) per trajectory, real numbers or ``None``/NaN for those that could
            not be parsed. ``m = 0`` where no reward model judged.
        config: See `FeedbackConfig`.
        readable: ``readable[g][t]``, shape (steps,): 1 where the answer of a step held an action, 0 where not, NaN
            where that is unknown; for ``teach_format``. All are unknown if None.
        states: ``states[g][t][i]`` identifies the state before a step; for ``credit="gigpo"`` only.
        tasks: Id of each group's task; for ``credit="critic"``. Every group has another one if None.
        critic: For ``credit="critic"``; one that knows these groups alone if None.
        sampled: ``sampled[g][t]``, shape (steps, m): the chance that each answer forecasts, where ``votes`` are
            forecasts c by the probabilities of all chances, as 2c - 1. The reward model is then paid by Brier score.

    Raises:
        FeedbackError: Lengths, shapes or values that do not fit together.
    """
    checked = [_checked(g, outcomes, votes) for g, (outcomes, votes) in enumerate(groups)]
    if states is None and config.credit == "gigpo":
        raise FeedbackError("credit 'gigpo' needs the state before each step: pass states=")
    pooled: Sequence[list[Floats] | None] = [None] * len(checked)
    if config.baseline == "pooled":
        pooled = _pooled(checked, config, list(map(str, range(len(checked)))) if tasks is None else tasks, critic)
    return [
        _group(
            outcomes,
            votes,
            config,
            None if readable is None else readable[g],
            () if states is None else states[g],
            pooled[g],
            None if sampled is None else sampled[g],
        )
        for g, (outcomes, votes) in enumerate(checked)
    ]


def group_feedback(
    outcomes: Outcomes,
    votes: Sequence[ArrayLike],
    config: FeedbackConfig,
    *,
    readable: Sequence[Floats] | None = None,
    states: Sequence[Sequence[str]] | None = None,
) -> GroupFeedback:
    """Compute the advantages of one group: `batch_feedback` of a batch of this group alone.

    Raises:
        FeedbackError: Lengths, shapes or values that do not fit together.
    """
    (group,) = batch_feedback(
        [(outcomes, votes)],
        config,
        readable=None if readable is None else [readable],
        states=None if states is None else [states],
    )
    return group


def group_accuracy(outcomes: Floats) -> float | None:
    """Share of solved trajectories among those that are not masked (NaN); ``None`` if all are masked."""
    valid = outcomes[~np.isnan(outcomes)]
    return float((valid > 0).mean()) if valid.size else None


def votes_count(outcomes: Outcomes, config: FeedbackConfig) -> bool:
    """Whether votes on a group with these outcomes can reach the policy or the reward model."""
    accuracy = group_accuracy(np.array([np.nan if o is None else float(o) for o in outcomes]))
    taught = config.baseline == "pooled" and accuracy is not None
    silent = config.silent == "return" and accuracy == 0
    policy = config.reads_votes and (taught or silent or inside(accuracy, config.policy_band))
    return policy or inside(accuracy, config.judge_band)


def _pooled(
    groups: Sequence[tuple[Floats, list[Floats]]], config: FeedbackConfig, tasks: Sequence[str], critic: Critic | None
) -> list[list[Floats]]:
    """Advantages of the policy with the pooled baseline, and with the critic where the credit is its."""
    outcomes, votes = [outcomes for outcomes, _ in groups], [votes for _, votes in groups]
    if config.credit == CRITIC and critic is None:
        critic = Critic([evidence_of(tasks, outcomes, votes)])
    found = []
    for task, ends, base, scores in zip(tasks, outcomes, pooled_baselines(outcomes), votes, strict=True):
        rows = []
        for end, mean, steps in zip(ends, base, scores, strict=True):
            if np.isnan(end):
                row = np.zeros(len(steps))
            elif config.credit == CRITIC and critic is not None:
                row = critic.advantages(task, end, mean, steps)
            else:
                row = np.full(len(steps), end - mean)
            row[np.abs(row) < ZERO] = 0.0
            rows.append(config.outcome_weight * row)
        found.append(rows)
    return found


def _group(
    outcomes: Floats,
    votes: list[Floats],
    config: FeedbackConfig,
    readable: Sequence[Floats] | None,
    states: Sequence[Sequence[str]],
    pooled: list[Floats] | None,
    sampled: Sequence[Floats] | None,
) -> GroupFeedback:
    accuracy = group_accuracy(outcomes)
    critic = config.credit == CRITIC  # its votes are no part of the reward
    rewards = integrated_rewards(
        outcomes,
        votes,
        lam=0.0 if critic else config.lam,
        outcome_weight=config.outcome_weight,
        credit="vote" if critic else config.credit,
        gamma=config.gamma,
    )
    silent = config.silent == "return" and accuracy == 0 and pooled is None
    kept = not silent and (inside(accuracy, config.policy_band) if pooled is None else any(map(np.any, pooled)))
    if kept and pooled is not None:
        policy = pooled
    elif silent:
        credits = [r - config.outcome_weight * o for r, o in zip(rewards, outcomes, strict=True)]
        policy = policy_advantages(outcomes, credits, config, shared_weight=1.0)
    elif kept and config.credit == "gigpo":
        policy = gigpo_advantages(outcomes, states, [len(r) for r in rewards], config)
    elif kept:
        policy = policy_advantages(outcomes, rewards, config, shared_weight=config.shared_weight)
    else:
        policy = [np.zeros(len(r)) for r in rewards]
        if config.teach_format and readable is not None:
            policy = format_advantages(readable, outcomes)
    policy_format = not (silent or kept) and any(a.any() for a in policy)
    judge_kept = inside(accuracy, config.judge_band)
    judge = [np.zeros_like(scores) for scores in votes]
    if judge_kept and sampled is not None:
        judge = [
            brier_advantages((1 + scores) / 2, bins, end, unparsable_reward=config.unparsable_reward)
            for scores, bins, end in zip(votes, sampled, outcomes, strict=True)
        ]
    elif judge_kept:  # the paper's reward, whatever the policy's credit is
        judged = zip(integrated_rewards(outcomes, votes, lam=config.lam), votes, strict=True)
        judge = [judge_advantages(r, s, unparsable_reward=config.unparsable_reward) for r, s in judged]
    if config.teach_format and not judge_kept:
        judge = format_advantages([np.where(np.isnan(scores), 0.0, 1.0) for scores in votes], outcomes)
    return GroupFeedback(
        outcomes=outcomes,
        votes=tuple(votes),
        rewards=tuple(rewards),
        policy=tuple(policy),
        judge=tuple(judge),
        accuracy=accuracy,
        policy_kept=kept,
        silent_kept=silent,
        judge_kept=judge_kept,
        policy_format=policy_format,
        judge_format=not judge_kept and any(a.any() for a in judge),
    )


def _checked(g: int, outcomes: Outcomes, votes: Sequence[ArrayLike]) -> tuple[Floats, list[Floats]]:
    place = f"group {g}"
    try:
        signs = np.array([np.nan if o is None else float(o) for o in outcomes], dtype=np.float64)
        scores = [np.asarray(v, dtype=np.float64) for v in votes]
    except (TypeError, ValueError) as error:
        raise FeedbackError(f"{place}: outcomes and votes must be numbers: {error}") from error
    if len(signs) != len(scores):
        raise FeedbackError(
            f"{place}: {len(signs)} outcomes but votes for {len(scores)} trajectories: give one array for each"
        )
    for t, outcome in enumerate(signs):
        if not np.isnan(outcome) and outcome not in (-1.0, 1.0):
            raise FeedbackError(
                f"{place}: outcome {outcome} of trajectory {t}: use -1, +1, or None (infrastructure error)"
            )
    for t, s in enumerate(scores):
        if s.ndim != 2:
            raise FeedbackError(
                f"{place}: votes of trajectory {t} have shape {s.shape}: expected (steps, votes per step)"
            )
        if np.isinf(s).any():
            raise FeedbackError(f"{place}: votes of trajectory {t}: every vote must be finite, or None (unparsable)")
    return signs, scores
