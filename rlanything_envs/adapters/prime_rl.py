"""prime-rl: a `CurriculumSource` with the interface of its task samplers.

prime-rl has one ``TaskSampler`` for each training environment: an iterator of tasks whose ``observe`` takes the
finished episodes of a group, with ``state_dict``, ``load_state_dict`` and ``metrics``. This is one. It needs no
prime-rl, only verifiers.

A configuration of prime-rl 0.8 names two samplers of its own and none of yours; `curriculum_sampler` is for the lines
that change this (docs/howto/verifiers.md). Without them `rlanything_envs.adapters.verifiers.LiveTaskset` does the same:
prime-rl's own sampler reads the tasks one by one, and the environment gives the outcomes back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlanything_envs.adapters.verifiers import TextTask, TextTaskData
from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.errors import SettingError

__all__ = ["CurriculumSampler", "curriculum_sampler"]


class CurriculumSampler(Iterator[TextTask]):
    """A task sampler whose tasks adapt; they are played by `rlanything_envs.adapters.verifiers.TextEnv`.

    Args:
        source: Deals the tasks; its `rollouts` are prime-rl's ``rollouts_per_example``.
        config: Configuration of the tasks, of verifiers.
    """

    def __init__(self, source: CurriculumSource, config: Any = None) -> None:
        self.source = source
        self._config = config

    def __next__(self) -> TextTask:
        """The task of the next group."""
        return TextTask(TextTaskData.of(next(self.source)), self._config)

    def observe(self, group: Sequence[Any]) -> None:
        """Take the episodes of a group, verifiers' ``Episode``; one that is not ok counts for nothing.

        Raises:
            SettingError: The episodes are of no task or of several, or not of this sampler.
        """
        tasks = [episode.task.data.model_dump() for episode in group]  # off the wire they are of a more general class
        assignment = TextTaskData(**tasks[0]).assignment if tasks and tasks.count(tasks[0]) == len(tasks) else None
        if assignment is None:
            raise SettingError("CurriculumSampler.observe: want the episodes of one task that the sampler dealt")
        self.source.observe(assignment, [_success(episode) for episode in group])

    def state_dict(self) -> dict[str, Any]:
        """State for a checkpoint; the pool is a separate file and continues where it is."""
        return self.source.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.source.load_state_dict(state)

    def metrics(self) -> dict[str, float]:
        """See `CurriculumSource.metrics`; prime-rl logs them under ``sampler/``."""
        return self.source.metrics()


def curriculum_sampler(tasks: Any, *, pool: str, rollouts: int = 8, **settings: Any) -> CurriculumSampler:
    """A sampler for a configuration, which names it by import path and keyword arguments.

    Args:
        tasks: Those of prime-rl's taskset. The pool's take their place, with the configuration of the first where the
            taskset is finite.
        pool: Path of the pool.
        rollouts: Episodes in a group: prime-rl's ``group_size``.
        settings: Other arguments of `CurriculumSource`.

    Raises:
        PoolError, SettingError: See `CurriculumSource`.
    """
    config = tasks[0].config if isinstance(tasks, Sequence) and tasks else None
    return CurriculumSampler(CurriculumSource(pool, rollouts=rollouts, **settings), config)


def _success(episode: Any) -> bool | None:
    return any(bool(trace.metrics.get("success")) for trace in episode.traces) if episode.ok else None
