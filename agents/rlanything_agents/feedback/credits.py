"""Credit rules: functions that turn the votes on an episode into the credit of each step, named in the configuration.

A rule takes the mean votes of the steps, shape (steps,), and the discount gamma, and returns the credit of each step,
shape (steps,). To add a rule, write such a function in any module and add a line to `config.feedback.CREDITS`. The
rules in `config.feedback.WITHOUT_VOTES` take the environment's rewards in place of votes (`environment_rewards`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from rlanything_agents.config.feedback import CREDITS
from rlanything_agents.feedback.arrays import Floats

__all__ = ["CreditRule", "credit_rule", "environment_rewards", "potential_votes", "return_to_go", "vote"]

CreditRule: TypeAlias = Callable[[Floats, float], Floats]


@cache
def credit_rule(name: str) -> CreditRule:
    """Rule with this name in `config.feedback.CREDITS`."""
    module, _, function = CREDITS[name].partition(":")
    return cast(CreditRule, getattr(import_module(module), function))


def environment_rewards(outcome: float, steps: int) -> Floats:
    """Rewards of an episode's steps, shape (steps,): 1 at the last step of a solved episode, else 0."""
    rewards = np.zeros(steps)
    rewards[-1:] = outcome > 0
    return rewards


def vote(worth: Floats, gamma: float) -> Floats:
    """Mean vote of the step itself."""
    return worth


def return_to_go(worth: Floats, gamma: float) -> Floats:
    """``sum_{k >= i} gamma^(k-i) v_k``."""
    total, returns = 0.0, np.zeros(len(worth))
    for i in range(len(worth) - 1, -1, -1):
        total = worth[i] + gamma * total
        returns[i] = total
    return returns


def potential_votes(potentials: ArrayLike, gamma: float) -> Floats:
    """Votes ``gamma * phi(s_{i+1}) - phi(s_i)``, shape (steps, 1), from potentials of the states, shape (steps + 1,).

    With ``credit: return`` and the same ``gamma`` they are potential-based shaping (Ng, Harada and Russell 1999,
    theorem 1): the sum from a step on telescopes to ``gamma^(n-i) phi(s_n) - phi(s_i)``. With a potential of 0 at the
    end of every episode that depends on the state alone and not on what follows, so it prefers no action to another.
    The theorem is about these returns; the mean over a step index that an advantage subtracts is one over different
    states.

    Args:
        potentials: Potential of the state before each step, and of the last state (0, for the theorem to hold).
        gamma: Discount, in [0, 1].
    """
    phi = np.asarray(potentials, dtype=np.float64)
    return (gamma * phi[1:] - phi[:-1])[:, None]
