"""An event loop in its own thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["BackgroundLoop"]

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for any number of threads; a daemon, so that a hanging service never keeps a program alive.

    It ends with `close`, with its last reference, or with the process, and does not survive a fork: see `alive`.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._thread = threading.Thread(target=_run, args=(self._loop,), name=name, daemon=True)
        self._thread.start()
        self._finalizer = weakref.finalize(self, _stop, self._loop, self._thread, self._pid)

    @property
    def alive(self) -> bool:
        """Whether the loop runs in this process: a forked child inherits the object but not the thread."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Cancel running coroutines and end the thread."""
        self._finalizer()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, pid: int) -> None:
    if pid == os.getpid() and thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout=5)
