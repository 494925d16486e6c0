"""Garbage collection that skips the objects of the libraries."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quick_collection"]

_FULL_EVERY = 32
_blocks = {"open": 0, "done": 0}
_lock = threading.Lock()


@contextmanager
def quick_collection() -> Iterator[None]:
    """Exclude all existing objects from garbage collection within a block.

    Torch, transformers and TRL create half a million objects. A full collection visits them all (0.3 s), an iteration
    of small models causes several, and Trainer.train begins with one. Blocks may be nested: the outermost one includes
    the objects again at its end, and every 32nd one runs a full collection, so that no garbage stays forever.
    """
    with _lock:  # rollouts may run in a thread
        _blocks["open"] += 1
    gc.freeze()
    try:
        yield
    finally:
        with _lock:
            _blocks["open"] -= 1
            outermost = not _blocks["open"]  # own counter, because gc.get_freeze_count visits all objects
            _blocks["done"] += outermost
        if outermost:
            gc.unfreeze()
            if _blocks["done"] % _FULL_EVERY == 0:
                gc.collect()
