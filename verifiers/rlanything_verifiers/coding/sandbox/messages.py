"""Protocol between judge and worker: short messages, with large data as file descriptors.

The judge's `START` lists the files to show and the rights to drop. It sends a program as `SUBMIT`, then its inputs one
by one as `TEST`, then `END`. The worker answers `HELLO` or `FAILED` once, `READY` or `BROKEN` to a program and `DONE`
to an input; `DEAD` says that the program's server died. Before it ends a test for its wall time it sends `LATE`, and
the judge answers with `WAIT`. An executable comes as `EXECUTE` in place of `SUBMIT`. A compile worker gets each step of
the compiler as `COMPILE` and runs it like a test, from its input into its output.
"""

import array
import struct
from _socket import CMSG_SPACE, SCM_RIGHTS, SOL_SOCKET  # `socket` would bring `selectors` into every fork
from _socket import socket as Socket

__all__ = ["Socket", "receive", "send"]

START, SUBMIT, EXECUTE, TEST, END, WAIT, COMPILE = b"B", b"S", b"P", b"T", b"E", b"W", b"G"
HELLO, FAILED, READY, BROKEN, DONE, DEAD, LATE = b"H", b"F", b"R", b"C", b"D", b"X", b"L"

#: SUBMIT carries the source, EXECUTE the executable, and memory and output limits in bytes.
SUBMISSION = struct.Struct("=QQ")
#: TEST carries stdin, stdout and stderr, and the limits of processor time and clock in seconds.
LIMITS = struct.Struct("=dd")
#: DONE: which limit was passed, the wait status, processor time and time on the clock in seconds.
OUTCOME = struct.Struct("=Bidd")
WITHIN, CPU_LIMIT, WALL_LIMIT = 0, 1, 2
#: LATE carries a descriptor of the process, and its time on the clock; WAIT how much more it may take, in seconds.
SECONDS = struct.Struct("=d")
#: COMPILE carries the number of the step, a byte. Its exit code says when the compiler's program did not start.
NOT_STARTED = 127
#: DEAD carries the server's wait status.
STATUS = struct.Struct("=i")

#: Largest text in a message, in bytes.
MAX_TEXT = 4000
_MAX_FDS = 3


def send(sock: Socket, kind: bytes, body: bytes = b"", fds: tuple[int, ...] = ()) -> None:
    """Send one message with its file descriptors.

    Raises:
        OSError: The other side is gone.
    """
    rights = [(SOL_SOCKET, SCM_RIGHTS, array.array("i", fds))] if fds else []
    sock.sendmsg([kind, body], rights)


def receive(sock: Socket) -> tuple[bytes, bytes, list[int]]:
    """Receive one message: kind, body and file descriptors; an empty kind when the other side is gone.

    Raises:
        OSError: The connection is broken.
        TimeoutError: No message arrived in time.
    """
    message, rights, _, _ = sock.recvmsg(1 << 17, CMSG_SPACE(4 * _MAX_FDS))
    fds = array.array("i")
    for level, kind, data in rights:
        if (level, kind) == (SOL_SOCKET, SCM_RIGHTS):
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return message[:1], message[1:], fds.tolist()
