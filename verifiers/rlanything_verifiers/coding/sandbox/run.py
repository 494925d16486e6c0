"""Result of one program on one input."""

import signal
from dataclasses import dataclass
from typing import Literal

from . import messages
from .limits import Limits

#: Last line of a program that got no memory, besides a ``MemoryError``: so `mmap` and system calls say it.
_OUT_OF_MEMORY = b"OSError: [Errno 12]"

#: OK: ended by itself with exit code 0. RE: exit code, exception or signal. TLE: processor time. TLE_WALL: time on the
#: clock without waiting for a core. MLE: memory. OLE: output. CE: does not compile. IE: the sandbox failed, which says
#: nothing of the program.
Status = Literal["OK", "RE", "TLE", "TLE_WALL", "MLE", "OLE", "CE", "IE"]


@dataclass(frozen=True, slots=True)
class Run:
    """Outcome of one test.

    Attributes:
        status: The status.
        stdout: Standard output, at most the limit's bytes.
        stderr: End of standard error, at most 8 KiB.
        cpu: Processor time used, in seconds.
        wall: Time on the clock, in seconds.
        exit_code: Exit code, or ``None`` if a signal ended it.
        signal: Number of the signal that ended it, or ``None``.
        detail: One line for a reader: the reason of a status other than OK; for CE the compiler's message.
        head: The first KiB of a standard error of which `stderr` has only the end.
    """

    status: Status
    stdout: bytes = b""
    stderr: bytes = b""
    cpu: float = 0.0
    wall: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    detail: str = ""
    head: str = ""


def status_of(
    exceeded: int, exit_code: int | None, number: int | None, stderr: bytes, overflow: bool, limits: Limits, cpu: float
) -> tuple[Status, str]:
    """Status of a program that has ended, and its reason.

    Args:
        exceeded: What the worker says of the limits: `messages.CPU_LIMIT`, `messages.WALL_LIMIT` or neither.
        exit_code: Exit code, or ``None`` if a signal ended the program.
        number: Number of that signal, or ``None``.
        stderr: End of standard error.
        overflow: Whether the program wrote more than the limit.
        limits: The limits in force.
        cpu: Processor time used, in seconds.
    """
    if exceeded == messages.CPU_LIMIT or number == signal.SIGXCPU:
        return "TLE", f"{cpu:.2f} s of processor time; the limit is {limits.cpu:g} s"
    if exceeded == messages.WALL_LIMIT:
        return "TLE_WALL", (
            f"no end after {limits.deadline:g} s on the clock, waiting for a core not counted, "
            f"with {cpu:.2f} s of processor time"
        )
    if overflow:
        return "OLE", f"more than {limits.output} bytes of output"
    if exit_code == 0:
        return "OK", ""
    last = stderr.rstrip(b"\n").rpartition(b"\n")[2]
    if (
        number == signal.SIGKILL
        or (exit_code == 1 and (last.startswith(_OUT_OF_MEMORY) or last.partition(b":")[0].endswith(b"MemoryError")))
        or (number == signal.SIGABRT and b"bad_alloc" in last)
    ):
        return "MLE", f"out of memory; the limit is {limits.memory >> 20} MiB"
    if number is not None:
        return "RE", f"ended by {signal_name(number)}"
    return "RE", last[:200].decode(errors="replace") if exit_code == 1 and last else f"exit code {exit_code}"


def signal_name(number: int) -> str:
    """Name of a signal for a reader."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
