"""Workers: tasks and judge queries go in, trajectories and answers come out, from this process or from workers on Ray.

- ``workers``: the interface, and shards of episodes; ``open``: opens the configured workers; ``local``: this process;
- ``ray``: workers on Ray, with ``process``, the part that runs in a worker's process.
"""

from rlanything_agents.rollout.workers.local import LocalWorkers
from rlanything_agents.rollout.workers.open import open_workers
from rlanything_agents.rollout.workers.workers import Play, Shard, Workers, shards_of

__all__ = ["LocalWorkers", "Play", "Shard", "Workers", "open_workers", "shards_of"]
