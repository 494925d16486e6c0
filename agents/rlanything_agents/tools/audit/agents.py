"""The agents of an audit: one object that plays each episode as the agent that the episode's group names; its world.

The number of a cheat's episode is that of its variant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym

from rlanything_agents.domains.cheats import Answer, cheats_of
from rlanything_agents.domains.solutions import Solution, solution_of
from rlanything_agents.tools.benchmark.episode import World
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import Player, Response
from rlanything_agents.tools.benchmark.scripted import RandomAgent, Scripted
from rlanything_envs.errors import InfrastructureError

if TYPE_CHECKING:
    from rlanything_agents.tools.benchmark.episode import Episode
    from rlanything_envs.conversation import Conversation, Turn
    from rlanything_task_pools import Task

__all__ = ["RANDOM", "REFUSED", "SOLUTION", "AuditAgent", "AuditWorld", "Refusals"]

RANDOM, SOLUTION = "random", "solution"
"""Names of the two agents that do not cheat: random play, and the known solution, the control."""

REFUSED = "the episode did not begin: "
"""Beginning of the error of an episode in which no agent did anything."""


class AuditAgent(Scripted):
    """Plays an episode as a cheating agent of the domain, as `RANDOM` or as `SOLUTION`: the name of its group."""

    name = "audit"

    def player(self, episode: Episode) -> Player:
        """A player of the episode's agent."""
        if episode.group == RANDOM:
            return _Guesses(RandomAgent().player(episode))
        if episode.group == SOLUTION:
            return _Solves(solution_of(episode.task))
        cheat = next(cheat for cheat in cheats_of(episode.task.domain) if cheat.name == episode.group)
        return _Cheats(tuple(cheat.variants.values())[episode.number], episode.task)


class _Cheats:
    counts = False

    def __init__(self, answer: Answer, task: Task) -> None:
        self._answer, self._task, self._earlier = answer, task, 0

    def act(self, turn: Turn) -> Response:
        answer = self._answer(self._task, turn, self._earlier)
        self._earlier += 1
        return Response(answer)


class _Solves:
    """The known solution; where it ends before the episode does, the episode is given up as failed."""

    counts = False

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._given: list[str] = []

    def act(self, turn: Turn) -> Response:
        self._given.append(self._solution(self._given) or "")
        return Response(self._given[-1])


class _Guesses:
    """Random play; an episode without outcome where a domain has none, which ends no audit."""

    counts = False

    def __init__(self, player: Player) -> None:
        self._player = player

    def act(self, turn: Turn) -> Response:
        try:
            return self._player.act(turn)
        except BenchmarkError as error:
            raise InfrastructureError(str(error)) from error


class AuditWorld(World):
    """The environment of an audit, in which a task that is refused or cannot begin has no outcome."""

    def open(self) -> Conversation:
        """Open a conversation with a new environment."""
        conversation = super().open()
        conversation.env = Refusals(conversation.env)
        return conversation


class Refusals(gym.Wrapper[Any, Any, Any, Any]):
    """An environment in which a refusal to begin is an infrastructure failure."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        try:
            return super().reset(seed=seed, options=options)
        except (ValueError, InfrastructureError) as error:  # a malformed task, or one that is solved from the start
            raise InfrastructureError(f"{REFUSED}{error}") from error
