"""Step-level search: several candidates go on from the same steps of a game, and the best of them by a score is kept.

Games are deterministic, so a state is reached again by replaying the actions that led to it. Every step of an
environment counts, the replayed ones too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from rlanything_agents.rollout.episode import Episode
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.turns import Turns
from rlanything_envs.llm.generator import Completion
from studies.plan import StudyError

__all__ = ["Branch", "Score", "Searched", "search_steps"]

Score = Callable[[Sequence[Trajectory], int], Sequence[float]]
"""Score of each trajectory by its steps from a given one on."""


@dataclass(eq=False)
class Branch(Episode):
    """Episode whose answers can be replayed in another environment."""

    taken: list[Completion] = field(default_factory=list)
    """Answers so far."""

    def take(self, completion: Completion, prompt: list[int]) -> None:
        """Append a sampled answer, and keep it."""
        super().take(completion, prompt)
        self.taken.append(completion)

    def replayed(self, env: gym.Env[Any, Any]) -> Branch:
        """A new episode in another environment, at the same place.

        Raises:
            StudyError: The game answered the same actions otherwise.
        """
        branch = Branch(env, self.task, self.tag, self.renderer, self.stop)
        branch.reset()
        for completion in self.taken:
            branch.take(completion, branch.prompt())
            branch.step()
        if branch.ids != self.ids:
            raise StudyError(f"{self.task_id} is not deterministic: replayed actions led to other messages")
        return branch


@dataclass(frozen=True, slots=True)
class Searched:
    """Result of a search in one game.

    Attributes:
        trajectory: The episode that was kept.
        env_steps: Environment steps of all candidates, replayed ones included.
    """

    trajectory: Trajectory
    env_steps: int


def search_steps(
    turns: Turns,
    episodes: Sequence[Sequence[Branch]],
    score: Score,
    *,
    ahead: int,
    max_steps: int,
) -> list[Searched]:
    """Search in several games at once, in lock step.

    Until a game ends, all its candidates go on for ``ahead`` steps, the one with the highest score of these steps is
    kept, the first of several, and the others are replaced by replays of it. A score sees the steps and the answers of
    the game to them, but not whether the episode has ended or how.

    Args:
        turns: Samples the answers.
        episodes: For each game its candidates, each in an environment of its own, before their first reset.
        score: Scores candidates.
        ahead: Steps of a candidate between two decisions.
        max_steps: Most steps of an episode.
    """
    games = [list(candidates) for candidates in episodes]
    numbers = {id(branch.env): n for n, branch in enumerate(branch for game in games for branch in game)}
    found: dict[int, Searched] = {}
    spent = [0] * len(games)
    for game in games:
        for branch in game:
            branch.reset()
    for start in range(0, max_steps, ahead):
        open_games = [k for k in range(len(games)) if k not in found]
        if not open_games:
            break
        live = [branch for k in open_games for branch in games[k]]
        for _ in range(min(ahead, max_steps - start)):
            _turn(turns, live, numbers)
        trajectories = [branch.trajectory() for branch in live]
        scores = iter(score(trajectories, start))
        for k in open_games:
            spent[k] += sum(len(branch.steps) - start for branch in games[k])
            best = games[k][int(np.argmax([next(scores) for _ in games[k]]))]
            if best.done or start + ahead >= max_steps:
                found[k] = Searched(best.trajectory(), spent[k])
            else:
                games[k] = [branch if branch is best else best.replayed(branch.env) for branch in games[k]]
                spent[k] += (len(games[k]) - 1) * len(best.steps)
    return [found[k] for k in range(len(games))]


def _turn(turns: Turns, branches: Sequence[Branch], numbers: dict[int, int]) -> None:
    """Play one turn of the episodes that have not ended."""
    live = [branch for branch in branches if not branch.done]
    if live:
        turns.sample(live, [numbers[id(branch.env)] for branch in live])
    for branch in live:
        if not branch.done:
            branch.step()
