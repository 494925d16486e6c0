"""Cache of runs."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b

from .sandbox import Limits, Run

MAX_BYTES = 64 * 1024 * 1024
_OVERHEAD = 1024  # bytes an entry takes besides its outputs, roughly

_REPEATABLE = ("OK", "RE", "CE", "TLE", "MLE", "OLE")
"""Statuses that repeat: not those that depend on the machine's load or on a failure of the sandbox."""

Key = tuple[bytes, bytes, Limits, str, str]


def digest(data: bytes) -> bytes:
    """A short fingerprint of a program or an input."""
    return blake2b(data, digest_size=16).digest()


class RunCache:
    """The latest runs by program, input, limits, tier and language, in bounded memory; threads may share it.

    Args:
        max_bytes: approximate memory of all runs together.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._runs: OrderedDict[Key, Run] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Run | None:
        """The run of a key; None where it is not in the cache."""
        with self._lock:
            run = self._runs.get(key)
            if run is not None:
                self._runs.move_to_end(key)
            return run

    def put(self, entries: Iterable[tuple[Key, Run]]) -> None:
        """Store runs that would repeat; the least recently used ones are dropped."""
        with self._lock:
            for key, run in entries:
                if run.status not in _REPEATABLE or key in self._runs or _size(run) > self.max_bytes:
                    continue
                self._runs[key] = run
                self._bytes += _size(run)
                while self._bytes > self.max_bytes:
                    self._bytes -= _size(self._runs.popitem(last=False)[1])

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._runs.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def renew_lock(self) -> None:
        """Replace the lock after a fork: another thread of the parent may have held it."""
        self._lock = threading.Lock()


def _size(run: Run) -> int:
    return len(run.stdout) + len(run.stderr) + _OVERHEAD


RUNS = RunCache()
"""The cache of this process."""

os.register_at_fork(after_in_child=RUNS.renew_lock)
