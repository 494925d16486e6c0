# expect: OK
# control: escapes
"""Calls to the kernel that no solution needs, with arguments that do no harm where they are allowed."""

import ctypes
import errno
import os
import platform

NUMBERS = {
    # name: (x86-64, aarch64, arguments)
    "ptrace": (101, 117, (16, 0, 0, 0)),
    "memfd_create": (319, 279, (b"x", 0)),
    "io_uring_setup": (425, 425, (8, 0)),
    "bpf": (321, 280, (0, 0, 0)),
    "unshare": (272, 97, (0x10000000,)),
    "setns": (308, 268, (0, 0)),
    "mount": (165, 40, (0, b"/nowhere", 0, 1 << 18, 0)),
    "umount2": (166, 39, (b"/nowhere", 2)),
    "chroot": (161, 51, (b"/nowhere",)),
    "pivot_root": (155, 41, (b"/nowhere", b"/nowhere")),
    "tgkill": (234, 131, (os.getpid(), os.getpid(), 0)),
    "tkill": (200, 130, (os.getpid(), 0)),
    "rt_sigqueueinfo": (129, 138, (os.getpid(), 99, 0)),
    "execve": (59, 221, (b"/nowhere", 0, 0)),
    "execveat": (322, 281, (-100, b"/nowhere", 0, 0, 0)),
    "userfaultfd": (323, 282, (1,)),
    "keyctl": (250, 219, (0, -3, 0)),
    "add_key": (248, 217, (b"nowhere", b"a", b"b", 1, -3)),
    "pidfd_open": (434, 434, (os.getpid(), 0)),
    "pidfd_send_signal": (424, 424, (0, 0, 0, 0)),
    "shmget": (29, 194, (0, 0, 0o1600)),
    "msgget": (68, 186, (7, 0)),
    "semget": (64, 190, (7, 0, 0)),
    "mq_open": (240, 180, (b"nowhere", 0, 0, 0)),
    "setsid": (112, 157, ()),
    "personality": (135, 92, (0,)),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0)),
    "inotify_init1": (294, 26, (0,)),
    "fanotify_init": (300, 262, (0, 0)),
    "timer_create": (222, 107, (0, 0, 0)),
    "timerfd_create": (283, 85, (0, 0)),
    "mlock": (149, 228, (0, 0)),
    "mlockall": (151, 230, (1,)),
    "setuid": (105, 146, (0,)),
    "setgroups": (116, 159, (0, 0)),
    "capset": (126, 91, (0, 0)),
    "sethostname": (170, 161, (b"x", -1)),
    "sched_setaffinity": (203, 122, (0, 8, b"\xff" * 8)),
    "seccomp": (317, 277, (2, 0, 0)),
    "landlock_create_ruleset": (444, 444, (0, 0, 1)),
    "open_by_handle_at": (304, 265, (-100, 0, 0)),
    "name_to_handle_at": (303, 264, (-100, b"/", 0, 0, 0)),
    "fallocate": (285, 47, (1, 0, 0, 1)),
    "splice": (275, 76, (0, 0, 1, 0, 1, 0)),
    "syslog": (103, 116, (-1, 0, 0)),
    "reboot": (169, 142, (0,)),
    "process_madvise": (440, 440, (0, 0, 0, 0, 0)),
    "set_mempolicy": (238, 237, (0, 0, 0)),
}
column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
for name, (*numbers, arguments) in NUMBERS.items():
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(numbers[column]), *words)
    if result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
        print("ESCAPED", name, result, ctypes.get_errno())
if libc.prlimit(os.getppid(), 7, (ctypes.c_uint64 * 2)(1, 1), None) != -1:
    print("ESCAPED prlimit of the worker")
libc.prctl(1, 0)  # PR_SET_PDEATHSIG
print("done")
