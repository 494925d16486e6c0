"""Keys of a run in which only some tasks have a verifier."""

from __future__ import annotations

from typing import Literal

from rlanything_agents.config.section import Positive, Section, Share

__all__ = ["VerifierConfig"]


class VerifierConfig(Section):
    """Tasks with a verifier, and what stands in for the outcomes of the tasks without one.

    A hidden outcome is read by nothing that learns or adapts: the policy learns from its stand-in, the reward model
    from tasks with a verifier alone, and the task pool records an episode without success or score, so that such a task
    is neither measured nor rewritten. Metrics of the true success, for the curves, are all that is left of it. That an
    episode ends when its task is solved is not hidden.
    """

    tasks: Positive | None = None
    """Number of tasks with a verifier, the first slots of the pool; None for all."""
    share: Share | None = None
    """Share of every batch that is played on tasks with a verifier; as the scheduler draws them if None."""
    others: Literal["judged", "shorter", "known"] = "judged"
    """Stand-in for the outcomes of the other tasks. ``judged``: success for the episodes whose mean vote, over all
    their steps, lies above the threshold that errs least on the latest episodes with a verifier, failure for the rest.
    ``shorter``: the same by the number of steps, fewer being better. ``known``: their true outcomes; only the draws are
    those of the other choices. The last two are controls."""

    @property
    def judges(self) -> bool:
        """Whether votes stand in for outcomes."""
        return self.tasks is not None and self.others == "judged"

    @property
    def hides_any(self) -> bool:
        """Whether any outcome is hidden."""
        return self.tasks is not None and self.others != "known"

    def hides(self, slot: int) -> bool:
        """Whether the outcomes of a slot of the pool are hidden."""
        return self.tasks is not None and self.others != "known" and slot >= self.tasks
