"""The system calls a program under test may make, as a filter the kernel runs."""

import ctypes
import struct
from collections.abc import Mapping

from .syscalls import NEWEST, Machine

# linux/bpf_common.h, linux/seccomp.h
_LOAD, _JEQ, _JGE, _AND, _RET = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _KILL, _ERRNO, _NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
_NR, _ARCH = 0, 4  # offsets in struct seccomp_data; argument i is at 16 + 8 * i, low half first
_EPERM, _ENOSYS = 1, 38

# clone(2): a thread shares memory and thread group; every CLONE_NEW* flag asks for a namespace.
_CLONE_VM, _CLONE_THREAD = 0x100, 0x10000
_CLONE_NEW = 0x00000080 | 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
_IOCTLS = (0x5401, 0x5413, 0x5450, 0x5451, 0x541B, 0x5421)  # TCGETS, TIOCGWINSZ, FIONCLEX, FIOCLEX, FIONREAD, FIONBIO
_FCNTLS = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
_PR_SET_NAME, _PR_GET_NAME = 15, 16

#: Code, jump if true, jump if false, constant. A jump is a label of the ends below, or a number to skip.
Instruction = tuple[int, int | str, int | str, int]
#: Decision on a call: one of the ends, or instructions that decide.
Decision = str | list[Instruction]
_ENDS = {"allow": _ALLOW, "pretend": _ERRNO, "refuse": _ERRNO | _EPERM, "missing": _ERRNO | _ENOSYS, "ask": _NOTIFY}


def program(machine: Machine, more: Mapping[int, Decision] | None = None, *, own_root: bool = True) -> bytes:
    """Assemble the filter (an array of ``struct sock_filter``).

    Everything not named is refused with EPERM, calls newer than the tables with ENOSYS. A foreign architecture
    (32-bit calls on a 64-bit machine) kills the process.

    Args:
        machine: Numbers of the system calls.
        more: Decisions that count before those of every program: number to decision.
        own_root: The program has its own empty root; else it may not look around in that of the machine.
    """
    number = machine.number
    thread = _CLONE_VM | _CLONE_THREAD
    rules: dict[int, Decision] = {
        **dict.fromkeys((number[name] for name in ("chdir", "fchdir", "statfs")), "allow" if own_root else "refuse"),
        number["clone"]: [_argument(0), (_AND, 0, 0, _CLONE_NEW | thread), (_JEQ, "allow", "refuse", thread)],
        # Its flags are behind a pointer; where the call is missing, glibc uses clone.
        number["clone3"]: "missing",
        number["ioctl"]: _one_of(1, _IOCTLS),
        number["fcntl"]: _one_of(1, _FCNTLS),
        number["prctl"]: _one_of(0, (_PR_SET_NAME, _PR_GET_NAME)),
        # Limits may be read. Setting them seems to succeed: many programs ask for a larger stack and need not know.
        number["setrlimit"]: "pretend",
        number["prlimit64"]: [
            _argument(0),
            (_JEQ, 0, "refuse", 0),  # the own process only
            _argument(2),
            (_JEQ, 0, "pretend", 0),
            _argument(2, high=True),
            (_JEQ, "allow", "pretend", 0),
        ],
    }
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, machine.audit),
        (_RET, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
        (_JGE, "missing", 0, NEWEST),
    ]
    decisions = dict.fromkeys(machine.allowed, "allow") | rules | dict(more or {})
    search = _search(_segments(decisions))
    if isinstance(search, str):
        raise ValueError(f"a filter that knows one answer, {search!r}")
    return _assembled(code + search)


def compiler(machine: Machine) -> bytes:
    """Assemble the filter of a compiler: it is started and writes files, but has no children, network and signals."""
    return program(machine, dict.fromkeys(machine.compiler, "allow"))


