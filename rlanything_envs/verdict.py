"""The verdict of an episode, and the code that writes it into ``info``.

An environment knows when its task is solved; that the time is up is known to Gymnasium's `TimeLimit`, which wraps the
environment and writes nothing into ``info``. So an environment looks at its reset for the limits that the call came
through, and writes -1 into ``info["outcome"]`` of the step after which one of them ends the episode.
"""

import sys
from collections.abc import Mapping
from enum import IntEnum
from types import FrameType
from typing import Any, Literal, get_args

import gymnasium as gym
from gymnasium.wrappers import TimeLimit

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


Limits = tuple[TimeLimit[Any, Any], ...]


def limits_of_reset(env: gym.Env[Any, Any]) -> Limits:
    """The time limits around an environment through which its running `reset` was called.

    `gymnasium.make` tells an environment neither its limit nor its wrappers (``env.spec.max_episode_steps`` is None),
    and an id with `additional_wrappers` can have no vector environment; so the calls themselves are looked through.
    """
    found: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _RESET and frame.f_locals["self"].unwrapped is env:
            found.append(frame.f_locals["self"])
        frame = frame.f_back
    return tuple(found)


_RESET = TimeLimit.reset.__code__


def is_last_step(limits: Limits) -> bool:
    """Whether one of the limits ends the episode after the running `step`."""
    return any(limit._elapsed_steps + 1 >= limit._max_episode_steps for limit in limits)  # type: ignore[operator]
