"""The keys of the lies a run is told, for measuring what they cost."""

from __future__ import annotations

from rlanything_agents.config.section import Section, Share

__all__ = ["CorruptConfig"]


class CorruptConfig(Section):
    """What is falsified between playing and learning; nothing unless asked for, and never in an evaluation."""

    outcomes: Share = 0.0
    """Share of episodes whose outcome is flipped, for everything that learns or adapts."""
    votes: Share = 0.0
    """Share of the reward model's single votes whose score is flipped."""

    @property
    def on(self) -> bool:
        """Whether anything is falsified."""
        return self.outcomes > 0 or self.votes > 0
