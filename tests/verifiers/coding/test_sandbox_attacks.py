"""Hostile programs: each is contained at every safe tier, and a normal program passes right after it."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_attacks import ATTACKS, CONTROLS, PATIENT, assert_alive, assert_contained

from rlanything_verifiers.coding.sandbox import Limits, Sandbox

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What an attack is told on standard input: things of the judge that it must not reach."""
    secret = tmp_path / "secret"
    secret.write_text("expected outputs")
    secret.chmod(0o666)
    tmp_path.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        yield {
            "files": f"{secret}\n{tmp_path}\n",
            "network": f"{port}\n",
            "descriptors": "must stay\n",
            "kill_judge": f"{os.getpid()}\n",
            "peek_memory": f"{os.getpid()}\n",
        }
    assert secret.read_text() == "expected outputs"
    assert [p.name for p in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("name", ATTACKS)
def test_contained(box: Sandbox, name: str, bait: dict[str, str]) -> None:
    assert_contained(box, name, bait.get(name, ""))


@pytest.mark.parametrize("name", CONTROLS)
def test_without_protection_the_attack_succeeds(name: str, tmp_path: Path) -> None:
    """The controls: were an attack broken, its containment would prove nothing."""
    secret = tmp_path / "secret"
    secret.write_text("bait")
    limits = Limits(cpu=3.0, wall=60.0, memory=1 << 30) if name == "touch" else PATIENT
    with Sandbox(1, tier="none", allow_unsafe=True) as sandbox, socket.create_server(("127.0.0.1", 0)) as server:
        told = {"files": f"{secret}\n{tmp_path}\n", "network": f"{server.getsockname()[1]}\n"}
        (run,) = sandbox.run(ATTACKS[name], [told.get(name, "").encode()], limits)
    assert b"ESCAPED" in run.stdout, run


def test_inputs_of_other_tests_are_nowhere_in_memory() -> None:
    """Even a program that may read all of its own memory finds no trace of the inputs before its own."""
    search = """
import sys
own = sys.stdin.readline()
needle = "hidden" + "-input-"
found = []
for line in open("/proc/self/maps"):
    bounds, access = line.split()[:2]
    if "r" in access and "[v" not in line:
        first, last = (int(x, 16) for x in bounds.split("-"))
        with open("/proc/self/mem", "rb") as memory:
            memory.seek(first)
            try:
                block = memory.read(last - first)
            except OSError:
                continue
        at = block.find(needle.encode())
        while at >= 0:
            found.append(block[at + 13 : at + 17].decode("latin-1"))
            at = block.find(needle.encode(), at + 1)
print(sorted(set(x for x in found if x.isdigit())))
"""
    with Sandbox(1, tier="none", allow_unsafe=True) as sandbox:
        runs = sandbox.run(search, [f"hidden-input-{1000 + i}\n".encode() for i in range(4)])
    assert [run.stdout for run in runs] == [f"['{1000 + i}']\n".encode() for i in range(4)]


def test_frames_and_objects_hold_nothing_of_the_judge(box: Sandbox) -> None:
    """All a program can reach by walking frames and objects is its own text and the limits it runs under."""
    walk = """
import gc, sys
own = input()
frame, texts = sys._getframe(), []
while frame:
    texts.append(repr(frame.f_locals) + repr(frame.f_globals.keys()))
    frame = frame.f_back
texts += [repr(x) for x in gc.get_objects() if isinstance(x, (str, bytes, list, tuple))]
print(any("secret-" + "of-another" in text for text in texts))
"""
    runs = box.run(walk, [b"secret-of-another\n", b"mine\n"])
    assert runs[1].stdout == b"False\n", runs[1]


#: What a program may ask about the machine's files, and the tiers at which it gets an answer.
LOOKS = {
    "os.chdir('/usr')": {"full"},
    "os.fchdir(os.open(os.path.dirname(os.__file__), os.O_PATH))": {"full"},
    "os.statvfs('/')": {"full"},
    "os.stat(os.path.dirname(os.__file__))": {"full", "landlock"},  # Python could import nothing otherwise
    "os.stat('/etc/passwd').st_mtime": {"landlock"},
    "os.listdir('/etc')": set(),
    "open('/etc/passwd')": set(),
}


@pytest.mark.parametrize("call", LOOKS)
def test_what_a_program_sees_of_the_machines_files(box: Sandbox, call: str) -> None:
    """At "full" it sees a root of its own, in which only Python is."""
    (run,) = box.run(f"import os\ntry:\n    {call}\n    print(1)\nexcept OSError:\n    print(0)", [b""])
    assert run.stdout == (b"1\n" if box.tier in LOOKS[call] else b"0\n"), run


WHO = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
sets = (ctypes.c_uint32 * 6)(*[1] * 6)
assert libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), sets) == 0
regained = False
try:
    os.setuid(0)
    regained = os.getuid() == 0
except OSError:
    pass
