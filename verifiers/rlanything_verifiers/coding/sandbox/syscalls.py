"""Numbers of the system calls the sandbox speaks of, on the two machines it knows.

The numbers are those of Linux's ``asm/unistd_64.h`` (x86-64) and ``asm-generic/unistd.h`` (aarch64).
"""

import platform
from functools import cache

#: Calls a program under test may make without restriction: (x86-64, aarch64), ``None`` where there is none.
_ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # Its own files and descriptors. What can be opened is for Landlock and the mount namespace to say.
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "open": (2, None),
    "openat": (257, 56),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "fstatfs": (138, 44),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "umask": (95, 166),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "eventfd": (284, None),
    "eventfd2": (290, 19),
    "sendfile": (40, 71),
    # Its own memory.
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "membarrier": (324, 283),
    # Signals it receives; sending is not among them.
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132),
    "pause": (34, None),
    "alarm": (37, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "restart_syscall": (219, 128),
    # Threads and the end.
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "rseq": (334, 293),
    "set_tid_address": (218, 96),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "wait4": (61, 260),
    "waitid": (247, 95),
    # Clocks, and what it is.
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "arch_prctl": (158, None),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getpgrp": (111, None),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getpriority": (140, 141),
    "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "capget": (125, 90),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrandom": (318, 278),
}

#: Calls with their own rule in `seccomp`, and calls only the worker itself makes.
_NAMED: dict[str, tuple[int, int]] = {
    "statfs": (137, 43),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "clone": (56, 220),
    "clone3": (435, 435),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "prctl": (157, 167),
    "execveat": (322, 281),
    "tgkill": (234, 131),
    "setrlimit": (160, 164),
    "prlimit64": (302, 261),
    "seccomp": (317, 277),
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}

#: Calls a compiler makes besides: it is started, and writes into its scratch directory.
_COMPILER: dict[str, tuple[int | None, int | None]] = {
    "execve": (59, 221),
    "creat": (85, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "truncate": (76, 45),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fadvise64": (221, 223),
    "fallocate": (285, 47),
}

#: First number beyond the tables; glibc tries a newer call first and falls back when it hears ENOSYS.
NEWEST = 450


class Machine:
    """System calls of one processor family.

    Attributes:
        audit: ``AUDIT_ARCH_*`` of ``linux/audit.h``.
        allowed: Calls a program may make without restriction.
        compiler: Calls a compiler may make besides.
        number: Calls that are named in this package.
    """

    __slots__ = ("allowed", "audit", "compiler", "number")

    def __init__(self, audit: int, allowed: tuple[int, ...], compiler: tuple[int, ...], number: dict[str, int]) -> None:
        self.audit = audit
        self.allowed = allowed
        self.compiler = compiler
        self.number = number


def table(architecture: str) -> Machine | None:
    """The table of an architecture as `platform.machine` names it, or ``None`` if there is none."""
    columns = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
    if architecture not in columns:
        return None
    column, audit = columns[architecture]
    allowed, compiler = (
        tuple(sorted(n for row in rows.values() if (n := row[column]) is not None)) for rows in (_ALLOWED, _COMPILER)
    )
    return Machine(audit, allowed, compiler, {name: row[column] for name, row in _NAMED.items()})


@cache
def machine() -> Machine:
    """The table of this machine.

    Raises:
        OSError: There is none.
    """
    found = table(platform.machine())
    if found is None:
        raise OSError(f"no table of system calls for {platform.machine()!r}; known are x86_64 and aarch64")
    return found
