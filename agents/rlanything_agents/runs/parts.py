"""What the stages of a run share: its settings, its folder, its models and its environments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.dialect import Dialect
from rlanything_agents.rollout.copies import dialect_of
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs.tasks import generate_tasks
from rlanything_task_pools import Domain, Task, get_domain

if TYPE_CHECKING:
    from rlanything_agents.runs.learners import Learners

__all__ = ["RunParts", "make_envs"]


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of one run."""

    config: RunConfig
    folder: RunFolder
    reporter: Reporter
    domain: Domain
    dialect: Dialect
    learners: Learners
    envs: list[gym.Env[Any, Any]]
    reviewer: Reviewer[Any]

    @classmethod
    def assemble(cls, config: RunConfig, folder: RunFolder, reporter: Reporter) -> RunParts:
        """Make the parts.

        Raises:
            UnknownDialect: The domain has no small model.
            CheckpointError: A pretrained checkpoint cannot be used.
        """
        from rlanything_agents.runs.learners import Learners

        domain = get_domain(config.domain)
        dialect = dialect_of(config)
        envs = make_envs(config, dialect, config.rollout.environments or config.rollout.tasks * config.rollout.rollouts)
        learners = Learners(config, dialect, folder.path / "engines")
        return cls(config, folder, reporter, domain, dialect, learners, envs, dialect.reviewer(config, learners))

    def close(self) -> None:
        """Close the environments, and end what the models write with."""
        for env in self.envs:
            env.close()
        self.learners.close()

    def seed(self, *path: str | int) -> int:
        """The run's seed for a purpose."""
        return seed_of(self.config.seed, *path)

    def train_tasks(self, purpose: str, count: int) -> list[Task]:
        """Training tasks for a purpose: ``pool``, or lessons of the warm start."""
        mixture = (self.config.curriculum if purpose == "pool" else self.config.warm_start).knobs
        return generate_tasks(self.domain, "train", [self.seed(purpose, number) for number in range(count)], mixture)


def make_envs(config: RunConfig, dialect: Dialect, count: int) -> list[gym.Env[Any, Any]]:
    """So many environments of a run, as its policy plays in them."""
    arguments = {**dialect.environment, **(config.environment or {})}
    if config.rollout.screenshots:
        arguments.setdefault("render_mode", "rgb_array")
    env_id = get_domain(config.domain).env_id
    return [dialect.wrapped(gym.make(env_id, disable_env_checker=True, **arguments)) for _ in range(count)]
