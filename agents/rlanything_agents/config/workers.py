"""Keys of the rollout workers, which play episodes and answer judge queries."""

from __future__ import annotations

from typing import Literal

from rlanything_agents.config.section import Positive, Section

__all__ = ["WorkersConfig"]


class WorkersConfig(Section):
    """Rollout workers on Ray (extra ``ray``), each with its own environments and copies of the models.

    They play shards of ``rollout.environments`` episodes (an equal part of all episodes each, if that is None). With
    ``engine.kind: vllm_server`` they query the servers and have no copies. Workers do not define a run: it may continue
    with other workers, and they are not stored with it.
    """

    number: Positive = 2
    """Number of workers."""
    address: str | None = None
    """Address of a running Ray cluster (``auto``, ``ray://HOST:10001``); None starts one on this machine."""
    judge: Literal["after", "meanwhile", "workers"] = "workers"
    """Process that queries the reward model, and when. ``after``: the main process, when all rollouts are done.
    ``meanwhile``: the same process, for finished groups while others are still played. ``workers``: idle workers, each
    with a copy of the reward model too. The votes are the same. Servers that sleep in turn (``engine.sleep``) need
    ``after``."""
