"""Exceptions of the environments."""

import gymnasium as gym

from rlanything_task_pools import MissingExtra, UnknownTask

__all__ = [
    "EpisodeOver",
    "InfrastructureError",
    "InvalidAction",
    "MissingExtra",
    "SettingError",
    "UnknownTask",
    "Unreadable",
]


class InvalidAction(TypeError):
    """The action is not of the type that the environment takes: a string, in text environments."""


class EpisodeOver(gym.error.ResetNeeded):
    """`step` was called before the first `reset` or after the end of an episode."""


class InfrastructureError(RuntimeError):
    """The machinery failed, not the agent: the episode has no outcome and must never count as a reward.

    Attributes:
        exit_code: Exit code of a command that ends with it (``EX_TEMPFAIL`` of sysexits.h): the same command may work.
    """

    exit_code = 75


class SettingError(ValueError):
    """A setting of an environment, a curriculum, a desktop or a server, or an option of `reset`, is unknown, out of
    range, or contradicts another."""


class Unreadable(ValueError):
    """An answer is not an action; the message says what is wrong with it."""
