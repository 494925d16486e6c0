"""Who plays the episodes of a run: this process, or workers on Ray."""

from rlanything_agents.rollout.workers.local import LocalWorkers
from rlanything_agents.rollout.workers.workers import Play, Shard, Workers, open_workers, shards_of

__all__ = ["LocalWorkers", "Play", "Shard", "Workers", "open_workers", "shards_of"]
