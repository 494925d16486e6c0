"""Objects that are there already are kept out of garbage collection, and none for good."""

import gc
import weakref

from rlanything_agents.rollout.garbage import quick_collection


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_older_objects_are_kept_out_and_let_in_again() -> None:
    before = gc.get_freeze_count()
    with quick_collection():
        assert gc.get_freeze_count() > 0
        with quick_collection():
            pass
        assert gc.get_freeze_count() > 1000  # only the outermost lets them in again
    assert gc.get_freeze_count() == before == 0


def test_what_a_block_leaves_is_collected_in_it() -> None:
    with quick_collection():
        left = weakref.ref(Cycle())
        gc.collect()
        assert left() is None


def test_garbage_from_before_a_block_does_not_stay_for_good() -> None:
    gc.collect()
    gc.disable()
    try:
        left = weakref.ref(Cycle())
        for _ in range(32):
            with quick_collection():
                pass
        assert left() is None
    finally:
        gc.enable()
