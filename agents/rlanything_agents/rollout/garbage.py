"""Garbage collection that skips the objects of the libraries."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quick_collection"]

_FULL_EVERY = 32
_blocks = {"open": 0, "done": 0}


@contextmanager
def quick_collection() -> Iterator[None]:
    """Exclude all existing objects from garbage collection within a block.

    Torch, transformers and TRL create half a million objects. A full collection visits them all (0.3 s), an iteration
    of small models causes several, and Trainer.train begins with one. Blocks may be nested: the outermost one includes
    the objects again at its end, and every 32nd one runs a full collection, so that no garbage stays forever.
    """
    _blocks["open"] += 1
    gc.freeze()
    try:
        yield
    finally:
        _blocks["open"] -= 1
        if not _blocks["open"]:  # own counter, because gc.get_freeze_count visits all objects
            gc.unfreeze()
            _blocks["done"] += 1
            if _blocks["done"] % _FULL_EVERY == 0:
                gc.collect()