print(os.getuid(), os.getgid(), len(os.getgroups()), sum(sets), regained)
"""


def test_whose_rights_a_program_has(box: Sandbox) -> None:
    """At "full" those of nobody; else those of a stranger that root lends, or of the judge's user; no capabilities."""
    (run,) = box.run(WHO, [b""])
    user, group, groups, capabilities, regained = run.stdout.split()
    assert (capabilities, regained) == (b"0", b"False"), run
    if box.tier == "full":
        assert (user, group) == (b"65534", b"65534"), run
    elif os.getuid() != 0 or not all(p.stat().st_mode & 0o001 for p in Path(os.__file__).resolve().parents):
        assert (int(user), int(group)) == (os.getuid(), os.getgid()), run
    else:
        assert (int(user), int(group)) >= (0x60000000, 0x60000000), run
        assert groups == b"0", run


def test_tests_share_no_state(box: Sandbox) -> None:
    program = """
import builtins, math, sys
print(hasattr(builtins, "mark"), hasattr(math, "mark"), "mark" in sys.modules, input())
builtins.mark = math.mark = sys.modules["mark"] = 1
"""
    runs = box.run(program, [b"a", b"b", b"c"])
    assert [run.stdout for run in runs] == [f"False False False {x}\n".encode() for x in "abc"]


BROKEN_TEXTS = {
    "NUL bytes": b"print(1)\0print(2)",
    "invalid UTF-8": b"x = '\xff\xfe'",
    "lone surrogate": "x = '\ud800'",
    "unknown encoding": b"# coding: no-such-thing\nprint(1)",
    "nested brackets": "(" * 5000 + ")" * 5000,
    "nested blocks": "".join(" " * i + "if 1:\n" for i in range(300)) + " " * 300 + "pass",
    "unary minuses": "-" * 200_000 + "1",
    "too long": "#" * ((1 << 20) + 1),
    "half a string": "'" * 5,
    "return at the top": "return 1",
}


@pytest.mark.parametrize("name", BROKEN_TEXTS)
def test_text_that_does_not_compile(box: Sandbox, name: str) -> None:
    (run,) = box.run(BROKEN_TEXTS[name], [b""])
    assert run.status == "CE", run
    assert run.detail
    assert_alive(box)


#: Texts that trouble a reader, a decoder or an optimiser, each of which ends by itself.
ODD_TEXTS = {
    "a coding of domain names": b"# coding: idna\nx='" + b"a" * 500_000 + b"'",
    "a coding that is no text": b"# coding: zlib\nx",
    "a coding that hides lines": b"# coding: unicode_escape\n#\\nprint(1)",
    "a coding with a path": b"# coding: ../../os\nprint(1)",
    "a module that is no coding": b"# coding: aliases\nprint(1)",
    "a coding of a megabyte": b"# coding: " + b"a" * 1_000_000,
    "a mark and a coding": b"\xef\xbb\xbf# coding: latin-1\nprint(1)",
    "sixteen bits": b"# coding: utf-16\nprint(1)",
    "form feeds": b"\x0c" * 1_000_000 + b"print(1)",
    "carriage returns": b"\r" * 1_000_000,
    "folded constants": "\n".join(f"x = '\U0001f600{i:x}' * {4096 // (1 + len(f'{i:x}'))}" for i in range(8_000)),
    "a number of digits": b"x = 0x" + b"f" * 1_000_000,
    "future flags": b"from __future__ import barry_as_FLUFL\nprint(1 <> 2)",
    "imports": b"import re, asyncio, unittest\n" * 30_000,
    "names": "\U0001d518" * 250_000 + " = 1",
    "ligatures": "\ufdfa" * 300_000 + " = 1",
    "lambdas": "x = " + "lambda: " * 3_000 + "1",
    "attributes": "x = a" + ".b" * 300_000,
    "calls": "x = a" + "()" * 300_000,
    "powers": "x = " + "2**" * 300_000 + "2",
    "else if": "if 0: pass\n" + "elif 0: pass\n" * 60_000,
    "parameters": "def f(" + ",".join(f"a{i}" for i in range(100_000)) + "): pass",
}


@pytest.mark.parametrize("memory", [32, 512])
@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts_end(box: Sandbox, name: str, memory: int) -> None:
    """A text is compiled, or refused; it never ends its server, also where it leaves no memory to its tests."""
    for run in box.run(ODD_TEXTS[name], [b"", b"x" * 200_000], Limits(cpu=3.0, memory=memory << 20)):
        assert run.status in ("CE", "OK", "RE", "MLE"), run


def test_large_text_compiles(box: Sandbox) -> None:
    text = "x = 0\n" + "x += 1\n" * 100_000 + "print(x)"
    (run,) = box.run(text, [b""], Limits(cpu=10.0))
    assert (run.status, run.stdout) == ("OK", b"100000\n"), run


def test_compiling_is_bounded(box: Sandbox) -> None:
    """A text of 60 KB of which the compiler makes hundreds of megabytes, and one deep enough to trouble it."""
    for text in ("+".join(["1"] * 60_000), "f(" * 90 + ")" * 90, "x = [" + "[]," * 100_000 + "]"):
        (run,) = box.run(text, [b""], Limits(cpu=5.0))
        assert run.status in ("CE", "OK", "RE", "MLE"), run
        assert_alive(box)


def test_output_is_cut_at_the_limit(box: Sandbox) -> None:
    exact, over = box.run("print('x' * (int(input()) - 1))", [b"1000", b"1001"], Limits(output=1000))
    assert (exact.status, len(exact.stdout)) == ("OK", 1000)
    assert (over.status, len(over.stdout)) == ("OLE", 1000)
