"""Feedback where the reward model writes unit tests: rewards and advantages of programs and of generated tests.

One *group* is the programs of one task. A program is *correct* if it passes all tests that decide the task (the
hidden ones) and *wrong* otherwise. The reward model wrote ``m`` tests, and every program was run on each. A test that
all correct programs pass gets as its reward the number of wrong programs that fail it. Any other test gets minus the
number of wrong programs that pass it. The rewards are +1 and -1 where there is no wrong program, and there is no
reward where there is no correct program. The policy's reward is the share of deciding tests that its program passes.
Both are standardised over the task. This is the coding setting of RLAnything (arXiv 2602.02488) as its released code
(``llm_rl_reward.py``) computes it; by its formulas a test that every program fails gets 0 where a wrong program
exists.

An infrastructure failure is NaN, and masks a program or a test; it never becomes a reward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlanything_agents.config.feedback import FeedbackConfig
from rlanything_agents.feedback.arrays import FeedbackError, Floats, inside, mean_of, standardise
from rlanything_agents.feedback.format import format_advantages

__all__ = [
    "UnitTestFeedback",
    "UnitTestQuality",
    "program_rewards",
    "unit_test_feedback",
    "unit_test_quality",
    "unit_test_rewards",
]


@dataclass(frozen=True, slots=True)
class UnitTestFeedback:
    """Feedback on one group; index ``i`` is the program, ``k`` the generated test.

    Attributes:
        correct: Shape (n,): 1 correct, 0 wrong, NaN masked.
        passes: Shape (n, m): 1 passed, 0 failed, NaN unknown.
        rewards: Shape (n,): the policy's rewards; NaN for a masked program.
        policy: Shape (n,): policy advantages, 0 = leave out.
        test_rewards: Shape (m,): rewards of the tests; NaN where there is none.
        judge: Shape (m,): advantages of the tests, 0 = leave out.
        accuracy: Share of correct programs among those not masked; ``None`` if all are masked.
        policy_kept: Whether the group passed the policy's accuracy filter.
        judge_kept: Whether the group passed the reward model's accuracy filter.
        judge_format: Whether ``judge`` teaches the format alone; see `FeedbackConfig.teach_format`.
    """

    correct: Floats
    passes: Floats
    rewards: Floats
    policy: Floats
    test_rewards: Floats
    judge: Floats
    accuracy: float | None
    policy_kept: bool
    judge_kept: bool
    judge_format: bool


@dataclass(frozen=True, slots=True)
class UnitTestQuality:
    """Quality of generated tests; the columns ``UT`` and ``detect`` of the paper's coding table.

    Attributes:
        tests: Number of tests of tasks with a correct program.
        agree: Number of those that every correct program passes.
        contested: Number of tests of tasks with a correct and a wrong program.
        detect: Number of those that every correct program passes and every wrong one fails.
    """

    tests: int = 0
    agree: int = 0
    contested: int = 0
    detect: int = 0

    def __add__(self, other: UnitTestQuality) -> UnitTestQuality:
        """Sum of both counts."""
        return UnitTestQuality(
            self.tests + other.tests,
            self.agree + other.agree,
            self.contested + other.contested,
            self.detect + other.detect,
        )

    @property
    def ut_rate(self) -> float | None:
        """Share of tests that all correct programs pass; ``None`` without tests."""
        return self.agree / self.tests if self.tests else None

    @property
    def detect_rate(self) -> float | None:
        """Share of contested tests that also fail all wrong programs; ``None`` without contested tests."""
        return self.detect / self.contested if self.contested else None


def unit_test_feedback(
    fractions: ArrayLike,
    correct: ArrayLike,
    passes: ArrayLike,
    config: FeedbackConfig,
    *,
    readable: Sequence[bool] | None = None,
) -> UnitTestFeedback:
    """Compute the advantages of the programs and the generated tests of one task, after the filters.

    Args:
        fractions: Shape (n,): share of the deciding tests that each program passes, in [0, 1].
        correct: Shape (n,): 1 if it passes all of them, 0 if not, NaN if the infrastructure failed.
        passes: Shape (n, m): whether program i passes generated test k (1, 0, or NaN if unknown).
        config: Settings; uses ``outcome_weight``, ``lam`` (here the weight of the share of generated tests passed;
            published: 0), ``policy_band``, ``judge_band``, ``unparsable_reward`` and ``teach_format``.
        readable: For each test False where the answer held no test: every program fails such a test, and
            ``config.unparsable_reward`` replaces its reward unless it is ``None``. Where tests have no reward, since
            no program is correct or the band leaves the group out, ``config.teach_format`` teaches the format.

    Raises:
        FeedbackError: Shapes or values that do not fit together.
    """
    right, runs = _checked(correct, passes)
    shares = np.asarray(fractions, dtype=np.float64)
    known = ~np.isnan(right)
    if shares.shape != right.shape or not ((shares[known] >= 0) & (shares[known] <= 1)).all():
        raise FeedbackError(f"fractions {shares.tolist()!r:.200}: give a share from 0 to 1 for each of {len(right)}")
    rewards = program_rewards(shares, right, runs, lam=config.lam, outcome_weight=config.outcome_weight)
    test_rewards = unit_test_rewards(right, runs)
    if readable is not None:
        if len(readable) != runs.shape[1]:
            raise FeedbackError(f"readable has {len(readable)} entries for {runs.shape[1]} tests")
        if config.unparsable_reward is not None:
            test_rewards[~np.asarray(readable, dtype=bool) & ~np.isnan(test_rewards)] = config.unparsable_reward
    accuracy = mean_of(right[known])
    policy_kept, judge_kept = inside(accuracy, config.policy_band), inside(accuracy, config.judge_band)
    judge = _standardised(test_rewards) if judge_kept else np.zeros(len(test_rewards))
    formats = config.teach_format and accuracy is not None and not (judge_kept and accuracy)
    if formats and readable is not None:
        unknown = np.isnan(runs).all(axis=0)  # the generator failed
        (judge,) = format_advantages([np.where(unknown, np.nan, np.asarray(readable, dtype=np.float64))], np.zeros(1))
    return UnitTestFeedback(
        correct=right,
        passes=runs,
        rewards=rewards,
        policy=_standardised(rewards) if policy_kept else np.zeros(len(rewards)),
        test_rewards=test_rewards,
        judge=judge,
        accuracy=accuracy,
        policy_kept=policy_kept,
        judge_kept=judge_kept,
        judge_format=formats and bool(judge.any()),
    )


def program_rewards(
    fractions: Floats, correct: Floats, passes: Floats, *, lam: float = 0.0, outcome_weight: float = 1.0
) -> Floats:
    """``outcome_weight * fraction + lam * mean_k passes[i, k]``; NaN for a masked program.

    Generated tests with an unknown result do not enter the mean; without a known result the term is 0.
    """
    known = ~np.isnan(passes)
    term = np.where(known, passes, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    rewards: Floats = np.where(np.isnan(correct), np.nan, outcome_weight * fractions + lam * term)
    return rewards


def unit_test_rewards(correct: ArrayLike, passes: ArrayLike) -> Floats:
    """Compute the reward of each generated test; see the module.

    Args:
        correct: Shape (n,): 1, 0, or NaN for a masked program.
        passes: Shape (n, m): 1, 0 or NaN.

    Returns:
        Shape (m,): NaN where no program is correct, and for a test with an unknown result on an unmasked program.

    Raises:
        FeedbackError: Shapes or values that do not fit together.
    """
    right, runs = _checked(correct, passes)
    good, bad = runs[right == 1], runs[right == 0]
    if not len(good):
        return np.full(runs.shape[1], np.nan)
    agrees = (good == 1).all(axis=0)
    worth = np.where(agrees, (bad == 0).sum(axis=0), -(bad == 1).sum(axis=0)) if len(bad) else 2.0 * agrees - 1.0
    rewards: Floats = np.where(_unknown(right, runs), np.nan, worth)
    return rewards


def unit_test_quality(groups: Iterable[tuple[ArrayLike, ArrayLike]]) -> UnitTestQuality:
    """Measure the generated tests of many tasks.

    Args:
        groups: ``correct`` and ``passes`` of each task, as for `unit_test_rewards`. Tests with an unknown result do
            not count.

    Raises:
        FeedbackError: Shapes or values that do not fit together.
    """
    total = UnitTestQuality()
    for correct, passes in groups:
        right, runs = _checked(correct, passes)
        if not (right == 1).any():
            continue
        known = ~_unknown(right, runs)
        agrees = (runs[right == 1] == 1).all(axis=0) & known
        catches = agrees & (runs[right == 0] == 0).all(axis=0)
        tests, contested = int(known.sum()), bool((right == 0).any())
        total += UnitTestQuality(
            tests, int(agrees.sum()), tests if contested else 0, int(catches.sum()) if contested else 0
        )
    return total


def _unknown(right: Floats, runs: Floats) -> NDArray[np.bool_]:
    """Whether each test has an unknown result on an unmasked program; shape (m,)."""
    return np.asarray(np.isnan(runs[~np.isnan(right)]).any(axis=0), dtype=np.bool_)


def _checked(correct: ArrayLike, passes: ArrayLike) -> tuple[Floats, Floats]:
    try:
        right, runs = np.asarray(correct, dtype=np.float64), np.asarray(passes, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FeedbackError(f"correct and passes must be numbers: {error}") from error
    if right.ndim != 1 or runs.ndim != 2 or len(right) != len(runs):
        raise FeedbackError(
            f"correct has shape {right.shape} and passes {runs.shape}: expected (programs,) and (programs, tests)"
        )
    for name, values in (("correct", right), ("passes", runs)):
        if not (np.isin(values, (0.0, 1.0)) | np.isnan(values)).all():
            raise FeedbackError(f"{name}: every value must be 0, 1 or NaN (infrastructure failure)")
    return right, runs


def _standardised(rewards: Floats) -> Floats:
    """Standardise the known rewards, with 0 for unknown ones."""
    advantages = np.zeros(len(rewards))
    known = ~np.isnan(rewards)
    if known.any():
        values = rewards[known]
        advantages[known] = standardise(values, float(values.mean()), float(values.std()))
    return advantages
