"""The verdict of an episode, and the code that writes it into ``info``.

An environment knows when its task is solved; the time limit is Gymnasium's `TimeLimit`, which sits outside
and cannot write into ``info``. So an environment of `gymnasium.make` leaves ``info["outcome"]`` at None on a
truncated step, and `truncated` is True. A wrapper outside the limit (`SettleOutcome`, `AdaptiveDifficulty`, the vector
environments) sets it to -1.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Literal, SupportsFloat, get_args

import gymnasium as gym

Command = Literal["ok", "impossible", "unreadable"]
"""Result of reading and taking an action, the value of ``info["command"]``: taken ("ok"); read, but without effect in
this state or task ("impossible"); or not an action ("unreadable"). None before the first action of an episode."""


class Verdict(IntEnum):
    """The verifier's verdict on a finished episode: the value of ``info["outcome"]``.

    The members equal 1 and -1. They are not plain integers because Gymnasium's vector environments choose the type of
    an array by its first value: a finished episode followed by a running one (None) would crash them.
    """

    SUCCESS = 1
    FAILURE = -1


def command_of(info: Mapping[str, Any]) -> str:
    """``info["command"]`` as a string; empty where the environment does not report it."""
    command = info.get("command")
    return command if isinstance(command, str) and command in get_args(Command) else ""


def settle(info: dict[str, Any], *, truncated: bool) -> None:
    """Write -1 into ``info["outcome"]`` if the time ran out on an undecided episode."""
    if truncated and info.get("outcome") is None:
        info["outcome"] = Verdict.FAILURE


class SettleOutcome(
    gym.Wrapper[str, str, str, str],
    gym.utils.RecordConstructorArgs,
):
    """Makes ``info["outcome"]`` -1 on the step on which the time limit cuts an episode off.

    Args:
        env: an environment of this package, with its time limit (as `gymnasium.make` gives it).
    """

    def __init__(self, env: gym.Env[str, str]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Step the environment, then settle the outcome."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        settle(info, truncated=truncated)
        return observation, reward, terminated, truncated, info
