"""What the votes on an episode are worth to each of its steps: one function a rule, named in the configuration.

A rule takes the mean votes of the steps, shape (steps,), and the discount gamma, and gives the worth of each step,
shape (steps,). A further one is a function of this kind in any module, and a line in `config.feedback.CREDITS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeAlias, cast

import numpy as np

from rlanything_agents.config.feedback import CREDITS
from rlanything_agents.feedback.arrays import Floats

__all__ = ["CreditRule", "average", "credit_rule", "record", "record_return", "return_to_go", "vote"]

CreditRule: TypeAlias = Callable[[Floats, float], Floats]


@cache
def credit_rule(name: str) -> CreditRule:
    """The rule of a name in `config.feedback.CREDITS`."""
    module, _, function = CREDITS[name].partition(":")
    return cast(CreditRule, getattr(import_module(module), function))


def vote(worth: Floats, gamma: float) -> Floats:
    """A step's own mean vote."""
    return worth


def return_to_go(worth: Floats, gamma: float) -> Floats:
    """``sum_{k >= i} gamma^(k-i) v_k``."""
    total, returns = 0.0, np.zeros(len(worth))
    for i in range(len(worth) - 1, -1, -1):
        total = worth[i] + gamma * total
        returns[i] = total
    return returns


def average(worth: Floats, gamma: float) -> Floats:
    """The discounted mean of the votes from a step on."""
    return return_to_go(worth, gamma) / return_to_go(np.ones(len(worth)), gamma)


def record(worth: Floats, gamma: float) -> Floats:
    """``max(0, C_i - max(0, max_{k<i} C_k))``, ``C`` being the running sum: what goes beyond the best so far."""
    best = np.maximum.accumulate(np.maximum(np.cumsum(worth), 0.0))
    return np.diff(best, prepend=0.0)


def record_return(worth: Floats, gamma: float) -> Floats:
    """The discounted sum of the records from a step on."""
    return return_to_go(record(worth, gamma), gamma)
