"""The keys of the monitors: from where on something counts as going wrong.

The defaults stand well outside what healthy runs of the hard regime showed (``python -m studies table1 --regime
hard``); `docs/howto/failures.md` has the figures.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rlanything_agents.config.section import Positive, Section, Share

__all__ = [
    "HackingLimits",
    "JudgeLimits",
    "MachineryLimits",
    "MonitorsConfig",
    "PolicyLimits",
    "SignatureName",
    "TaskLimits",
]

SignatureName = Literal["judge_collapse", "reward_hacking", "policy_collapse", "task_drift", "infrastructure"]
"""What can be recognised; see `rlanything_agents.runs.monitors`."""

Factor = Annotated[float, Field(gt=1, allow_inf_nan=False)]


class JudgeLimits(Section):
    """When a reward model counts as collapsed."""

    one_sided: Share = 0.1
    """Share of the votes on won episodes that are +1, or of those on lost ones that are -1, at or below which it gives
    one answer whatever happens. Healthy: at least 0.17 in a single iteration."""
    mu: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Sum of these two shares at or below which votes tell nothing of outcomes (Theorem 1 of the paper)."""
    mixed: Share = 0.005
    """Share of what it judges on which its votes differ, at or below which it has nothing to learn from; only where
    they differed more in the first iterations. Healthy: at least 0.02."""
    unparsable: Share = 0.2
    """Share of votes or tests that cannot be read. Healthy, for step judges: at most 0.04."""
    chance: Share = 0.52
    """Balanced accuracy against the truth, where the domain knows it, at or below which it is as good as guessing."""
    fall: Share = 0.1
    """Fall of the accuracy against the truth since the first iterations."""


class HackingLimits(Section):
    """When a policy counts as pleasing the reward model without doing the tasks."""

    rise: Annotated[float, Field(gt=0, le=2)] = 0.3
    """Rise of the mean vote on the steps of lost episodes (from -1 to 1) since the first iterations, while success does
    not rise."""
    repeated: Share = 0.3
    """Share of the steps that only repeat one of the two actions before them..."""
    repeated_rise: Share = 0.15
    """... and its rise since the first iterations, while success does not rise."""


class PolicyLimits(Section):
    """When a policy counts as collapsed."""

    kept: Share = 0.02
    """Share of groups that teach it at or below which it learns nothing any more."""
    entropy: Annotated[float, Field(ge=0)] = 0.01
    """Nats for a sampled token at or below which it always says the same. Healthy: at least 0.02."""
    entropy_rise: Factor = 3.0
    """Rise of the entropy since the first iterations, as a factor."""
    kl: Annotated[float, Field(gt=0)] = 0.5
    """Nats for a token that it moves in one update, as the median of the last iterations. Healthy: at most 0.1."""
    length: Factor = 3.0
    """Growth or shrinkage of the words in a turn since the first iterations, as a factor."""
    lost: Share = 0.2
    """Success as a share of the best it had..."""
    had: Share = 0.1
    """... where that was at least so much. Tasks that became harder are no reason: see ``task_drift``."""


class TaskLimits(Section):
    """When the tasks count as having gone astray."""

    far: Share = 0.25
    """Share of slots whose task is farther from its root than the drift limit."""
    drift: Share = 0.7
    """Mean distance of the tasks from their roots. Healthy: at most 0.47."""
    diversity: Share = 0.5
    """Distance between the tasks as a share of what it was in the first iterations."""
    duplicates: Share = 0.25
    """Share of slots that hold a task which another holds too."""
    valid: Share = 0.1
    """Share of what was proposed that is proved, at or below which the rewriter is of no use."""
    accepted: Share = 0.02
    """Share of the tried tasks that are accepted, at or below which the rewriter misses the mark."""
    decisions: Positive = 20
    """Proposals, or decisions, in the window, below which the two last shares say nothing."""


class MachineryLimits(Section):
    """When too much breaks that has nothing to do with learning."""

    errors: Share = 0.1
    """Share of episodes that the infrastructure broke."""
    unanswered: Share = 0.5
    """Share of requests that a language model's service left without an answer."""


class MonitorsConfig(Section):
    """What is watched while a run goes on."""

    window: Annotated[int, Field(ge=2)] = 5
    """Iterations that a value is the mean of, and that "the first iterations" are."""
    stop: tuple[SignatureName, ...] = ()
    """Signatures at whose first sign the run ends, with a checkpoint from which it can go on."""
    judge: JudgeLimits = JudgeLimits()
    hacking: HackingLimits = HackingLimits()
    policy: PolicyLimits = PolicyLimits()
    tasks: TaskLimits = TaskLimits()
    machinery: MachineryLimits = MachineryLimits()
