"""Watch over the process of a vLLM engine, so that its death ends the calls that wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["noticing_death"]

_WATCH_S = 1.0
"""Seconds between two looks at the engine's process."""


@contextmanager
def noticing_death(engine: Any) -> Iterator[None]:
    """Fail the calls within the block if the engine's process is killed, as by the kernel for lack of memory.

    vLLM 0.32 notices the death, but leaves calls under way waiting for answers for ever.

    Args:
        engine: vLLM's ``LLM``; None before it has started.
    """
    core: Any = None if engine is None else engine.llm_engine.engine_core
    if getattr(core, "resources", None) is None:  # no engine yet, or one without its own process
        yield
        return
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_WATCH_S):
            if core.resources.engine_dead:
                dead = RuntimeError("the engine's process was killed")
                core.outputs_queue.put_nowait(dead)
                for pending in list(core.utility_results.values()):
                    if not pending.done():
                        pending.set_exception(dead)
                return

    threading.Thread(target=watch, name="vllm watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()
