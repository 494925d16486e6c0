"""Cache of executables for all workers of this process, in bounded memory."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable

MAX_BYTES = 64 << 20
"""Approximate size of all executables together, in bytes; a small one takes 2 MiB."""
_MAX = 64  # entries: each holds a descriptor


class Executable:
    """An immutable file in memory, closed with its last reference."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = os.fstat(fd).st_size

    def __del__(self) -> None:
        os.close(self.fd)


#: Result of a compilation: an executable, or the compiler's message.
Built = Executable | str


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.built: Built | None = None


class Executables:
    """The latest executables by key. Concurrent requests for one executable wait for a single build."""

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[str, bytes], _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, bytes], build: Callable[[], Built]) -> Built:
        """The cached result of a build, or a new one; an error of ``build`` is raised and not cached."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
        with entry.lock:
            if entry.built is None:
                entry.built = build()
            built = entry.built
        with self._lock:
            while len(self._entries) > _MAX or self._bytes() > MAX_BYTES:
                self._entries.popitem(last=False)
        return built

    def _bytes(self) -> int:
        return sum(e.built.size for e in self._entries.values() if isinstance(e.built, Executable))

    def forget(self) -> None:
        """Reset after a fork: another thread of the parent may have held a lock."""
        self.__init__()  # type: ignore[misc]


EXECUTABLES = Executables()
"""The cache of this process."""

os.register_at_fork(after_in_child=EXECUTABLES.forget)
