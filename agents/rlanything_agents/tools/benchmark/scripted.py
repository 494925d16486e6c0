"""Two agents without a model: random play, and an expert with the known solution of every task."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rlanything_agents.domains.guesses import Guess, guess_of
from rlanything_agents.domains.solutions import Solution, solution_of
from rlanything_agents.tools.benchmark.agent import Solo
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import Response

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode
    from rlanything_envs.conversation import Turn

__all__ = ["Expert", "RandomAgent", "Scripted"]


class Scripted(Solo):
    """An agent without a model, which computes."""

    executor = "processes"
    sees = True
    parallel = min(os.cpu_count() or 1, 8)  # each worker process takes seconds to start


class RandomAgent(Scripted):
    """Random admissible commands; in a domain without any, the domain's random play (`domains.guesses`)."""

    name = "random"

    def player(self, episode: Episode) -> _RandomPlayer:
        """A player with the seed of the episode."""
        return _RandomPlayer(guess_of(episode.task.domain), episode.seed)


class Expert(Scripted):
    """Plays the known solution of a task: the planner's commands, the reference program, the oracle's keys."""

    name = "expert"

    def check(self, episodes: Sequence[Episode]) -> None:
        """Check that every task has a known solution.

        Raises:
            BenchmarkError: A task has none.
        """
        for task_id, task in {episode.task.id: episode.task for episode in episodes}.items():
            if solution_of(task)([]) is None:
                raise BenchmarkError(f"task {task_id} has no known solution: the agent expert cannot play it")

    def player(self, episode: Episode) -> _ExpertPlayer:
        """A player with the solution of the episode's task."""
        return _ExpertPlayer(episode.task.id, solution_of(episode.task))


class _RandomPlayer:
    counts = False

    def __init__(self, guess: Guess, seed: int) -> None:
        self._guess, self._rng = guess, np.random.default_rng(seed)

    def act(self, turn: Turn) -> Response:
        if (guess := self._guess(turn, self._rng)) is None:
            raise BenchmarkError(
                "the agent random cannot play: the environment lists no admissible_commands, and nothing is known of "
                "its domain"
            )
        return Response(guess)


class _ExpertPlayer:
    counts = False

    def __init__(self, task_id: str, solution: Solution) -> None:
        self._task_id, self._solution = task_id, solution
        self._given: list[str] = []

    def act(self, turn: Turn) -> Response:
        if (answer := self._solution(self._given)) is None:
            raise BenchmarkError(
                f"task {self._task_id}: the known solution of {len(self._given)} answers did not end the episode; the "
                "environment is not the one it was proved in"
            )
        self._given.append(answer)
        return Response(answer)
