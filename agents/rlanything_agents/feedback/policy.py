"""The policy's half: integrated rewards of steps, and their advantages over the other trajectories of the group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rlanything_agents.config.feedback import WITHOUT_VOTES, FeedbackConfig
from rlanything_agents.feedback.arrays import FeedbackError, Floats, standardise, standardise_by
from rlanything_agents.feedback.credits import credit_rule, environment_rewards


def mean_votes(votes: Floats) -> Floats:
    """``mean_j S_ij`` of each step, shape (steps,), over all ``m`` votes; unparsable ones (NaN) count 0."""
    return np.nan_to_num(votes).mean(axis=1) if votes.shape[1] else np.zeros(len(votes))


def step_credit(votes: Floats, *, credit: str = "vote", gamma: float = 1.0) -> Floats:
    """Compute the credit of each step of a trajectory from the votes on it; see `FeedbackConfig`.

    Args:
        votes: Shape (steps, m).
        credit: Name of the rule in `config.feedback.CREDITS`, one that reads votes.
        gamma: Discount of the returns.

    Returns:
        Shape (steps,).
    """
    return credit_rule(credit)(mean_votes(votes), gamma)


def environment_credit(outcome: float, steps: int, *, credit: str, gamma: float) -> Floats:
    """Credit of each step of one trajectory by a rule of `config.feedback.WITHOUT_VOTES`, shape (steps,)."""
    return credit_rule(credit)(environment_rewards(outcome, steps), gamma)


def integrated_rewards(
    outcomes: Floats,
    votes: Sequence[Floats],
    *,
    lam: float,
    outcome_weight: float = 1.0,
    credit: str = "vote",
    gamma: float = 1.0,
) -> list[Floats]:
    """``R_i = outcome_weight * O + lam * credit_i`` of every step; NaN where the outcome is NaN.

    The defaults are the paper's ``R_i = O + lam * mean_j S_ij``.
    """
    rewards = []
    for outcome, scores in zip(outcomes, votes, strict=True):
        if credit in WITHOUT_VOTES:
            credits = environment_credit(outcome, len(scores), credit=credit, gamma=gamma)
        else:
            credits = step_credit(scores, credit=credit, gamma=gamma)
        rewards.append(outcome_weight * outcome + lam * credits)
    return rewards


def policy_advantages(
    outcomes: Floats, rewards: Sequence[Floats], config: FeedbackConfig, *, shared_weight: float
) -> list[Floats]:
    """Standardise integrated rewards over the group (population standard deviation).

    Args:
        outcomes: Shape (n,); NaN = masked.
        rewards: Integrated rewards, one array (steps,) per trajectory.
        config: Settings; uses ``lone``.
        shared_weight: Factor where every live trajectory shares the outcome.

    Returns:
        One array (steps,) per trajectory; zeros for masked ones.
    """
    valid = [int(t) for t in np.flatnonzero(~np.isnan(outcomes))]
    advantages = [np.zeros(len(r)) for r in rewards]
    grid = _grid([rewards[t] for t in valid])
    if grid.size:
        standard = _standardised(grid, config)
        standard[:, _shared(outcomes[valid], grid)] *= shared_weight
        for row, t in zip(standard, valid, strict=True):
            advantages[t] = row[: len(rewards[t])]
    return advantages


def gigpo_advantages(
    outcomes: Floats, states: Sequence[Sequence[str]], lengths: Sequence[int], config: FeedbackConfig
) -> list[Floats]:
    """Advantages of GiGPO (arXiv 2505.10978, equations 3 and 5 to 8).

    The outcome, standardised over the episodes of the group, plus `lam` times the discounted return from a step on,
    standardised over all steps of the group at the same state (population standard deviations). A state that the group
    comes to only once adds nothing.

    Args:
        outcomes: Shape (n,); NaN = masked, which also takes an episode out of all means.
        states: ``states[t][i]`` identifies the state before step ``i`` of trajectory ``t``.
        lengths: Number of steps of each trajectory.
        config: Settings; uses ``outcome_weight``, ``lam`` and ``gamma``.

    Returns:
        One array (steps,) per trajectory; zeros for masked ones.

    Raises:
        FeedbackError: There is not one state for each step.
    """
    if (found := [len(row) for row in states]) != list(lengths):
        raise FeedbackError(f"states of {found} steps for trajectories of {list(lengths)} steps: give one for each")
    valid = [int(t) for t in np.flatnonzero(~np.isnan(outcomes))]
    advantages = [np.zeros(length) for length in lengths]
    if not valid:
        return advantages
    episodes = standardise_by(outcomes[valid], np.zeros(len(valid), dtype=np.intp))
    returns = [environment_credit(outcomes[t], lengths[t], credit=config.credit, gamma=config.gamma) for t in valid]
    number: dict[str, int] = {}
    labels = np.array([number.setdefault(state, len(number)) for t in valid for state in states[t]], dtype=np.intp)
    steps = standardise_by(np.concatenate(returns), labels)
    ends = np.cumsum([lengths[t] for t in valid])
    for t, episode, own in zip(valid, episodes, np.split(steps, ends[:-1]), strict=True):
        advantages[t] = config.outcome_weight * episode + config.lam * own
    return advantages


def _grid(rows: Sequence[Floats]) -> Floats:
    """Stack rows of different lengths into one array (trajectories, steps), with NaN after the end of a trajectory."""
    grid = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for line, row in zip(grid, rows, strict=True):
        line[: len(row)] = row
    return grid


def _standardised(grid: Floats, config: FeedbackConfig) -> Floats:
    standard = standardise(grid, np.nanmean(grid, axis=0), np.nanstd(grid, axis=0))
    if config.lone == "raw":
        alone = (~np.isnan(grid)).sum(axis=0) == 1
        standard[:, alone] = grid[:, alone]
    return standard


def _shared(outcomes: Floats, grid: Floats) -> NDArray[np.bool_]:
    """Whether all trajectories that reach a step index have the same outcome; shape (steps,)."""
    signs = np.where(np.isnan(grid), np.nan, outcomes[:, None])
    shared: NDArray[np.bool_] = np.nanmin(signs, axis=0) == np.nanmax(signs, axis=0)
    return shared
