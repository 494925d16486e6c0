"""Garbage collection that does not look at everything again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quick_collection"]

_FULL_EVERY = 32
_blocks = {"open": 0, "done": 0}


@contextmanager
def quick_collection() -> Iterator[None]:
    """Keep the objects that are there already out of garbage collection, for as long as the block takes.

    Torch, transformers and TRL bring half a million objects; a full collection reads them all (0.3 s), an iteration of
    small models causes several, and Trainer.train begins with one. Blocks may lie within each other: the outermost
    lets all objects in again, and after every 32nd everything is collected once, so that no garbage stays for good.
    """
    _blocks["open"] += 1
    gc.freeze()
    try:
        yield
    finally:
        _blocks["open"] -= 1
        if not _blocks["open"]:  # counted here: gc.get_freeze_count walks through all objects
            gc.unfreeze()
            _blocks["done"] += 1
            if _blocks["done"] % _FULL_EVERY == 0:
                gc.collect()
