"""ALFWorld tasks: generated, loaded from official games, rewritten harder or easier, and proved solvable.

The engine that plays them is in `rlanything_verifiers.alfworld`, the environment in `rlanything_envs.alfworld`.
"""

from rlanything_task_pools.alfworld.domain import DOMAIN, AlfWorldDomain
from rlanything_task_pools.alfworld.generate import Knobs, generate
from rlanything_task_pools.alfworld.official import find_games, load
from rlanything_task_pools.knobs import SPLITS, KnobError

__all__ = ["DOMAIN", "SPLITS", "AlfWorldDomain", "KnobError", "Knobs", "find_games", "generate", "load"]
