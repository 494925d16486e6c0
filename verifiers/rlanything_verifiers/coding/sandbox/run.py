"""Result of one program on one input."""

from dataclasses import dataclass
from typing import Literal

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
    """

    status: Status
    stdout: bytes = b""
    stderr: bytes = b""
    cpu: float = 0.0
    wall: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    detail: str = ""
