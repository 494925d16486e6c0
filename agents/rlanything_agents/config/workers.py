"""The keys of the processes that play episodes, and judge them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rlanything_agents.config.section import Positive, Section

__all__ = ["WorkersConfig"]

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class WorkersConfig(Section):
    """Rollout workers on Ray (extra ``ray``): each has environments and copies of the models of its own.

    They play shards of ``rollout.environments`` episodes (an equal part of all episodes each, if that is None). With
    ``engine.kind: vllm_server`` they ask the servers and have no copies. Who plays and who judges is no part of what a
    run is: a run may be continued with other workers, and they are not stored with it.
    """

    number: Positive = 2
    """How many."""
    address: str | None = None
    """Of a running Ray cluster (``auto``, ``ray://HOST:10001``); None starts one on this machine."""
    cpus: Amount = 1.0
    """Processor cores of a worker, as Ray counts them."""
    gpus: Amount = 0.0
    """GPUs of a worker; its copies of the models are there if there are any."""
    resources: dict[str, Amount] = Field(default_factory=dict)
    """Labels of the nodes a worker may be on, such as ``{desktop: 8}``: nodes are started with
    ``ray start --resources '{"desktop": 16}'``."""
    threads: Positive = 1
    """Of torch, in a worker."""
    retries: Annotated[int, Field(ge=0)] = 3
    """How often a shard is played again, or questions are asked again, after their worker was lost."""
    judge: Literal["after", "meanwhile", "workers"] = "workers"
    """Who asks the reward model. ``after``: the process of the loop, when all have played. ``meanwhile``: the same,
    about finished groups while others are still played. ``workers``: those that have nothing to play any more; each has
    a copy of the reward model, too. The votes are the same. Servers that sleep in turn (``engine.sleep``) need
    ``after``."""
    start_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 300.0
    """Most time until all workers are there."""
