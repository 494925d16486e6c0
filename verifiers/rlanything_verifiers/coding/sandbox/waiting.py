"""Waiting for a core, which is not a program's own time: what the kernel says of a program, and what a witness gets."""

# ruff: noqa: PTH123, PTH208

import hashlib
import os
import threading
import time
from contextlib import suppress
from typing import NamedTuple

_NANO = 1e9
#: Work of the witness: some 10 ms of processor time, without the interpreter's lock, and the pause after it.
_ROUNDS, _PAUSE = 50_000, 0.1


class RunDelay(NamedTuple):
    """How long a program has waited for a core.

    Attributes:
        seconds: Time that it was ready to run without a core.
        ready: Whether one of its threads runs or is ready right now; this wait is counted only when it ends.
    """

    seconds: float
    ready: bool


def run_delay(process: int, elapsed: float) -> RunDelay | None:
    """How long a program has waited for a core, from the kernel.

    A thread's wait counts only as far as the program's other threads cannot have caused it: less all processor time
    that they have used. All waits together are no longer than the time in which no thread of the program ran.

    Args:
        process: A descriptor of its process (pidfd), so that no other process is meant by it.
        elapsed: Its time on the clock in seconds.

    Returns:
        The delay; None where the kernel does not say.
    """
    try:
        with open(f"/proc/self/fdinfo/{process}", "rb") as file:
            pid = next(int(line.split()[1]) for line in file if line.startswith(b"Pid:"))
        threads = os.listdir(f"/proc/{pid}/task")
        found, ready = [], False
        for thread in threads:
            with suppress(OSError, ValueError, IndexError):  # it has ended
                found.append(_schedule(f"/proc/{pid}/task/{thread}"))
                with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                    ready = ready or file.read().rpartition(b")")[2].split()[0] == b"R"
        used = time.clock_gettime((~pid << 3) | 2)  # of all threads, those that have ended included
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    if not found:
        return None
    delay = sum(max(0.0, delay - (used - ran)) for ran, delay in found)
    return RunDelay(min(delay, max(0.0, elapsed - used)), ready)


def _schedule(task: str) -> tuple[float, float]:
    """Seconds that a thread has run, and that it was ready to run without a core."""
    with open(f"{task}/schedstat", "rb") as file:
        ran, delay, _ = file.read().split()
    return int(ran) / _NANO, int(delay) / _NANO


class Witness:
    """A thread of this process that asks for a core like a program, while programs wait for one.

    No program reaches it: what it gets of a core says whether the machine is overloaded.
    """

    def __init__(self) -> None:
        self._wanted = threading.Condition(threading.Lock())
        self._until = 0.0
        self._thread: threading.Thread | None = None

    def look(self, seconds: float) -> tuple[float, float]:
        """Seconds that it has run and waited for a core so far, zeros where the kernel does not say.

        Args:
            seconds: How long it goes on.
        """
        try:
            with self._wanted:
                self._until = max(self._until, time.monotonic() + seconds)
                if self._thread is None:
                    thread = threading.Thread(target=self._work, name="witness", daemon=True)
                    thread.start()
                    self._thread = thread
                self._wanted.notify()
                return _schedule(f"/proc/self/task/{self._thread.native_id}")
        except (OSError, RuntimeError, ValueError):  # of the kernel, or this process may start no thread
            return 0.0, 0.0

    def _work(self) -> None:
        while True:
            with self._wanted:
                while time.monotonic() >= self._until:
                    self._wanted.wait()
            hashlib.pbkdf2_hmac("sha256", b"a core", b"please", _ROUNDS)
            time.sleep(_PAUSE)

    def forget(self) -> None:
        """Reset after a fork: the thread has stayed in the parent."""
        self.__init__()  # type: ignore[misc]


WITNESS = Witness()
"""The witness of this process."""

os.register_at_fork(after_in_child=WITNESS.forget)
