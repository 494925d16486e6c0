"""The keys of the evaluations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rlanything_agents.config.section import ANY, Mixture, Positive, Section

__all__ = ["EvaluationConfig"]


class EvaluationConfig(Section):
    """Fixed panels of generated games, played before and after training, and in between if asked for."""

    panels: tuple[str, ...] = ("valid_seen", "valid_unseen")
    """Splits of the domain's generator: in-domain, then out-of-domain."""
    knobs: Mixture = ANY
    """What the panels' games are made of."""
    seed: Annotated[int, Field(ge=0)] = 20_000_000
    """First generator seed of each panel: the same games for every run, whatever the run's seed."""
    episodes: Positive = 2048
    """Episodes per panel, each on a game of its own."""
    max_steps: Positive = 30
    temperature: Annotated[float, Field(gt=0)] = 0.8
    judge_episodes: Positive = 96
    """Episodes of the first panel on which the judge's accuracy is measured."""
    every: Positive | None = None
    """Evaluate after every so many iterations too, for a learning curve."""
    every_episodes: Positive = 128
    """Episodes per panel in these: the first ones of the panel."""
