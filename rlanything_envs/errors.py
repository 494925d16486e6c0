"""Exceptions of the environments."""

import gymnasium as gym

from rlanything_task_pools import MissingExtra, UnknownTask

__all__ = [
    "CurriculumError",
    "EpisodeOver",
    "InfrastructureError",
    "InvalidAction",
    "MissingExtra",
    "SettingError",
    "UnknownOption",
    "UnknownTask",
    "Unreadable",
]


class InvalidAction(TypeError):
    """The action is not of the type that the environment takes: a string, in text environments."""


class EpisodeOver(gym.error.ResetNeeded):
    """`step` was called before the first `reset` or after the end of an episode."""


class InfrastructureError(RuntimeError):
    """The machinery failed, not the agent: the episode has no outcome and must never count as a reward."""


class UnknownOption(ValueError):
    """A key of the ``options`` of `reset` that an environment does not know."""


class SettingError(ValueError):
    """An argument of an environment, a desktop or a server is unknown or out of range."""


class Unreadable(ValueError):
    """An answer is not an action; the message says what is wrong with it."""


class CurriculumError(ValueError):
    """A setting of a curriculum, or of one of its parts, is out of range or contradicts another."""
