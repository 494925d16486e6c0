"""Keys of the evaluations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from rlanything_agents.config.section import ANY, Mixture, Positive, Section

__all__ = ["EvaluationConfig"]


class EvaluationConfig(Section):
    """Fixed panels of generated tasks, evaluated before and after training, and during it, for a learning curve."""

    panels: tuple[str, ...] = ("valid_seen", "valid_unseen")
    """Splits of the domain's generator: in-domain, then out-of-domain."""
    pools: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)
    """Folder or file of tasks by panel, in place of generated ones, in the forms of `CurriculumConfig.pool`. Episodes
    beyond the number of tasks play them again."""
    knobs: Mixture = ANY
    """Knobs of the generator of the panels' tasks."""
    seed: Annotated[int, Field(ge=0)] = 20_000_000
    """First generator seed of each panel: every run has the same tasks, whatever its own seed."""
    episodes: Positive = 2048
    """Episodes per panel, each on a different task."""
    max_steps: Positive = 30
    temperature: Annotated[float, Field(ge=0)] = 0.8
    judge_episodes: Positive = 96
    """Episodes of the first panel on which the judge's accuracy is measured."""
    every: Positive | None = 8
    """Iterations between evaluations during training; None for none."""
    every_episodes: Positive = 128
    """Episodes per panel of these evaluations: the first tasks of the panel."""

    @property
    def generated(self) -> tuple[str, ...]:
        """Panels whose tasks are generated."""
        return tuple(panel for panel in self.panels if panel not in self.pools)

    def share_during(self, iterations: int, done: int = 0) -> float:
        """Episodes of the evaluations between iteration ``done`` and the end, as a multiple of those of a whole one."""
        points = 0 if self.every is None else (iterations - 1) // self.every - done // self.every
        return max(0, points) * min(1.0, self.every_episodes / self.episodes)

    @model_validator(mode="after")
    def _pools_of_panels(self) -> EvaluationConfig:
        if strangers := [name for name in self.pools if name not in self.panels]:
            raise ValueError(f"`pools` names {', '.join(strangers)}, and `panels` has {', '.join(self.panels)}")
        if self.knobs != ANY and not self.generated:
            raise ValueError("`knobs` are those of generated tasks, and `pools` has every panel: leave one out")
        return self
