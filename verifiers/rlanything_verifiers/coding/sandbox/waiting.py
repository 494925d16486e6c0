"""Run delay of a process: time spent waiting for a core, which is not the program's own."""

# ruff: noqa: PTH123, PTH208

import os
from contextlib import suppress


def waited(process: int) -> tuple[float, bool] | None:
    """Run delay of a process, from the kernel.

    Args:
        process: A descriptor of it (pidfd), so that no other process is meant by it.

    Returns:
        Seconds that its threads have spent ready to run without a core, together, and whether one of them runs or is
        ready right now, of which the wait is counted only when it ends. ``None`` where the kernel does not say.
    """
    try:
        with open(f"/proc/self/fdinfo/{process}", "rb") as file:
            pid = next(int(line.split()[1]) for line in file if line.startswith(b"Pid:"))
        threads = os.listdir(f"/proc/{pid}/task")
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    delay, ready, known = 0, False, False
    for thread in threads:
        with suppress(OSError, ValueError, IndexError):  # it has ended
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                delay += int(file.read().split()[1])  # nanoseconds
            known = True
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                ready = ready or file.read().rpartition(b")")[2].split()[0] == b"R"
    return (delay / 1e9, ready) if known else None
