"""Rollout workers on Ray: processes on this machine or others that play and judge with copies of the models.

The main process keeps the pool, the run folder and the trainers. A worker has environments and models of its
own (or uses their servers); it receives shards of tasks and chunks of judge queries with the weights, and returns
trajectories and answers. If a worker dies, only its current job is lost. Another worker repeats the job with the same
random streams: its episodes and votes are the same.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.engines.vllm_client import WeightsLost
from rlanything_agents.rollout.copies import Role
from rlanything_agents.rollout.queries import Chunk, ChunkedQueries, Queries, QueriesAtEnd, overlapped
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.process import RolloutWorker
from rlanything_agents.rollout.workers.workers import Ended, Models, Play, Shard, shards_of
from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_envs.llm.generator import Completion, SamplingParams
from rlanything_task_pools import Task
from rlanything_verifiers.installed import install

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # as the main process; Ray's 15 starves on a busy machine

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
except ImportError as error:
    raise MissingExtra(f"workers need Ray: {install('train', 'ray')}") from error

__all__ = ["RayWorkers"]

REPEATS = 3
"""Number of times that a job is repeated after its worker was lost."""
START_S = 300.0
"""Maximum seconds until all workers are ready."""
PAUSE_S = 0.5
"""Maximum seconds between two calls of ``progress``."""

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Job:
    """Job for one worker.

    Attributes:
        what: Description for messages.
        role: Model that generates.
        begin: Starts the job on a worker, with the version of the weights and the weights; returns Ray's reference.
        end: Called with the result.
        lost: Number of times that the job was lost, with its worker or with the weights of its server.
    """

    what: str
    role: Role
    begin: Callable[[Any, int, Any], Any]
    end: Callable[[Any], None]
    lost: int = 0


class RayWorkers:
    """Workers of a run on Ray; see `Workers`.

    Args:
        config: Settings of the run.
        settings: Settings of the workers.
        models: Policy and reward model.
    """

    def __init__(self, config: RunConfig, settings: WorkersConfig, models: Models) -> None:
        self._settings, self._models = settings, models
        self.judge = settings.judge
        """Process that queries the reward model, as in ``workers.judge``. It may change between iterations, but to
        ``workers`` only if the settings chose it: only then workers have copies of the reward model."""
        self._shard = config.rollout.environments
        self._config = {**config.model_dump(mode="json"), "workers": settings.model_dump(mode="json")}
        self._actor_class: Any = ray.remote(RolloutWorker).options(num_cpus=1)
        self._version = 0
        self._published: dict[Role, tuple[int, Any]] = {}
        self._stale: set[Role] = set()
        self._waiting: deque[_Job] = deque()
        self._running: dict[Any, tuple[int, _Job]] = {}
        self._idle = list(range(settings.number))
        self._workers = [self._actor_class.remote(self._config) for _ in range(settings.number)]
        self.processes = self._ready(self._workers)
        """Process id of each worker on its machine."""

    @classmethod
    @contextmanager
    def open(cls, config: RunConfig, settings: WorkersConfig, models: Models) -> Iterator[RayWorkers]:
        """Open workers for the time of a run; if this process already uses Ray, that is used and left running.

        Raises:
            InfrastructureError: The workers are not ready in time.
        """
        if ours := not ray.is_initialized():
            _start(settings)
        workers = None
        try:
            workers = cls(config, settings, models)
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
        ended: Ended | None = None,
    ) -> list[Trajectory]:
        """Play one episode per task; see `Workers`.

        Raises:
            InfrastructureError: A shard was lost with its worker more often than `REPEATS`.
        """
        self._publish("policy")
        played: dict[int, list[Trajectory]] = {}

        def job(shard: Shard) -> _Job:
            def end(episodes: list[Trajectory]) -> None:
                played[shard.first] = episodes
                if progress is not None:
                    progress(len(episodes))
                if ended is not None:
                    ended(shard.first, episodes)

            what = f"episodes {shard.first} to {shard.first + len(shard.tasks) - 1}"
            return _Job(what, "policy", lambda worker, *weights: worker.play.remote(*weights, shard, how), end)

        shards = shards_of(tasks, tags, self._shard or -(-len(tasks) // len(self._workers)) or 1)
        self._waiting.extend(map(job, shards))
        self.work(lambda: len(played) == len(shards), progress)
        return [trajectory for shard in shards for trajectory in played[shard.first]]

    def queries(self, params: SamplingParams) -> AbstractContextManager[Queries]:
        """Open queries for the process that ``workers.judge`` names; see `Workers`."""
        generator = self._models.judge_model.generator
        if self.judge == "after":
            return nullcontext(QueriesAtEnd(generator, params))
        if self.judge == "meanwhile":
            return overlapped(generator, params)
        return self._queries_on_workers(params)

    @contextmanager
    def _queries_on_workers(self, params: SamplingParams) -> Iterator[Queries]:
        self._published.pop("judge", None)
        try:
            generator = self._models.judge_model.generator
            yield ChunkedQueries(generator, params, lambda chunk: self._submit(chunk, params), self.work)
        finally:
            self._drop()  # no jobs are left here, unless something failed

    def _submit(self, chunk: Chunk, params: SamplingParams) -> Future[list[list[Completion]]]:
        """Add a chunk of queries to the jobs, after the shards that wait; jobs run during `play` and `work`."""
        found: Future[list[list[Completion]]] = Future()
        if "judge" not in self._published:
            self._publish("judge")
        what = f"queries {chunk.first} to {chunk.first + len(chunk.queries) - 1}"
        self._waiting.append(
            _Job(
                what, "judge", lambda worker, *weights: worker.answer.remote(*weights, chunk, params), found.set_result
            )
        )
        return found

    def _publish(self, role: Role) -> None:
        """Put the current weights of a role into Ray's object store, from which workers read them."""
        self._version += 1
        self._published[role] = self._version, ray.put(self._models.for_copies(role))

    def work(self, done: Callable[[], bool], progress: Callable[[int], None] | None = None) -> None:
        """Run jobs on the workers and collect their results, until ``done()`` is true."""
        try:
            while not done():
                self._start_jobs()
                answers, _ = ray.wait(list(self._running), num_returns=1, timeout=PAUSE_S)
                for answer in answers:
                    self._collect(answer)
                if progress is not None and not answers:
                    progress(0)
        except BaseException:
            self._drop()
            raise

    def _start_jobs(self) -> None:
        for role in [role for role in self._stale if all(job.role != role for _, job in self._running.values())]:
            self._publish(role)  # no running job uses the stale weights any more
            self._stale.discard(role)
        for job in [job for job in self._waiting if job.role not in self._stale][: len(self._idle)]:
            self._waiting.remove(job)
            number = self._idle.pop(0)
            self._running[job.begin(self._workers[number], *self._published[job.role])] = number, job

    def _collect(self, answer: Any) -> None:
        number, job = self._running.pop(answer)
        try:
            result = ray.get(answer)
        except RayActorError as error:
            job.lost += 1
            if job.lost > REPEATS:
                raise InfrastructureError(
                    f"{job.what} were lost with their worker {job.lost} times ({error}): see Ray's logs; the same "
                    "command goes on from the last checkpoint"
                ) from None
            _log.warning("rollout worker %d was lost, its %s are done again", number, job.what)
            self._replace(number)
            self._waiting.appendleft(job)
        except RayTaskError as error:
            job.lost += 1
            if not isinstance(error.cause, WeightsLost) or job.lost > REPEATS:
                raise error.cause from error
            _log.warning("%s Its %s are thrown away and done again", error.cause, job.what)
            self._stale.add(job.role)
            self._waiting.appendleft(job)
        else:
            self._idle.append(number)
            job.end(result)
            return
        self._idle.append(number)

    def _drop(self) -> None:
        """Drop all jobs; a busy worker finishes its job, whose result is ignored, before its next one."""
        self._waiting.clear()
        self._running.clear()
        self._idle = list(range(len(self._workers)))

    def _replace(self, number: int) -> None:
        ray.kill(self._workers[number])
        self._workers[number] = self._actor_class.remote(self._config)
        self.processes[number : number + 1] = self._ready([self._workers[number]])

    def _ready(self, workers: Sequence[Any]) -> list[int]:
        try:
            return list(ray.get([worker.process.remote() for worker in workers], timeout=START_S))
        except GetTimeoutError:
            offered = {name: amount for name, amount in ray.cluster_resources().items() if ":" not in name}
            raise InfrastructureError(
                f"{len(workers)} rollout workers were not there after {START_S:g} s; each needs 1 CPU, "
                f"the cluster has {offered}"
            ) from None
        except RayTaskError as error:
            raise error.cause from error
        except RayActorError as error:
            raise InfrastructureError(f"a rollout worker died while it started: {error}") from None


def _start(settings: WorkersConfig) -> None:
    """Connect to the configured cluster, or start one with the resources of the workers."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if settings.address is not None:
        try:
            ray.init(address=settings.address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InfrastructureError(
                f"workers.address {settings.address!r}: no Ray cluster there ({error})"
            ) from error
        return
    ray.init(num_cpus=settings.number, include_dashboard=False, **quiet)
