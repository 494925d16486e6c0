"""Workers: tasks and judge queries go in, trajectories and answers come out, from this process or from workers on Ray.

- ``workers``: the interface, shards of episodes, and opening of the configured workers; ``local``: this process;
- ``ray``: workers on Ray, with ``process``, the part that runs in a worker's process.
"""

from rlanything_agents.rollout.workers.local import LocalWorkers
from rlanything_agents.rollout.workers.workers import Play, Shard, Workers, open_workers, shards_of

__all__ = ["LocalWorkers", "Play", "Shard", "Workers", "open_workers", "shards_of"]
