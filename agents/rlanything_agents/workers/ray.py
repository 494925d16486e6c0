"""Rollout workers on Ray: processes on this machine or others that play with copies of the policy.

The process of the loop keeps the pool, the run folder and the trainers. A worker has environments and a model of its
own; it gets shards of tasks with the policy's weights and gives back trajectories. A worker that dies takes nothing
with it but the shard it was playing, and that is played again, by the same streams of chance: the episodes are those it
would have brought.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.trajectory import Trajectory
from rlanything_agents.workers.workers import Play, Shard, shards_of
from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_task_pools import Task

if TYPE_CHECKING:
    from rlanything_agents.learners import Learners

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of a run
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
except ImportError as error:
    raise MissingExtra("workers need Ray: pip install 'rlanything-envs[train,ray]'") from error

__all__ = ["RayWorkers", "RolloutWorker"]

_log = logging.getLogger(__name__)


class RolloutWorker:
    """What runs in a worker's process.

    Args:
        config: Of the run, as JSON.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        import torch

        from rlanything_agents.learners import PolicyCopy
        from rlanything_agents.run_parts import make_envs

        self._config = RunConfig.model_validate(config)
        torch.set_num_threads((self._config.workers or WorkersConfig()).threads)
        self._copy = PolicyCopy(self._config)
        self._envs = make_envs(self._config, self._copy.dialect, 1)
        self._version = -1

    def process(self) -> int:
        """Its process id, once it is ready to play."""
        return os.getpid()

    def play(self, shard: Shard, how: Play, version: int, weights: Any) -> list[Trajectory]:
        """Play a shard.

        Args:
            shard: What is played.
            how: How.
            version: Of the weights; those of the last shard are not taken in again.
            weights: The policy's, by name.
        """
        from rlanything_agents.rollout import rollout
        from rlanything_agents.run_parts import make_envs

        if version != self._version:
            self._copy.take(weights)
            self._version = version
        if missing := len(shard.tasks) - len(self._envs):
            self._envs += make_envs(self._config, self._copy.dialect, max(0, missing))
        return rollout(
            self._copy.player,
            self._copy.dialect,
            self._envs[: len(shard.tasks)],
            shard.tasks,
            first=shard.first,
            max_steps=how.max_steps,
            seed=how.seed,
            temperature=how.temperature,
            constrained=self._config.rollout.constrained,
            threads=self._config.rollout.threads or 1,
            tags=shard.tags,
        )


class RayWorkers:
    """The workers of a run; see `Workers`.

    Args:
        config: Of the run.
        settings: Of the workers.
        learners: The policy that plays.
    """

    def __init__(self, config: RunConfig, settings: WorkersConfig, learners: Learners) -> None:
        self._settings, self._learners = settings, learners
        self._shard = config.rollout.environments
        self._config = {**config.model_dump(mode="json"), "workers": settings.model_dump(mode="json")}
        self._made: Any = ray.remote(RolloutWorker).options(
            num_cpus=settings.cpus, num_gpus=settings.gpus, resources=dict(settings.resources)
        )
        self._version = 0
        self._workers = [self._made.remote(self._config) for _ in range(settings.number)]
        self.processes = self._ready(self._workers)
        """Process id of each worker, on whatever machine it is."""

    @classmethod
    @contextmanager
    def open(cls, config: RunConfig, settings: WorkersConfig, learners: Learners) -> Iterator[RayWorkers]:
        """Workers for the time of a run; a Ray that is running in this process already is used and left running.

        Raises:
            InfrastructureError: The workers are not there in time.
        """
        ours = not ray.is_initialized()
        if ours:
            _start(settings)
        workers = None
        try:
            workers = cls(config, settings, learners)
            yield workers
        finally:
            for worker in workers._workers if workers else ():
                ray.kill(worker)
            if ours:
                ray.shutdown()

    def play(
        self,
        tasks: Sequence[Task],
        how: Play,
        tags: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Trajectory]:
        """One episode a task; see `Workers`.

        Raises:
            InfrastructureError: A shard was lost with its worker more often than it is played again.
        """
        self._version += 1
        weights = ray.put(self._learners.policy_weights())
        shards = shards_of(tasks, tags, self._shard or -(-len(tasks) // len(self._workers)) or 1)
        waiting, lost = deque(shards), dict.fromkeys((shard.first for shard in shards), 0)
        idle, playing = list(range(len(self._workers))), {}
        played: dict[int, list[Trajectory]] = {}
        while len(played) < len(shards):
            while waiting and idle:
                number, shard = idle.pop(0), waiting.popleft()
                playing[self._workers[number].play.remote(shard, how, self._version, weights)] = number, shard
            (answer,), _ = ray.wait(list(playing), num_returns=1)
            number, shard = playing.pop(answer)
            try:
                played[shard.first] = ray.get(answer)
            except RayActorError as error:
                lost[shard.first] += 1
                _log.warning("rollout worker %d was lost, its %d episodes are played again", number, len(shard.tasks))
                if lost[shard.first] > self._settings.retries:
                    raise InfrastructureError(
                        f"episodes {shard.first} to {shard.first + len(shard.tasks) - 1} were lost with their worker "
                        f"{lost[shard.first]} times ({error}): see Ray's logs; the same command goes on from the last "
                        "checkpoint"
                    ) from None
                self._replace(number)
                waiting.appendleft(shard)
            except RayTaskError as error:
                raise error.as_instanceof_cause() from None
            else:
                if progress is not None:
                    progress(len(shard.tasks))
            idle.append(number)
        return [trajectory for shard in shards for trajectory in played[shard.first]]

    def _replace(self, number: int) -> None:
        ray.kill(self._workers[number])
        self._workers[number] = self._made.remote(self._config)
        self.processes[number : number + 1] = self._ready([self._workers[number]])

    def _ready(self, workers: Sequence[Any]) -> list[int]:
        try:
            return list(ray.get([worker.process.remote() for worker in workers], timeout=self._settings.start_seconds))
        except GetTimeoutError:
            offered = {name: amount for name, amount in ray.cluster_resources().items() if ":" not in name}
            raise InfrastructureError(
                f"{len(workers)} rollout workers were not there after {self._settings.start_seconds:g} s; each needs "
                f"{self._settings.cpus:g} CPU, {self._settings.gpus:g} GPU and "
                f"{self._settings.resources or 'no labels'}, the cluster has {offered}"
            ) from None
        except RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except RayActorError as error:
            raise InfrastructureError(f"a rollout worker died while it started: {error}") from None


def _start(settings: WorkersConfig) -> None:
    """Join the cluster, or start one that has what the workers need."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if settings.address is not None:
        try:
            ray.init(address=settings.address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InfrastructureError(
                f"workers.address {settings.address!r}: no Ray cluster there ({error})"
            ) from error
        return
    number = settings.number
    ray.init(
        num_cpus=max(1, ceil(number * settings.cpus)),
        resources={label: number * amount for label, amount in settings.resources.items()},
        include_dashboard=False,
        **quiet,
    )
