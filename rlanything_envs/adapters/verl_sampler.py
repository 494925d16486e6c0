"""verl's user sampler: the replay buffer of its trainer, with the curriculum in its log and failed groups replaced.

verl's trainer takes groups of finished episodes from a replay buffer, and logs the numbers that come with them. A
configuration names another buffer::

    trainer.v1.sampler.custom_sampler.path=pkg://rlanything_envs.adapters.verl_sampler
    trainer.v1.sampler.custom_sampler.name=CurriculumReplayBuffer
    +trainer.v1.sampler.sampler_kwargs.pool=pool.sqlite

Which task a group plays is decided earlier, by `rlanything_envs.adapters.verl.EnvAgentLoop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlanything_envs.curriculum import CurriculumSource
from rlanything_envs.errors import MissingExtra, SettingError

try:
    from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
except ImportError as error:
    raise MissingExtra(
        f"rlanything_envs.adapters.verl_sampler needs verl's trainer ({error}): pip install 'verl[verl-core]'"
    ) from error

__all__ = ["CurriculumReplayBuffer"]


class CurriculumReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """The buffer of verl's synchronous trainer; a group in which an episode failed to run is replaced by a new one.

    Args:
        sampler_kwargs: ``pool``, the path of the pool that the agent loop plays.
        given: Arguments of verl.

    Raises:
        SettingError: There is no ``pool``, or verl's trainer is not synchronous.
        PoolError: The path is not that of a pool.
    """

    def __init__(self, *, sampler_kwargs: Mapping[str, Any], **given: Any) -> None:
        if "pool" not in sampler_kwargs:
            raise SettingError("CurriculumReplayBuffer: name the pool in trainer.v1.sampler.sampler_kwargs.pool")
        if (mode := given["trainer_mode"]) != "sync":
            raise SettingError(f"CurriculumReplayBuffer: trainer.v1.trainer_mode is {mode!r}: only 'sync' is supported")
        super().__init__(sampler_kwargs=sampler_kwargs, sync_refill_failed_groups=True, gen_batch_size=1, **given)
        self._curriculum = CurriculumSource(str(sampler_kwargs["pool"]))

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """A batch of groups, and numbers for the log: verl's, and `CurriculumSource.metrics` under ``curriculum/``."""
        batch, numbers = super().sample(global_steps, partition_id, batch_size)
        if partition_id != "val":
            numbers |= {f"curriculum/{name}": number for name, number in self._curriculum.metrics().items()}
        return batch, numbers
