"""A pool of daemon threads that rewrite tasks in the background of the rollouts."""

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

THREADS = 8
"""Concurrent calls in one process. They mostly wait for a text generator, which limits its own concurrency."""


class Background:
    """Runs calls on daemon threads, so that a hanging call cannot keep the process alive.

    (The interpreter waits for threads of `concurrent.futures` at exit.) All curricula of a process share these threads;
    a forked child starts without any.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._number = threads
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._started = False

    def start(self) -> None:
        """Start the threads unless they run; called ahead of time, since starting one can take milliseconds."""
        with self._lock:
            for number in range(0 if self._started else self._number):
                name = f"rlanything-background-{number}"
                threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()
            self._started = True

    def submit(self, call: Callable[[], T]) -> "Future[T]":
        """Queue a call; its future can be cancelled until the call starts."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = call()
                except BaseException as error:  # raised by `Future.result`
                    future.set_exception(error)
                else:
                    future.set_result(result)

        self.start()
        self._calls.put(run)
        return future


def _work(calls: "queue.SimpleQueue[Callable[[], None]]") -> None:
    while True:
        calls.get()()


BACKGROUND = Background()
"""The threads of this process."""
