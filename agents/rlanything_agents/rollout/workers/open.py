"""Opening of the workers that a configuration names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.workers.workers import Models, Workers

__all__ = ["open_workers"]


@contextmanager
def open_workers(config: RunConfig, models: Models) -> Iterator[Workers | None]:
    """Open the configured workers for the time of a run; None where this process plays itself.

    Args:
        config: Settings of the run; uses ``workers`` and ``rollout``.
        models: Policy and reward model.

    Raises:
        MissingExtra: Ray is not installed.
        InfrastructureError: The workers are not ready in time.
    """
    if config.workers is None:
        yield None
        return
    from rlanything_agents.rollout.workers.ray import RayWorkers  # Ray is an extra

    with RayWorkers.open(config, config.workers, models) as workers:
        yield workers
