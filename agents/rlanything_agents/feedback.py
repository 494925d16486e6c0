"""From outcomes and judgements to advantages: pure numpy, no model, no domain.

One *group* is the set of trajectories of one task. Trajectory ``t`` has an outcome ``O`` in {-1, +1}
(``None`` or NaN when the infrastructure failed: such a trajectory is masked everywhere and never becomes a
reward) and, for each of its steps ``i``, ``m`` votes ``S`` in {-1, 0, +1} of the reward model (0 = the
judgement could not be parsed).

Two halves come out of it:

* for the policy, the integrated reward ``R_i = O + lam * mean_j S_ij``, standardised over the trajectories of
  the group at the same step index ``i``;
* for the reward model, ``R_i * S_ij``, standardised over the ``m`` votes of that step.

An advantage of exactly 0 means "leave this sample out". The equations are those of RLAnything (arXiv
2602.02488); the preset ``reference`` follows the released code where it deviates from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

Floats = NDArray[np.float64]
Band = tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]]

_ZERO_STD = 1e-9
"""Spread below which values count as equal: rewards are of order 1 and rounding leaves about 1e-16."""


class FeedbackError(ValueError):
    """Outcomes or votes of a shape or value that no trajectory can have."""


class UnknownPreset(LookupError):
    """No feedback preset of this name."""


class FeedbackConfig(BaseModel):
    """How outcomes and votes become advantages. The defaults are the formulas of the paper.

    Attributes:
        lam: Weight of the reward model's mean vote in the integrated reward (lambda; paper: 1).
        std: ``"step"`` divides by the standard deviation at one step index (paper), ``"group"`` by that of
            all integrated rewards of the group; the mean is taken per step index in both.
        lone: What becomes of a step index with one live trajectory left. ``"zero"``: one value has no spread,
            so its advantage is 0 (paper). ``"raw"``: the integrated reward itself, not standardised (released
            code).
        late_mask: Zero the policy advantage at step indices where every live trajectory shares the outcome:
            what is left there is the reward model's noise, blown up to unit variance.
        gamma: ``None`` gives each step its own mean vote (paper); a discount in [0, 1] gives it the
            discounted sum of the mean votes from this step on.
        std_floor: Smallest standard deviation divided by for the policy (reward units; 0 = no floor).
        unparsable_reward: Raw reward of an unparsable judgement. ``None`` puts S = 0 into ``R * S``, which is
            0 and so beats a wrong vote; the released code gives -2.
        policy_band: Inclusive band of group accuracy outside which the policy learns nothing; ``None`` = no
            filter.
        judge_band: The same for the reward model (released code: 0.2 to 0.8).
        balance: Train the reward model on as many steps of won as of lost trajectories (see `judged_steps`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    lam: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    std: Literal["step", "group"] = "step"
    lone: Literal["zero", "raw"] = "zero"
    late_mask: bool = False
    gamma: float | None = Field(default=None, ge=0, le=1)
    std_floor: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    unparsable_reward: float | None = Field(default=None, allow_inf_nan=False)
    policy_band: Band | None = (1 / 8, 7 / 8)
    judge_band: Band | None = (0.2, 0.8)
    balance: bool = False

    @model_validator(mode="after")
    def _bands_are_ordered(self) -> Self:
        for name, band in (("policy_band", self.policy_band), ("judge_band", self.judge_band)):
            if band is not None and band[0] > band[1]:
                raise ValueError(f"{name}: the lower end {band[0]} exceeds the upper end {band[1]}; swap them")
        return self

    @classmethod
    def preset(cls, name: str) -> FeedbackConfig:
        """A named setting: ``paper``, ``reference``, ``outcome`` (no reward model) or ``default``.

        Raises:
            UnknownPreset: There is no preset of this name.
        """
        try:
            return PRESETS[name]
        except KeyError:
            raise UnknownPreset(f"feedback preset {name!r}: choose one of {', '.join(PRESETS)}") from None

    @property
    def label(self) -> str:
        """The name of the preset this is, else its fields that differ from ``paper``."""
        for name, preset in PRESETS.items():
            if self == preset:
                return name
        paper = PRESETS["paper"].model_dump()
        changed = [f"{key}={value}" for key, value in self.model_dump().items() if value != paper[key]]
        return f"paper with {', '.join(changed)}"


PRESETS: dict[str, FeedbackConfig] = {
    "paper": FeedbackConfig(),
    "reference": FeedbackConfig(lone="raw", unparsable_reward=-2.0),
    "outcome": FeedbackConfig(lam=0.0),
    "default": FeedbackConfig(lam=0.2, late_mask=True, unparsable_reward=-2.0, balance=True),
}


@dataclass(frozen=True, slots=True)
class GroupFeedback:
    """What one group teaches; index ``t`` is the trajectory, ``i`` the step, ``j`` the vote.

    Attributes:
        outcomes: Shape (n,): -1, +1, or NaN for a masked trajectory.
        votes: ``votes[t]`` has shape (steps of t, m), entries -1, 0, +1.
        rewards: ``rewards[t]`` has shape (steps,): the integrated rewards; NaN for a masked trajectory.
        policy: ``policy[t]`` has shape (steps,): policy advantages, 0 = leave out.
        judge: ``judge[t]`` has shape (steps, m): advantages of the votes, 0 = leave out.
        accuracy: Share of won trajectories among those not masked; ``None`` if all are masked.
        policy_kept: The group passed the policy's accuracy filter.
        judge_kept: The group passed the reward model's accuracy filter.
    """

    outcomes: Floats
    votes: tuple[Floats, ...]
    rewards: tuple[Floats, ...]
    policy: tuple[Floats, ...]
    judge: tuple[Floats, ...]
    accuracy: float | None
    policy_kept: bool
    judge_kept: bool


def group_feedback(
    outcomes: Sequence[float | None] | Floats,
    votes: Sequence[ArrayLike],
    config: FeedbackConfig,
) -> GroupFeedback:
    """Advantages of one group, filters applied.

    Args:
        outcomes: One entry per trajectory: -1, +1, or ``None``/NaN for an infrastructure error.
        votes: One array of shape (steps, m) per trajectory. ``m = 0`` where no reward model judged.
        config: See `FeedbackConfig`.

    Raises:
        FeedbackError: Lengths, shapes or values that do not fit together.
    """
    won, scores = _checked(outcomes, votes)
    rewards = integrated_rewards(won, scores, lam=config.lam, gamma=config.gamma)
    accuracy = group_accuracy(won)
    policy_kept = _inside(accuracy, config.policy_band)
    judge_kept = _inside(accuracy, config.judge_band)
    policy = [np.zeros(len(s)) for s in scores]
    if policy_kept:
        policy = policy_advantages(won, rewards, config)
    judge = [np.zeros_like(s) for s in scores]
    if judge_kept:
        # The judge is scored by its own step: the return-to-go option concerns the policy alone.
        own = rewards if config.gamma is None else integrated_rewards(won, scores, lam=config.lam)
        judge = [
            judge_advantages(r, s, unparsable_reward=config.unparsable_reward) for r, s in zip(own, scores, strict=True)
        ]
    return GroupFeedback(
        outcomes=won,
        votes=tuple(scores),
        rewards=tuple(rewards),
        policy=tuple(policy),
        judge=tuple(judge),
        accuracy=accuracy,
        policy_kept=policy_kept,
        judge_kept=judge_kept,
    )


def integrated_rewards(
    outcomes: Floats, votes: Sequence[Floats], *, lam: float, gamma: float | None = None
) -> list[Floats]:
    """``R_i = O + lam * mean_j S_ij`` for every step of every trajectory; NaN where the outcome is NaN.

    The mean divides by all ``m`` votes, unparsable ones included (they count 0). With ``gamma``, the mean
    vote is replaced by ``sum_{k >= i} gamma^(k-i) mean_j S_kj``.
    """
    rewards = []
    for outcome, scores in zip(outcomes, votes, strict=True):
        mean = scores.mean(axis=1) if scores.shape[1] else np.zeros(len(scores))
        if gamma is not None:
            mean = _return_to_go(mean, gamma)
        rewards.append(outcome + lam * mean)
    return rewards


def policy_advantages(outcomes: Floats, rewards: Sequence[Floats], config: FeedbackConfig) -> list[Floats]:
    """Integrated rewards standardised over the group at each step index (population standard deviation).

    Args:
        outcomes: Shape (n,); NaN = masked.
        rewards: Integrated rewards, one array (steps,) per trajectory.
        config: Uses ``std``, ``lone``, ``late_mask`` and ``std_floor``; the accuracy filter is not applied
            here.

    Returns:
        One array (steps,) per trajectory; zeros for masked ones.
    """
    advantages = [np.zeros(len(r)) for r in rewards]
    valid = [t for t, outcome in enumerate(outcomes) if not np.isnan(outcome)]
    everything = np.concatenate([rewards[t] for t in valid]) if valid else np.zeros(0)
    for i in range(max((len(rewards[t]) for t in valid), default=0)):
        live = [t for t in valid if len(rewards[t]) > i]
        if config.late_mask and len({outcomes[t] for t in live}) == 1:
            continue
        column = np.array([rewards[t][i] for t in live])
        if len(live) == 1:
            standard = column if config.lone == "raw" else np.zeros(1)
        else:
            spread = everything.std() if config.std == "group" else column.std()
            standard = _standardise(column, spread, config.std_floor)
        for t, value in zip(live, standard, strict=True):
            advantages[t][i] = value
    return advantages


def judge_rewards(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Raw consistency rewards ``R_i * S_ij`` of one trajectory's votes, shape (steps, m)."""
    raw: Floats = rewards[:, None] * votes
    if unparsable_reward is not None:
        raw = np.where((votes == 0) & ~np.isnan(raw), unparsable_reward, raw)
    return raw


def judge_advantages(rewards: Floats, votes: Floats, *, unparsable_reward: float | None = None) -> Floats:
    """Consistency rewards standardised over the ``m`` votes of each step; all-equal rewards give 0."""
    if votes.size == 0 or np.isnan(rewards).any():
        return np.zeros_like(votes)
    raw = judge_rewards(rewards, votes, unparsable_reward=unparsable_reward)
    return np.stack([_standardise(row, row.std()) for row in raw])


def group_accuracy(outcomes: Floats) -> float | None:
    """Share of won trajectories among those that are not masked; ``None`` if there is none."""
    valid = outcomes[~np.isnan(outcomes)]
    return float((valid > 0).mean()) if valid.size else None


class StepIndex(NamedTuple):
    """Where a judged step lies: group, trajectory in the group, step in the trajectory."""

    group: int
    trajectory: int
    step: int


def judged_steps(
    groups: Sequence[GroupFeedback],
    rng: np.random.Generator,
    *,
    balance: bool = True,
    limit: int | None = None,
) -> list[StepIndex]:
    """Steps whose votes can teach the reward model, in a fixed order.

    Lost trajectories are longer than won ones, so without balancing a reward model is mostly asked for -1 and
    ends up saying nothing else. Balanced, the larger side is thinned at random to the size of the smaller
    one; where one side is empty, nothing is left.

    Args:
        groups: Feedback of the groups.
        rng: Source of the choice: the same state gives the same steps.
        balance: Keep equal numbers of steps from won and lost trajectories.
        limit: At most this many steps altogether.

    Raises:
        FeedbackError: A negative ``limit``.
    """
    if limit is not None and limit < 0:
        raise FeedbackError(f"limit {limit}: the number of judged steps cannot be negative")
    sides: tuple[list[StepIndex], list[StepIndex]] = ([], [])
    for g, group in enumerate(groups):
        for t, advantages in enumerate(group.judge):
            for i in np.flatnonzero(np.any(advantages != 0, axis=1)):
                sides[int(group.outcomes[t] > 0)].append(StepIndex(g, t, int(i)))
    if not balance:
        return sorted(_thin(sides[0] + sides[1], limit, rng))
    size = min(len(sides[0]), len(sides[1]))
    if limit is not None:
        size = min(size, limit // 2)
    return sorted(_thin(sides[0], size, rng) + _thin(sides[1], size, rng))


@dataclass(frozen=True, slots=True)
class FeedbackStats:
    """Diagnostics of one iteration; ``None`` where nothing was there to count.

    Attributes:
        p_plus: P(S = +1) over the votes on won trajectories (p_+ of Theorem 1).
        p_minus: P(S = -1) over the votes on lost trajectories (p_- of Theorem 1).
        mu: ``p_plus + p_minus``; above 1 the votes carry information about the outcome.
        mixed_rate: Share of judged steps whose votes differ; near 0 the reward model has nothing to learn
            from.
        unparsable_rate: Share of votes that could not be parsed.
        accuracy: Share of won trajectories.
        masked: Number of trajectories masked because of infrastructure errors.
        policy_kept: Share of groups that pass the policy's filter.
        judge_kept: Share of groups that pass the reward model's filter.
        policy_samples: Step samples with a non-zero policy advantage.
        judge_samples: Votes with a non-zero advantage.
    """

    p_plus: float | None
    p_minus: float | None
    mu: float | None
    mixed_rate: float | None
    unparsable_rate: float | None
    accuracy: float | None
    masked: int
    policy_kept: float | None
    judge_kept: float | None
    policy_samples: int
    judge_samples: int


def feedback_stats(groups: Sequence[GroupFeedback]) -> FeedbackStats:
    """Diagnostics over the groups of one iteration (masked trajectories do not count)."""
    pairs = [(o, s) for g in groups for o, s in zip(g.outcomes, g.votes, strict=True) if not np.isnan(o)]
    won = _flat([s for o, s in pairs if o > 0])
    lost = _flat([s for o, s in pairs if o < 0])
    votes = np.concatenate([won, lost])
    mixed = _flat([(s != s[:, :1]).any(axis=1) for _, s in pairs if s.shape[1]])
    p_plus, p_minus = _mean(won == 1), _mean(lost == -1)
    return FeedbackStats(
        p_plus=p_plus,
        p_minus=p_minus,
        mu=None if p_plus is None or p_minus is None else p_plus + p_minus,
        mixed_rate=_mean(mixed),
        unparsable_rate=_mean(votes == 0),
        accuracy=_mean(np.array([o > 0 for o, _ in pairs])),
        masked=sum(int(np.isnan(g.outcomes).sum()) for g in groups),
        policy_kept=_mean(np.array([g.policy_kept for g in groups])),
        judge_kept=_mean(np.array([g.judge_kept for g in groups])),
        policy_samples=sum(int(np.count_nonzero(a)) for g in groups for a in g.policy),
        judge_samples=sum(int(np.count_nonzero(a)) for g in groups for a in g.judge),
    )


def _checked(outcomes: Sequence[float | None] | Floats, votes: Sequence[ArrayLike]) -> tuple[Floats, list[Floats]]:
    try:
        won = np.array([np.nan if o is None else float(o) for o in outcomes], dtype=np.float64)
        scores = [np.asarray(v, dtype=np.float64) for v in votes]
    except (TypeError, ValueError) as error:
        raise FeedbackError(f"outcomes and votes must be numbers: {error}") from error
    if len(won) != len(scores):
        raise FeedbackError(f"{len(won)} outcomes but votes for {len(scores)} trajectories: give one array for each")
    for t, outcome in enumerate(won):
        if not np.isnan(outcome) and outcome not in (-1.0, 1.0):
            raise FeedbackError(f"outcome {outcome} of trajectory {t}: use -1, +1, or None (infrastructure error)")
    for t, s in enumerate(scores):
        if s.ndim != 2:
            raise FeedbackError(f"votes of trajectory {t} have shape {s.shape}: expected (steps, votes per step)")
        if not np.isin(s, (-1.0, 0.0, 1.0)).all():
            raise FeedbackError(f"votes of trajectory {t}: every vote must be -1, 0 (unparsable) or +1")
    return won, scores


def _standardise(values: Floats, spread: float, floor: float = 0.0) -> Floats:
    if values.std() < _ZERO_STD or spread < _ZERO_STD:
        return np.zeros_like(values)
    standard: Floats = (values - values.mean()) / max(spread, floor)
    # A value that equals the mean up to rounding is a dropped sample, not a tiny advantage.
    standard[np.abs(standard) < _ZERO_STD] = 0.0
    return standard


def _return_to_go(values: Floats, gamma: float) -> Floats:
    total, returns = 0.0, np.zeros(len(values))
    for i in range(len(values) - 1, -1, -1):
        total = values[i] + gamma * total
        returns[i] = total
    return returns


def _inside(accuracy: float | None, band: Band | None) -> bool:
    return accuracy is not None and (band is None or band[0] <= accuracy <= band[1])


def _thin(steps: list[StepIndex], size: int | None, rng: np.random.Generator) -> list[StepIndex]:
    if size is None or size >= len(steps):
        return steps
    return [steps[k] for k in rng.choice(len(steps), size=size, replace=False)]


def _flat(arrays: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    return np.concatenate([a.ravel() for a in arrays]) if arrays else np.zeros(0)


def _mean(values: NDArray[np.generic]) -> float | None:
    return float(values.astype(np.float64).mean()) if values.size else None
