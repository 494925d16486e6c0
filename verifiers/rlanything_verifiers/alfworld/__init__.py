"""ALFWorld, text households: game files, an exact and fast engine, and plans that prove a game solvable.

Tasks are generated in `rlanything_task_pools.alfworld`; the environment is in `rlanything_envs.alfworld`.
"""

from .errors import GameFormatError
from .game import Game
from .gamefile import dump_game, load_game, write_game
from .goal import GOAL_KINDS, TASK_TYPES, Goal, GoalKind
from .planner import plan, prove
from .scene import Receptacle, Scene, Thing
from .text import NOTHING_HAPPENS
from .world import World

__all__ = [
    "GOAL_KINDS",
    "NOTHING_HAPPENS",
    "TASK_TYPES",
    "Game",
    "GameFormatError",
    "Goal",
    "GoalKind",
    "Receptacle",
    "Scene",
    "Thing",
    "World",
    "dump_game",
    "load_game",
    "plan",
    "prove",
    "write_game",
]
