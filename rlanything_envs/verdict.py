"""The verdict of an episode, and who speaks it.

An environment knows when its task is solved; the time limit is Gymnasium's `TimeLimit`, which sits outside
and cannot write into ``info``. So an environment of `gymnasium.make` leaves ``info["outcome"]`` at None on a
truncated step, and `truncated` says that the time is up. Whoever sits outside the limit (`SettleOutcome`,
`AdaptiveDifficulty`, the vector environments) settles it to -1.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Literal, SupportsFloat, get_args

import gymnasium as gym

Command = Literal["ok", "impossible", "unreadable"]
"""What became of an action, the value of ``info["command"]``: it was taken; it was read but can do nothing in this
state or task; or nothing could be read as an action. None before the first action of an episode."""


class Verdict(IntEnum):
    """The verifier's word on a finished episode: the value of ``info["outcome"]``.

    The members equal 1 and -1. They are no plain integers because Gymnasium's vector environments choose an
    array's type by the first value they meet: one finished episode beside a running one (None) would crash
    them.
    """

    SUCCESS = 1
    FAILURE = -1


def command_of(info: Mapping[str, Any]) -> str:
    """What became of the last action; empty where an environment does not say it."""
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
        """Pass through, then settle."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        settle(info, truncated=truncated)
        return observation, reward, terminated, truncated, info
