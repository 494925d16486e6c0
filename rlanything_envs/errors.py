"""What can go wrong, by name."""

import gymnasium as gym

from rlanything_task_pools import MissingExtra, UnknownTask

__all__ = ["CurriculumError", "EpisodeOver", "InfrastructureError", "InvalidAction", "MissingExtra", "UnknownTask"]


class InvalidAction(TypeError):
    """The action is not a text."""


class EpisodeOver(gym.error.ResetNeeded):
    """`step` was called before the first `reset` or after the end of an episode."""


class InfrastructureError(RuntimeError):
    """The machinery failed, not the agent: the episode has no outcome and must never count as a reward."""


class CurriculumError(ValueError):
    """A curriculum, or a part of one, was asked for with settings it cannot have."""
