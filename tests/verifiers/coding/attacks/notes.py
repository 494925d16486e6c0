# expect: OK
"""Marks for later tests and other programs: in files in memory, sockets, queues, locks and times."""

import ctypes
import os
import socket

libc = ctypes.CDLL(None, use_errno=True)
for process in {*range(os.getppid() - 3, os.getppid() + 3)} - {os.getpid()}:
    for number in range(40):
        for mode in (os.O_RDONLY, os.O_RDWR):
            try:
                os.open(f"/proc/{process}/fd/{number}", mode)
                print("ESCAPED descriptor", number, "of", process)
            except OSError:
                pass
tries = {
    "a file in memory": lambda: os.memfd_create("note"),
    "a time": lambda: os.utime(os.__file__, (1, 1)),
    "an attribute": lambda: os.setxattr(os.__file__, "user.note", b"1"),
    "a lock": lambda: __import__("fcntl").flock(os.open(os.__file__, os.O_RDONLY), 2),
    "a lock of a part": lambda: __import__("fcntl").lockf(os.open(os.__file__, os.O_RDONLY), 1),
    "a lease": lambda: __import__("fcntl").fcntl(os.open(os.__file__, os.O_RDONLY), 1024, 0),
    "a socket": lambda: socket.socket(socket.AF_UNIX).bind("\0note"),
    "a pair of sockets": socket.socketpair,
    "a pipe with a name": lambda: os.mkfifo("/tmp/note"),
    "shared memory": lambda: os.open("/dev/shm/note", os.O_RDWR | os.O_CREAT),
    "the null device": lambda: os.fchmod(os.open("/dev/null", os.O_RDWR), 0o600),
}
for name, attempt in tries.items():
    try:
        attempt()
        print("ESCAPED", name)
    except OSError:
        pass
for name, arguments in {
    "shmget": (1, 4096, 0o1666),
    "semget": (1, 1, 0o1666),
    "msgget": (1, 0o1666),
    "mq_open": (b"/note", os.O_CREAT | os.O_RDWR, 0o666, None),
    "inotify_init": (),
    "timerfd_create": (1, 0),
    "signalfd": (-1, ctypes.byref(ctypes.c_uint64(1)), 0),
    "userfaultfd": (),
}.items():
    if hasattr(libc, name) and getattr(libc, name)(*arguments) >= 0:
        print("ESCAPED", name)
print("done")
