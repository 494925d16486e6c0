"""The system call filter, run instruction by instruction for both machines, whatever machine this is."""

import re
import struct
from pathlib import Path

import pytest

from rlanything_verifiers.coding.sandbox import seccomp, syscalls

ALLOW, KILL, REFUSE, MISSING, PRETEND = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026, 0x00050000
ASK = 0x7FC00000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = {name: syscalls.table(name) for name in AUDIT}


def decide(code: bytes, audit: int, number: int, *arguments: int) -> int:
    """What the kernel would do: an interpreter of the five BPF instructions in use."""
    words = [a & 0xFFFFFFFFFFFFFFFF for a in (*arguments, *[0] * 6)][:6]
    data = struct.pack("<IIQ6Q", number, audit, 0, *words)
    instructions = list(struct.iter_unpack("<HBBI", code))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, constant = instructions[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif operation == 0x54:
            accumulator &= constant
        elif operation == 0x15:
            at += if_true if accumulator == constant else if_false
        elif operation == 0x35:
            at += if_true if accumulator >= constant else if_false
        elif operation == 0x06:
            return constant
        else:
            raise AssertionError(f"unknown instruction {operation:#x}")


@pytest.mark.parametrize("name", MACHINES)
def test_every_call_number_gets_the_answer_of_the_table(name: str) -> None:
    machine = MACHINES[name]
    assert machine is not None
    code = seccomp.program(machine)
    ruled = {"chdir", "fchdir", "statfs", "clone", "clone3", "ioctl", "fcntl", "prctl", "setrlimit", "prlimit64"}
    for number in range(600):
        answer = decide(code, AUDIT[name], number)
        if number >= syscalls.NEWEST:
            assert answer == MISSING, number
        elif number in machine.allowed:
            assert answer == ALLOW, number
        elif number not in {machine.number[rule] for rule in ruled}:
            assert answer == REFUSE, number
    for number in (0x40000000, 0x40000001, 0xFFFFFFFF):  # the x32 numbers, and -1
        assert decide(code, AUDIT[name], number) == MISSING
    assert decide(code, 0x40000003, 1) == KILL  # AUDIT_ARCH_I386


@pytest.mark.parametrize("name", MACHINES)
def test_calls_with_rules_of_their_own(name: str) -> None:
    machine = MACHINES[name]
    assert machine is not None
    code, audit, number = seccomp.program(machine), AUDIT[name], machine.number
    pthread = 0x3D0F00  # the flags of glibc's pthread_create
    cases = [
        ("clone", (pthread,), ALLOW),
        ("clone", (17,), REFUSE),  # fork: SIGCHLD alone
        ("clone", (0x4111,), REFUSE),  # vfork: CLONE_VM | CLONE_VFORK
        ("clone", (pthread | 0x10000000,), REFUSE),  # a thread in a new user namespace
        ("clone", (pthread | 0x80,), REFUSE),  # CLONE_NEWTIME
        ("clone3", (), MISSING),
        ("ioctl", (0, 0x5401), ALLOW),  # TCGETS, as isatty does
        ("ioctl", (0, 0x5412), REFUSE),  # TIOCSTI: typing into the terminal
        ("fcntl", (0, 3), ALLOW),  # F_GETFL
        ("fcntl", (0, 1031), REFUSE),  # F_SETPIPE_SZ
        ("fcntl", (0, 8), REFUSE),  # F_SETOWN: signals to others
        ("prctl", (15,), ALLOW),  # PR_SET_NAME
        ("prctl", (1,), REFUSE),  # PR_SET_PDEATHSIG
        ("prctl", (22,), REFUSE),  # PR_SET_SECCOMP
        ("setrlimit", (9, 1), PRETEND),
        ("prlimit64", (0, 9, 0, 1), ALLOW),  # reading
        ("prlimit64", (0, 9, 1, 0), PRETEND),  # writing
        ("prlimit64", (0, 9, 1 << 32, 0), PRETEND),  # a pointer whose low half is 0
        ("prlimit64", (77, 9, 0, 1), REFUSE),  # another process
    ]
    for call, arguments, answer in cases:
        assert decide(code, audit, number[call], *arguments) == answer, (call, arguments)
    for own_root, answer in ((True, ALLOW), (False, REFUSE)):
        code = seccomp.program(machine, own_root=own_root)
        assert {decide(code, audit, number[call]) for call in ("chdir", "fchdir", "statfs")} == {answer}


@pytest.mark.parametrize("name", MACHINES)
def test_new_threads_alone_are_asked_about(name: str) -> None:
    machine = MACHINES[name]
    assert machine is not None
    code, audit, clone = seccomp.new_threads(machine), AUDIT[name], machine.number["clone"]
    assert decide(code, audit, clone, 0x3D0F00) == ASK  # pthread_create
    assert decide(code, audit, clone, 17) == ALLOW  # fork
    assert {decide(code, audit, number, 0x3D0F00) for number in range(600) if number != clone} == {ALLOW}


@pytest.mark.parametrize("name", MACHINES)
def test_an_executable_is_started_by_those_who_know_the_secret(name: str) -> None:
    machine = MACHINES[name]
    assert machine is not None
    secret, image, flags, own = 0x0123456789ABCDEF, 3, 0x1000, 4711
    code, audit, number = seccomp.Started(machine, image, flags, secret).of(own), AUDIT[name], machine.number
    low, high = (secret & 0xFFFFFFFF) << 32, secret & ~0xFFFFFFFF
    cases = [
        ("execveat", (image | low, 1, 2, 3, flags | high), ALLOW),
        ("execveat", (image, 1, 2, 3, flags), REFUSE),
        ("execveat", (image | low, 1, 2, 3, flags), REFUSE),
        ("execveat", (image, 1, 2, 3, flags | high), REFUSE),
        ("execveat", (4 | low, 1, 2, 3, flags | high), REFUSE),  # another file
        ("execveat", (image | low, 1, 2, 3, high), REFUSE),  # a path
        ("tgkill", (own, own, 6), ALLOW),  # abort
        ("tgkill", (own + 1, own, 6), REFUSE),
        ("tgkill", (1, 1, 9), REFUSE),
        ("clone", (17,), REFUSE),
        ("prctl", (22,), REFUSE),
    ]
    for call, arguments, answer in cases:
        assert decide(code, audit, number[call], *arguments) == answer, (call, arguments)
    allowed = {n for n in range(syscalls.NEWEST) if decide(code, audit, n) == ALLOW}
    assert allowed == {n for n in range(syscalls.NEWEST) if decide(seccomp.program(machine), audit, n) == ALLOW}


@pytest.mark.parametrize("name", MACHINES)
def test_a_compiler_is_started_and_is_kept_from_the_rest(name: str) -> None:
    machine = MACHINES[name]
    assert machine is not None
    code, audit, number = seccomp.compiler(machine), AUDIT[name], machine.number
    for call in machine.compiler:
        assert decide(code, audit, call) == ALLOW
    assert decide(code, audit, number["clone"], 0x4111) == REFUSE  # vfork
    assert decide(code, audit, number["clone"], 17) == REFUSE  # fork
    assert decide(code, audit, number["prctl"], 22) == REFUSE
    assert decide(code, audit, number["tgkill"], 1, 1, 9) == REFUSE
    assert decide(code, audit, {"x86_64": 41, "aarch64": 198}[name]) == REFUSE  # socket


def test_an_unknown_machine_has_no_table() -> None:
    assert syscalls.table("riscv64") is None


@pytest.mark.parametrize(
    ("column", "header", "define"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+)\s+(\d+)"),
        ("aarch64", "/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
    ],
)
def test_numbers_are_those_of_the_kernel_headers(column: str, header: str, define: str) -> None:
    if not Path(header).exists():
        pytest.skip(f"no kernel header {header} (Debian: linux-libc-dev)")
    names = {int(n): name for name, n in re.findall(define, Path(header).read_text())}
    index = list(AUDIT).index(column)
    for name, row in {**syscalls._ALLOWED, **syscalls._COMPILER, **syscalls._NAMED}.items():
        number = row[index]
        if number is not None:
            known = names[number]
            assert name in (known, known.replace("fstatat", "newfstatat")), (name, number)
