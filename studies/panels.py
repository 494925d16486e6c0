"""Panels a saved policy can be played on: splits of the domain's generator, and its official games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rlanything_agents.config import EvaluationConfig, Mixture
from rlanything_task_pools import Domain
from rlanything_task_pools.panel import PanelError, official_of
from studies.plan import StudyError

__all__ = ["OFFICIAL", "Panel", "make_panel", "official_files"]

OFFICIAL = {"official_seen": "valid_seen", "official_unseen": "valid_unseen", "train_official": "train"}
"""Names of panels of official games, and the split that holds them."""
GENERATED = ("valid_seen", "valid_unseen", "train")


class Panel(BaseModel):
    """Games, their number, and the time limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    episodes: Annotated[int, Field(gt=0)] | None
    """None: every official game."""
    max_steps: Annotated[int, Field(gt=0)]
    seed: Annotated[int, Field(ge=0)]
    """First generator seed; of no effect on official games but for the sampling."""
    title: str = ""
    """Name of the panel, in addition to its split, where it has knobs of its own."""
    knobs: Mixture | None = None
    """Knobs of generated games; as in the run's evaluation if None."""

    @property
    def official(self) -> bool:
        """These games are read from files, not generated."""
        return self.name in OFFICIAL

    @property
    def label(self) -> str:
        """A name that tells this panel from any other, fit for a folder."""
        games = "all" if self.episodes is None else str(self.episodes)
        seed = "" if self.official else f"-seed{self.seed}"
        return f"{self.name}-{games}x{self.max_steps}{seed}{self.title and f'-{self.title}'}"


def make_panel(
    name: str,
    config: EvaluationConfig,
    *,
    episodes: int | None = None,
    max_steps: int | None = None,
    seed: int | None = None,
) -> Panel:
    """A panel by its name; what is not given is as in the study, and all of the official games.

    Raises:
        StudyError: There is no such panel.
    """
    if name not in (*OFFICIAL, *GENERATED):
        raise StudyError(f"no panel {name!r}; choose from {', '.join((*GENERATED, *OFFICIAL))}")
    return Panel(
        name=name,
        episodes=episodes if episodes is not None or name in OFFICIAL else config.episodes,
        max_steps=config.max_steps if max_steps is None else max_steps,
        seed=config.seed if seed is None else seed,
    )


def official_files(domain: Domain, panel: Panel) -> list[Path]:
    """The official games of a panel: all, or so many at even distances in their order.

    Raises:
        StudyError: The domain has none.
        LookupError: They are not where the domain looks for them; the message says how to get them.
    """
    try:
        official = official_of(domain)
    except PanelError as error:
        raise StudyError(f"panel {panel.name}: {error}") from error
    games: list[Path] = official.find_games(split=OFFICIAL[panel.name])
    count = len(games) if panel.episodes is None else min(panel.episodes, len(games))
    return [games[k] for k in np.linspace(0, len(games) - 1, count).round().astype(int)]
