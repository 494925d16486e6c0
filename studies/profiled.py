"""Hook that samples the tasks of a run by a profile: how often the policy solves each before it learns."""

from __future__ import annotations

from dataclasses import replace

from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.hooks import Hook, Iteration
from rlanything_agents.runs.player import Player
from rlanything_envs.curriculum import Assignment
from rlanything_task_pools import Outcome

__all__ = ["Profiled"]


class Profiled(Hook):
    """Plays each task of the pool before the first iteration, and samples tasks by their success rates ever after.

    The environment steps of the profile are counted in the first iteration: they are paid from the budget of the run.

    Args:
        episodes: Episodes of each task.
    """

    def __init__(self, episodes: int) -> None:
        self._episodes = episodes
        self._steps = 0

    def begun(self, player: Player, iteration: int) -> None:
        """Make the profile before the first iteration, and have the curriculum sample by it."""
        player.curriculum.sampling = "profile"
        if iteration > 1:
            return
        settings = player.settings.model_copy(update={"rollouts": self._episodes})
        pool, groups = player.curriculum.pool, list[list[Trajectory]]()
        drawn = [Assignment(slot, pool.active(slot), "active") for slot in pool.slots]
        replace(player, settings=settings).rollout(drawn, 0, groups.append)
        for assignment, group in zip(drawn, groups, strict=True):
            outcomes = [
                Outcome(success=t.success, score=t.score, steps=len(t.steps), actor="profile", role="active")
                for t in group
            ]
            player.curriculum.record(assignment, outcomes)
        self._steps = sum(len(trajectory.steps) for group in groups for trajectory in group)

    def iterated(self, iteration: Iteration) -> None:
        """Count the environment steps of the profile."""
        iteration.row["env_steps"] += self._steps
        self._steps = 0
