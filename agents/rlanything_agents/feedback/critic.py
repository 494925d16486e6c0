"""A critic from the votes of a reward model: what they say of the state is fitted to outcomes, not believed.

A vote on a step tells how good the state after it is. Paid out as the reward of the step it pays for luck before the
step, and a judge that is wrong teaches what is wrong. Here the votes on the steps before step i and its index predict
what the pooled baseline leaves of the outcome, by a ridge regression on the verified episodes of *other* tasks in this
and the last iterations. Baseline and prediction are the value of the state, and the advantage of a step is

    A_i = sum_k lambda^k d_{i+k},   d_i = V_{i+1} - V_i,   d_last = outcome - V_last   (GAE, arXiv 1506.02438).

What the regression cannot confirm on other tasks has no weight: votes that are turned round are turned back, and random
ones leave the pooled baseline. ``lambda`` is 1 while the votes explain nothing there, so that A_i is the outcome less a
baseline, an unbiased estimate; it falls to `LEAST_LAMBDA` as they explain more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rlanything_agents.feedback.arrays import Floats
from rlanything_agents.feedback.credits import return_to_go
from rlanything_agents.feedback.pooled import pooled_baselines

__all__ = ["LEAST_LAMBDA", "Critic", "Evidence", "evidence_of", "generalised_advantages", "step_features"]

STEP_FEATURES, FEATURES = 3, 7
"""Features of the step index alone, and those with the votes."""
RIDGE = 3.0
"""Added to the sums of squares of each feature: as if so many steps had said that the baseline is right."""
LEAST_LAMBDA = 0.8
ENOUGH = 0.25
"""Share of the rest that the votes explain on other tasks at which lambda is least; up to there it falls in a line."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Sums over the steps of the verified episodes of some tasks, which is all that a regression needs of them.

    Attributes:
        tasks: Ids of the tasks, each once.
        gram: Shape (tasks, features, features): sums of products of features.
        moment: Shape (tasks, features): sums of features times the rest, the outcome less its pooled baseline.
        square: Shape (tasks,): sums of squares of the rest.
    """

    tasks: tuple[str, ...]
    gram: Floats
    moment: Floats
    square: Floats


def step_features(votes: Floats) -> Floats:
    """What is known before each step of an episode, shape (steps, features).

    A constant, the logarithm of the step's number and its square; the latest vote and the mean of all earlier ones, by
    themselves and times the logarithm. A vote is the mean of those on a step that can be read, 0 without one.

    Args:
        votes: Votes on the episode, shape (steps, m); NaN for one that cannot be read.
    """
    steps = len(votes)
    read = ~np.isnan(votes)
    vote = np.where(read, votes, 0.0).sum(axis=1) / np.maximum(1, read.sum(axis=1))
    number = np.log1p(np.arange(steps, dtype=np.float64))
    latest, mean = np.zeros(steps), np.zeros(steps)
    latest[1:] = vote[:-1]
    mean[1:] = np.cumsum(vote)[:-1] / np.arange(1, max(1, steps))
    return np.stack([np.ones(steps), number, number**2, latest, mean, latest * number, mean * number], axis=1)


def evidence_of(tasks: Sequence[str], outcomes: Sequence[Floats], votes: Sequence[Sequence[Floats]]) -> Evidence:
    """Evidence of the groups of an iteration.

    Args:
        tasks: Id of each group's task.
        outcomes: Outcomes of each group, shape (episodes,); a masked episode (NaN) is no evidence.
        votes: Votes on each episode of each group, shape (steps, m).
    """
    places = {task: place for place, task in enumerate(dict.fromkeys(tasks))}
    gram, moment = np.zeros((len(places), FEATURES, FEATURES)), np.zeros((len(places), FEATURES))
    square = np.zeros(len(places))
    for task, ends, base, group in zip(tasks, outcomes, pooled_baselines(outcomes), votes, strict=True):
        place = places[task]
        for rest, scores in zip(ends - base, group, strict=True):
            if not np.isnan(rest):
                features = step_features(scores)
                gram[place] += features.T @ features
                moment[place] += rest * features.sum(axis=0)
                square[place] += rest**2 * len(features)
    return Evidence(tuple(places), gram, moment, square)


class Critic:
    """Values of states from the evidence of some iterations.

    Args:
        evidence: That of this iteration and of those before that are remembered.

    Attributes:
        explained: Share of the squares that step index and baseline leave which the votes explain, each task predicted
            by the others; 0 where they explain nothing.
        lam: Lambda of the advantages.
    """

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        sums: dict[str, tuple[Floats, Floats, float]] = {}
        for one in evidence:
            for task, gram, moment, square in zip(one.tasks, one.gram, one.moment, one.square, strict=True):
                old = sums.get(task, (0.0, 0.0, 0.0))
                sums[task] = (old[0] + gram, old[1] + moment, old[2] + float(square))
        self._sums = sums
        self._gram = sum((gram for gram, _, _ in sums.values()), np.zeros((FEATURES, FEATURES)))
        self._moment = sum((moment for _, moment, _ in sums.values()), np.zeros(FEATURES))
        errors = {used: self._error(used) for used in (0, STEP_FEATURES, FEATURES)}
        without = min(errors[0], errors[STEP_FEATURES])
        self.explained = max(0.0, 1 - errors[FEATURES] / without) if without > 0 else 0.0
        self._used = FEATURES if self.explained else min((0, STEP_FEATURES), key=errors.__getitem__)
        self.lam = 1 - (1 - LEAST_LAMBDA) * min(1.0, self.explained / ENOUGH)

    def weights(self, task: str, used: int | None = None) -> Floats:
        """Weight of each feature for the episodes of a task, from those of all others; shape (features,).

        Args:
            task: Id of the task.
            used: The first so many features; those that explain most on other tasks if None.
        """
        used = self._used if used is None else used
        own = self._sums.get(task)
        gram, moment = self._gram, self._moment
        if own is not None:
            gram, moment = gram - own[0], moment - own[1]
        weights = np.zeros(FEATURES)
        if used:
            weights[:used] = np.linalg.solve(gram[:used, :used] + RIDGE * np.eye(used), moment[:used])
        return weights

    def advantages(self, task: str, outcome: float, baseline: float, votes: Floats) -> Floats:
        """Advantage of each step of an episode, shape (steps,).

        Args:
            task: Id of its task.
            outcome: Its outcome.
            baseline: Its pooled baseline.
            votes: Votes on its steps, shape (steps, m).
        """
        values = baseline + step_features(votes) @ self.weights(task)
        return generalised_advantages(values, outcome, self.lam)

    def _error(self, used: int) -> float:
        """Sum over tasks of the squares that remain when the other tasks predict one."""
        total = 0.0
        for task, (gram, moment, square) in self._sums.items():
            weights = self.weights(task, used)
            total += square - 2 * float(weights @ moment) + float(weights @ gram @ weights)
        return total


def generalised_advantages(values: Floats, outcome: float, lam: float) -> Floats:
    """``sum_k lam^k d_{i+k}`` of the steps of an episode that earns nothing before its outcome, without a discount.

    Args:
        values: Value of the state before each step, shape (steps,).
        outcome: What the episode ends with.
        lam: 1 compares each step's state with the outcome, 0 with the next state alone.
    """
    return return_to_go(np.append(values[1:], outcome)[: len(values)] - values, lam)
