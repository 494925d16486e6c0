"""Rollout workers on Ray: processes on this machine or others that play, and judge, with copies of the models.

The process of the loop keeps the pool, the run folder and the trainers. A worker has environments and models of its
own (or asks their servers); it gets shards of tasks and parts of questions with the weights, and gives back
trajectories and answers. A worker that dies takes nothing with it but what it was doing, and that is done again, by the
same streams of chance: the episodes, and the votes, are those it would have brought.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import ceil
from typing import Any

from rlanything_agents.config import RunConfig, WorkersConfig
from rlanything_agents.engines.vllm_client import WeightsLost
from rlanything_agents.rollout.copies import Role
from rlanything_agents.rollout.queries import Answer, Chunk, Chunks, OverlappedQueries, Queries, QueriesAtEnd
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers.process import RolloutWorker
from rlanything_agents.rollout.workers.workers import Ended, Models, Play, Shard, shards_of
from rlanything_envs.errors import InfrastructureError, MissingExtra
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator
from rlanything_task_pools import Task

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nobody is told of a run
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # as the process of the loop; Ray's 15 starves on a busy machine

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
except ImportError as error:
    raise MissingExtra("workers need Ray: pip install 'rlanything-envs[train,ray]'") from error

__all__ = ["RayWorkers"]

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Job:
    """Something for one worker to do.

    Attributes:
        what: In words.
        role: Which model writes.
        begin: Has a worker begin, given the version of the weights and the weights; what Ray promises for it.
        end: Takes what came of it.
        lost: How often it was lost, with its worker or with the weights of its server.
    """

    what: str
    role: Role
    begin: Callable[[Any, int, Any], Any]
    end: Callable[[Any], None]
    lost: int = 0


class RayWorkers:
    """The workers of a run; see `Workers`.

    Args:
        config: Of the run.
        settings: Of the workers.
        models: The policy that plays, and the reward model.
        kind: What a worker is.
    """

    def __init__(
        self,
        config: RunConfig,
        settings: WorkersConfig,
        models: Models,
        kind: type[RolloutWorker] = RolloutWorker,
    ) -> None:
        self._settings, self._models = settings, models
        self.judge = settings.judge
        """Who asks the reward model; may be changed between iterations, to what the settings have room for."""
        self._shard = config.rollout.environments
        self._config = {**config.model_dump(mode="json"), "workers": settings.model_dump(mode="json")}
        self._made: Any = ray.remote(kind).options(
            num_cpus=settings.cpus, num_gpus=settings.gpus, resources=dict(settings.resources)
        )
        self._version = 0
        self._given: dict[Role, tuple[int, Any]] = {}
        self._stale: set[Role] = set()
        self._waiting: deque[_Job] = deque()
        self._running: dict[Any, tuple[int, _Job]] = {}
        self._idle = list(range(settings.number))
        self._workers = [self._made.remote(self._config) for _ in range(settings.number)]
        self.processes = self._ready(self._workers)
        """Process id of each worker, on whatever machine it is."""

    @classmethod
    @contextmanager
    def open(
        cls,
        config: RunConfig,
        settings: WorkersConfig,
        models: Models,
        kind: type[RolloutWorker] = RolloutWorker,
    ) -> Iterator[RayWorkers]:
        """Workers for the time of a run; a Ray that is running in this process already is used and left running.

        Raises:
            InfrastructureError: The workers are not there in time.
        """
        ours = not ray.is_initialized()
        if ours:
            _start(settings)
        workers = None
        try:
            workers = cls(config, settings, models, kind)
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
        """One episode a task; see `Workers`.

        Raises:
            InfrastructureError: A shard was lost with its worker more often than it is played again.
        """
        self._give("policy")
        played: dict[int, list[Trajectory]] = {}

        def job(shard: Shard) -> _Job:
            def end(episodes: list[Trajectory]) -> None:
                played[shard.first] = episodes
                if progress is not None:
                    progress(len(episodes))
                if ended is not None:
                    ended(shard.first, episodes)

            what = f"episodes {shard.first} to {shard.first + len(shard.tasks) - 1}"
            return _Job(what, "policy", lambda worker, *given: worker.play.remote(*given, shard, how), end)

        shards = shards_of(tasks, tags, self._shard or -(-len(tasks) // len(self._workers)) or 1)
        self._waiting.extend(map(job, shards))
        self.work(lambda: len(played) == len(shards))
        return [trajectory for shard in shards for trajectory in played[shard.first]]

    def queries(self, params: SamplingParams) -> AbstractContextManager[Queries]:
        """Who answers is a matter of ``workers.judge``; see `Workers`."""
        generator = self._models.judge_model.generator
        if self.judge == "after":
            return nullcontext(QueriesAtEnd(generator, params))
        if self.judge == "meanwhile":
            return OverlappedQueries.open(generator, params)
        return self._asked(params)

    @contextmanager
    def _asked(self, params: SamplingParams) -> Iterator[Queries]:
        self._given.pop("judge", None)
        try:
            yield _QueriesOnWorkers(self, self._models.judge_model.generator, params)
        finally:
            self._drop()  # nothing is left of it, unless something failed

    def ask(self, part: Chunk, params: SamplingParams, end: Callable[[list[list[Completion]]], None]) -> None:
        """Have a worker answer a part, when no shards wait any more; it does so while `play` or `work` goes on."""
        if "judge" not in self._given:
            self._give("judge")
        what = f"questions {part.first} to {part.first + len(part.questions) - 1}"
        self._waiting.append(
            _Job(what, "judge", lambda worker, *given: worker.answer.remote(*given, part, params), end)
        )

    def _give(self, role: Role) -> None:
        """Put what a role writes with where workers get it."""
        self._version += 1
        self._given[role] = self._version, ray.put(self._models.for_copies(role))

    def work(self, done: Callable[[], bool]) -> None:
        """Deal out what waits, and take what comes, until it is enough."""
        try:
            while not done():
                self._deal()
                (answer,), _ = ray.wait(list(self._running), num_returns=1)
                self._take(answer)
        except BaseException:
            self._drop()
            raise

    def _deal(self) -> None:
        for role in [role for role in self._stale if all(job.role != role for _, job in self._running.values())]:
            self._give(role)  # nobody writes with what is left of the old ones
            self._stale.discard(role)
        for job in [job for job in self._waiting if job.role not in self._stale][: len(self._idle)]:
            self._waiting.remove(job)
            number = self._idle.pop(0)
            self._running[job.begin(self._workers[number], *self._given[job.role])] = number, job

    def _take(self, answer: Any) -> None:
        number, job = self._running.pop(answer)
        try:
            found = ray.get(answer)
        except RayActorError as error:
            job.lost += 1
            if job.lost > self._settings.retries:
                raise InfrastructureError(
                    f"{job.what} were lost with their worker {job.lost} times ({error}): see Ray's logs; the same "
                    "command goes on from the last checkpoint"
                ) from None
            _log.warning("rollout worker %d was lost, its %s are done again", number, job.what)
            self._replace(number)
            self._waiting.appendleft(job)
        except RayTaskError as error:
            job.lost += 1
            if not isinstance(error.cause, WeightsLost) or job.lost > self._settings.retries:
                raise error.cause from error
            _log.warning("%s Its %s are thrown away and done again", error.cause, job.what)
            self._stale.add(job.role)
            self._waiting.appendleft(job)
        else:
            self._idle.append(number)
            job.end(found)
            return
        self._idle.append(number)

    def _drop(self) -> None:
        """Forget all jobs; a worker that is at one takes the next when it is done with it."""
        self._waiting.clear()
        self._running.clear()
        self._idle = list(range(len(self._workers)))

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
            raise error.cause from error
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


class _QueriesOnWorkers:
    """Workers answer part after part, those that have nothing to play any more."""

    def __init__(self, workers: RayWorkers, generator: TextGenerator, params: SamplingParams) -> None:
        self._workers, self._params = workers, params
        self._parts = Chunks(generator, params)
        self._asked = 0
        self._answers: dict[int, list[list[Completion]]] = {}

    def add(self, questions: Sequence[Prompt]) -> None:
        """The next questions."""
        for part in self._parts.add(questions):
            self._ask(part)

    def answers(self) -> list[Answer]:
        """See `Queries`."""
        for part in self._parts.rest():
            self._ask(part)
        self._workers.work(lambda: len(self._answers) == self._asked)
        found = [answer for first in sorted(self._answers) for answer in self._answers[first]]
        return list(zip(self._parts.questions, found, strict=True))

    def _ask(self, part: Chunk) -> None:
        self._asked += 1
        self._workers.ask(part, self._params, lambda found: self._answers.update({part.first: found}))