def new_threads(machine: Machine) -> bytes:
    """Assemble a filter that asks a listener about each new thread and allows the rest: one to load before another."""
    return _assembled(
        [
            (_LOAD, 0, 0, _NR),
            (_JEQ, 0, "allow", machine.number["clone"]),
            _argument(0),
            (_AND, 0, 0, _CLONE_THREAD),
            (_JEQ, "allow", "ask", 0),
        ]
    )


class Started:
    """The filter of an executable: that of every program, its own start, and signals to itself (``abort`` is one).

    The start must be allowed after the filter is in force, and to the server alone. The kernel reads a
    descriptor and flags as 32-bit numbers while the filter sees the registers whole: their upper halves hold a secret.

    Args:
        machine: Numbers of the system calls.
        image: Descriptor that is started.
        flags: Of ``execveat``.
        secret: 64 random bits.
    """

    _OWN = 0x7A5A5A5A  # stands for the process id in the template

    def __init__(self, machine: Machine, image: int, flags: int, secret: int) -> None:
        checks = [(0, False, image), (0, True, secret & 0xFFFFFFFF), (4, False, flags), (4, True, secret >> 32)]
        *start, last = [
            step for index, high, value in checks for step in (_argument(index, high=high), (_JEQ, 0, "refuse", value))
        ]
        start.append((_JEQ, "allow", "refuse", last[3]))
        signals: list[Instruction] = [_argument(0), (_JEQ, "allow", "refuse", self._OWN)]
        template = program(machine, {machine.number["execveat"]: start, machine.number["tgkill"]: signals})
        self._before, own, self._after = template.partition(struct.pack("I", self._OWN))
        if not own or struct.pack("I", self._OWN) in self._after:
            raise ValueError("the secret is the stand-in of the process id")

    def of(self, process: int) -> bytes:
        """The filter for a process."""
        return self._before + struct.pack("I", process) + self._after


class _Prog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def prepared(filters: bytes) -> ctypes.Structure:
    """A filter in the shape ``prctl`` takes (``struct sock_fprog``)."""
    return _Prog(len(filters) // 8, filters)


def _argument(index: int, *, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + (4 if high else 0))


def _one_of(index: int, values: tuple[int, ...]) -> list[Instruction]:
    *checks, last = values
    return [_argument(index), *((_JEQ, "allow", 0, value) for value in checks), (_JEQ, "allow", "refuse", last)]


def _segments(decisions: Mapping[int, Decision]) -> list[tuple[int, Decision]]:
    """The number line as runs of equal decisions: (first number, decision), each up to the next."""
    segments: list[tuple[int, Decision]] = []
    for number in range(NEWEST):
        decision = decisions.get(number, "refuse")
        if not segments or segments[-1][1] != decision:
            segments.append((number, decision))
    return segments


def _search(segments: list[tuple[int, Decision]]) -> Decision:
    """Binary search: the kernel walks the filter once for each call number at every load, so its depth is time."""
    if len(segments) == 1:
        return segments[0][1]
    half = len(segments) // 2
    left, right = _search(segments[:half]), _search(segments[half:])
    below: list[Instruction] = [] if isinstance(left, str) else left
    above: list[Instruction] = [] if isinstance(right, str) else right
    if_true = right if isinstance(right, str) else len(below)
    return [(_JGE, if_true, left if isinstance(left, str) else 0, segments[half][0]), *below, *above]


def _assembled(code: list[Instruction]) -> bytes:
    """Put the ends behind the code and turn labels into distances."""
    place = {label: len(code) + i for i, label in enumerate(_ENDS)}
    packed = []
    for at, (operation, *jumps, constant) in enumerate(code):
        if_true, if_false = (place[jump] - at - 1 if isinstance(jump, str) else jump for jump in jumps)
        if not (0 <= if_true <= 255 and 0 <= if_false <= 255):
            raise ValueError(f"instruction {at} of {len(code)} jumps further than 255; make the tables smaller")
        packed.append(struct.pack("HBBI", operation, if_true, if_false, constant))
    packed += [struct.pack("HBBI", _RET, 0, 0, action) for action in _ENDS.values()]
    return b"".join(packed)
