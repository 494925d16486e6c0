"""Keys of the monitors: limits beyond which a run counts as unhealthy.

The defaults lie well outside the values of healthy runs of the hard regime (``python -m studies table1 --regime
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
"""Failure signatures that the monitors recognise; see `rlanything_agents.runs.monitors`."""

Factor = Annotated[float, Field(gt=1, allow_inf_nan=False)]


class JudgeLimits(Section):
    """Limits beyond which a reward model counts as collapsed."""

    one_sided: Share = 0.1
    """Share of +1 among the votes on solved episodes, or of -1 among those on failed ones, at or below which the reward
    model always gives the same answer. Healthy: at least 0.17 in a single iteration."""
    mu: Annotated[float, Field(ge=0, le=2)] = 1.0
    """Sum of these two shares at or below which votes carry no information about outcomes (Theorem 1 of the paper)."""
    mixed: Share = 0.005
    """Share of judged items with differing votes, at or below which the reward model has nothing to learn from; only
    where the share was higher in the first iterations. Healthy: at least 0.02."""
    unparsable: Share = 0.2
    """Share of votes or tests that cannot be parsed. Healthy, for step judges: at most 0.04."""
    chance: Share = 0.52
    """Balanced accuracy against the domain's true labels, where it has them, at or below which votes are guesses."""
    fall: Share = 0.1
    """Drop of this accuracy since the first iterations."""


class HackingLimits(Section):
    """Limits beyond which a policy counts as exploiting the reward model without solving the tasks."""

    rise: Annotated[float, Field(gt=0, le=2)] = 0.3
    """Rise of the mean vote on the steps of failed episodes (from -1 to 1) since the first iterations, while success
    does not rise."""
    repeated: Share = 0.3
    """Share of the steps that repeat one of the two actions before them..."""
    repeated_rise: Share = 0.15
    """... and its rise since the first iterations, while success does not rise."""


class PolicyLimits(Section):
    """Limits beyond which a policy counts as collapsed."""

    kept: Share = 0.02
    """Share of groups with a learning signal, at or below which the policy no longer learns."""
    entropy: Annotated[float, Field(ge=0)] = 0.01
    """Entropy in nats per sampled token, at or below which the policy is deterministic. Healthy: at least 0.02."""
    entropy_rise: Factor = 3.0
    """Rise of the entropy since the first iterations, as a factor."""
    kl: Annotated[float, Field(gt=0)] = 0.5
    """KL divergence of one update in nats per token, as the median of the last iterations. Healthy: at most 0.1."""
    length: Factor = 3.0
    """Growth or shrinkage of the words per turn since the first iterations, as a factor."""
    unreadable: Share = 0.5
    """Share of turns whose answer holds no action. Healthy: 0 with choices, at most 0.3 of a pretrained model's free
    answers."""
    lost: Share = 0.2
    """Success as a share of its best value so far..."""
    had: Share = 0.1
    """... where that best value was at least this. Harder tasks do not count as collapse: see ``task_drift``."""


class TaskLimits(Section):
    """Limits beyond which the tasks count as drifted."""

    far: Share = 0.25
    """Share of slots whose task is farther from its root task than the drift limit."""
    drift: Share = 0.7
    """Mean distance of the tasks from their root tasks. Healthy: at most 0.47."""
    diversity: Share = 0.5
    """Distance between the tasks as a share of its value in the first iterations."""
    duplicates: Share = 0.25
    """Share of slots whose task is in another slot too."""
    valid: Share = 0.1
    """Share of proposals proved solvable, at or below which the rewriter is of no use."""
    accepted: Share = 0.02
    """Share of tried candidates that are accepted, at or below which the rewriter misses the band."""
    decisions: Positive = 20
    """Fewest proposals, or decisions, in the window for the last two shares to count."""


class MachineryLimits(Section):
    """Limits beyond which the infrastructure fails too often."""

    errors: Share = 0.1
    """Share of episodes ended by an infrastructure failure."""
    unanswered: Share = 0.5
    """Share of requests to a language model's service without an answer."""


class MonitorsConfig(Section):
    """Limits that are checked after every iteration, and the alarms that end a run."""

    window: Annotated[int, Field(ge=2)] = 5
    """Iterations over which values are averaged, and number of "the first iterations". A shorter run has one window of
    its length; shares of what cannot be read raise an alarm from the first iteration on."""
    stop: tuple[SignatureName, ...] = ()
    """Signatures whose first alarm ends the run, with a checkpoint from which it can continue."""
    judge: JudgeLimits = JudgeLimits()
    hacking: HackingLimits = HackingLimits()
    policy: PolicyLimits = PolicyLimits()
    tasks: TaskLimits = TaskLimits()
    machinery: MachineryLimits = MachineryLimits()

    def for_run(self, iterations: int) -> MonitorsConfig:
        """Limits for a run of this many iterations, whose window is not longer than the run."""
        return self.model_copy(update={"window": min(self.window, iterations)})
