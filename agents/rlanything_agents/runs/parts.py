"""Objects that all stages of a run share: settings, folder, models, environments, reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.domains.supervision import Supervision, get_supervision
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.reviewer import Reviewer
from rlanything_agents.rollout.environments import check_eyes, make_envs
from rlanything_agents.rollout.rollout import Policy
from rlanything_agents.rollout.tasks import collected_tasks, generate_tasks
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_task_pools import Domain, Task, get_domain

if TYPE_CHECKING:
    from rlanything_agents.runs.learners import Learners

__all__ = ["RunParts"]


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of one run."""

    config: RunConfig
    folder: RunFolder
    reporter: Reporter
    domain: Domain
    supervision: Supervision
    learners: Learners
    envs: list[gym.Env[Any, Any]]
    reviewer: Reviewer[Any]

    @classmethod
    def assemble(cls, config: RunConfig, folder: RunFolder, reporter: Reporter) -> RunParts:
        """Make the parts of a run.

        Args:
            config: All settings.
            folder: Folder of the run.
            reporter: Shows progress.

        Raises:
            UnknownName: The domain has no such view.
            CheckpointError: A checkpoint cannot be used.
            ConfigError: The policy cannot read the screens of its environment.
        """
        from rlanything_agents.runs.learners import Learners

        domain = get_domain(config.domain)
        supervision = get_supervision(config.domain)
        envs = make_envs(config, config.rollout.environments or config.rollout.tasks * config.rollout.rollouts)
        learners = Learners(config, folder.path / "models")
        check_eyes(envs[0], learners.actor.renderer.template.images is not None)
        reviewer = supervision.reviewer(config, learners.judge_model)
        return cls(config, folder, reporter, domain, supervision, learners, envs, reviewer)

    @property
    def actor(self) -> Policy:
        """Policy that samples answers with the current weights."""
        return self.learners.actor

    @property
    def judge_model(self) -> JudgeModel:
        """Language model of the reward model, with the current weights."""
        return self.learners.judge_model

    def close(self) -> None:
        """Close the environments and the engines."""
        for env in self.envs:
            env.close()
        self.learners.close()

    def seed(self, *path: str | int) -> int:
        """The run's seed for a purpose."""
        return seed_of(self.config.seed, *path)

    def train_tasks(self, purpose: str, count: int) -> list[Task]:
        """Make training tasks for a purpose: ``pool``, or a lesson of the warm start, which are always generated."""
        source = self.config.curriculum.pool
        if purpose == "pool" and source is not None:
            return collected_tasks(self.domain, source, count, rng_of(self.config.seed, "pool"))
        seeds = [self.seed(purpose, number) for number in range(count)]
        return generate_tasks(self.domain, "train", seeds, self.config.curriculum.knobs)
