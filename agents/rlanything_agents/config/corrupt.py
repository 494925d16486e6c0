"""Keys of deliberate noise in outcomes and votes, for robustness studies."""

from __future__ import annotations

from rlanything_agents.config.section import Section, Share

__all__ = ["CorruptConfig"]


class CorruptConfig(Section):
    """Noise added between rollouts and updates; off by default, and never added in an evaluation."""

    outcomes: Share = 0.0
    """Share of episodes whose outcome is flipped, for everything that learns or adapts."""
    votes: Share = 0.0
    """Share of the reward model's single votes whose score is flipped."""

    @property
    def on(self) -> bool:
        """Whether any noise is added."""
        return self.outcomes > 0 or self.votes > 0
