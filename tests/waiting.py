"""Waiting for what other programs do, and not for ever."""

import time
from collections.abc import Callable
from typing import Any


def until(
    ready: Callable[[], Any],
    seconds: float = 60.0,
    instead: Callable[[], Any] = lambda: "it never happened",
    every_s: float = 0.2,
) -> Any:
    """The first true value of `ready`; `instead` tells what there is if none comes in time."""
    end = time.monotonic() + seconds
    while not (value := ready()):
        assert time.monotonic() < end, instead()
        time.sleep(every_s)
    return value
