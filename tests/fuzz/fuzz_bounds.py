"""Bounds on what one reading may take: processor time and memory of this process."""

from __future__ import annotations

import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

__all__ = ["TooLong", "bounded", "seconds"]

BASE, PER_BYTE = 2.0, 1e-4
"""Seconds of processor time for any reading, and for each byte of it; the slowest, YAML, takes 2e-5 to 5e-5 a byte."""
MEMORY = 2 << 30
"""Bytes that one reading may add to what the process holds."""


class TooLong(BaseException):
    """A reading went on for too long; no reader has a clause for this one."""


def seconds(size: int) -> float:
    """Processor time that a reading of so many bytes may take: it grows no faster than the content."""
    return BASE + size * PER_BYTE


@contextmanager
def bounded(size: int = 0, memory: int = MEMORY) -> Iterator[None]:
    """Inside, more processor time than for a content of a size raises `TooLong`, and more memory `MemoryError`, which
    no reader may let out.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("time is bounded by a signal, which only the main thread gets")

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds(size):g} s of processor time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _held() + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds(size))
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_PROF, 0)
        finally:  # a late signal raises above: the limits of this process end all the same
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            signal.signal(signal.SIGPROF, before)


def _held() -> int:
    """Bytes of address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
