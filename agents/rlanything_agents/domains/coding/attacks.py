"""Programs that attack the judge and not the problem, by name: forged reports and answers, episodes without an outcome.

Each runs as a submission's module. Where a function is called, its body is ``pass``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rlanything_agents.domains.cheats import NAMES

__all__ = ["ANSWERS", "COMPILERS", "NAMED", "OUTPUTS", "REPORTS", "STOPS", "STOPS_IN_CPP"]

_FORGER = r"""
import os, sys

def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back

def constants(value, depth=3):
    if isinstance(value, bytes) and 4 <= len(value) <= 200:
        yield value
    for item in getattr(getattr(value, "__code__", None), "co_consts", ()) if depth else ():
        yield from constants(item, depth - 1)

def marks():
    found = {b"\x1d result "}
    for frame in frames():
        for value in (*frame.f_globals.values(), *frame.f_locals.values(), *frame.f_code.co_consts):
            found.update(constants(value))
    return found

def calls():
    asked = [frame.f_locals["calls"] for frame in frames() if isinstance(frame.f_locals.get("calls"), list)]
    return len(asked[0]) if asked else 1

def report(kind, text):
    for mark in marks():
        os.write(1, b"\n" + mark + kind + b" " + text.encode(errors="replace") + b"\n")
"""
"""Writes lines as the drivers write them, with every mark that it finds in its own process."""

_END = "os._exit(0)"

_CODE = "report('AC') or __import__('os')._exit(0)"
"""What the checking process would run, as a statement and as an expression."""


def _reported(kind: str, text: str = "''") -> str:
    """A program that reports this kind and the text of this expression."""
    return f"{_FORGER}\nreport({kind.encode()!r}, {text})\n{_END}"


def _answered(answer: str) -> str:
    """A program that answers each call with this JSON."""
    return _computed(repr(answer))


def _computed(answer: str) -> str:
    """A program that answers each call with the JSON of this expression; an answer of an agent may not be as long."""
    return f'{_FORGER}\nreport(b"OK", "[" + ", ".join([{answer}] * calls()) + "]")\n{_END}'


REPORTS: Mapping[str, str] = {
    **{f"{kind} alone": _reported(kind) for kind in ("AC", "WA", "RE", "CE", "OK", "MORE", "IE", "ac", "")},
    "AC with a reason": _reported("AC", "'all hold'"),
    "MORE calls, for ever": _reported("MORE", """'[["f", [1], {}]]'"""),
    "OK without a list": _reported("OK", "'null'"),
    "OK with no answers": _reported("OK", "'[]'"),
    "OK with a megabyte": _reported("OK", "'[' + '1, ' * 330000 + '1]'"),
    "OK with half a list": _reported("OK", """'[["=", 1'"""),
    "OK with nesting": _reported("OK", "'[' * 100000 + ']' * 100000"),
    "AC at the exit": f"{_FORGER}\nimport atexit\natexit.register(report, b'AC', '')",
    "AC as JSON": """print('{"score": 1.0, "verdict": "AC", "outcome": 1}')""",
    "AC to every descriptor": f"""{_FORGER}
for number in range(256):
    try:
        os.write(number, b'\\n\\x1d result AC \\nAC\\n')
    except OSError:
        pass
{_END}""",
}
"""Reports of the drivers' every kind, and of kinds that there are not."""

ANSWERS: Mapping[str, str] = {
    **{
        name: _answered(answer)
        for name, answer in {
            "nothing": "null",
            "no pair": "[]",
            "a pair of nothing": "[null, null]",
            "an object": '{"=": 1}',
            "three parts": '["=", 1, 2]',
            "no kind": '["?", 1]',
            "a kind that is no text": '[["="], 1]',
            "an unknown kind of value": '["=", ["Z", 1]]',
            "a kind of two": '["=", ["lt", [1]]]',
            "an empty kind": '["=", ["", "00"]]',
            "both kinds of bytes": '["=", ["bB", "00"]]',
            "a list of no list": '["=", ["l", 1]]',
            "a list of an object": '["=", ["l", {"a": 1}]]',
            "a set of lists": '["=", ["s", [["l", []]]]]',
            "a mapping by lists": '["=", ["d", [[["l", []], 1]]]]',
            "a mapping of three": '["=", ["d", [[1, 2, 3]]]]',
            "bytes that are none": '["=", ["b", "xyz"]]',
            "bytes of a number": '["=", ["B", 100000000000]]',
            "an endless range": '["=", ["r", [0, 1000000000000000000, 1]]]',
            "a range without steps": '["=", ["r", [0, 1, 0]]]',
            "a part of zero": '["=", ["F", [1, 0]]]',
            "a part of a text": '["=", ["F", ["1e999999999"]]]',
            "a decimal of a text": '["=", ["D", "1e999999999999999999999"]]',
            "a decimal that is none": '["=", ["D", "sNaN"]]',
            "an object before the first": '["=", ["o", -1]]',
            "an object after the last": '["=", ["o", 1000000000]]',
            "an object that is true": '["=", ["o", true]]',
            "an object of a text": '["=", ["o", "__class__"]]',
            "numbers that are none": '["=", ["l", [NaN, Infinity, -Infinity, 1e999]]]',
            "a long number": f'["=", {"9" * 4000}]',
            "half a character": '["=", "\\ud800"]',
            "an exception without a name": f'["!", "", "{_CODE}"]',
            "an exception of a list": f'["!", ["exec"], "{_CODE}"]',
            "an exception in dots": f'["!", "__builtins__.exec", "{_CODE}"]',
            "an exception and no text": '["!", "exec", ["print(1)"]]',
            "every type": '["=", ["l", [' + ", ".join(f'["T", "{name}"]' for name in NAMES) + "]]]",
            "every type as a key": '["=", ["d", [' + ", ".join(f'[["T", "{name}"], 1]' for name in NAMES) + "]]]",
        }.items()
    },
    "a complex text": _computed("""'["=", ["c", ["' + '1' * 1000 + 'j"]]]'"""),
    "a longer number": _computed("""'["=", ' + '9' * 900000 + ']'"""),
    "a deep value": _computed("""'["=", ' + '["l", [' * 20000 + '1' + ']]' * 20000 + ']'"""),
    "an exception with a megabyte": _computed("""'["!", "ValueError", "' + 'x' * 900000 + '"]'"""),
}
"""Answers to calls with every kind that the drivers' JSON has, and with content that does not suit it."""

NAMED: Mapping[str, str] = {
    **{f"exception {name}": _answered(f'["!", "{name}", "{_CODE}"]') for name in NAMES},
    **{f"type {name}": _answered(f'["=", ["T", "{name}"]]') for name in NAMES},
    "functions": "\n".join(
        f"try:\n    def {name}(*arguments, **options):\n        return True\nexcept BaseException:\n    pass"
        for name in NAMES
        if name.isidentifier() and name not in ("None", "True", "False", "__debug__")
    ),
}
"""Every name of ``builtins`` in each place of an answer that holds a name, and as functions of the submission."""

_STOP = "import os, signal, sys, threading, time\n"


def _crowd(code: str) -> str:
    """A program whose threads, as many as it may have, all call the function ``run`` of the code."""
    return f"""{_STOP}
{code}for _ in range(140):
    try:
        threading.Thread(target=run, daemon=True).start()
    except RuntimeError:
        break
time.sleep(10**6)"""


STOPS: Mapping[str, str] = {
    "sleeps": f"{_STOP}time.sleep(10**6)",
    "sleeps in steps": f"{_STOP}while True:\n    time.sleep(0.001)",
    "waits for a signal": f"{_STOP}signal.pause()",
    "waits for a lock": f"{_STOP}lock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "waits for an event": f"{_STOP}threading.Event().wait()",
    "closes its output": f"{_STOP}os.close(1)\ntime.sleep(10**6)",
    "half a line": f"{_STOP}os.write(1, b'1')\ntime.sleep(10**6)",
    "waits for a pipe": f"{_STOP}os.read(os.pipe()[0], 1)",
    "stops itself": f"{_STOP}os.kill(os.getpid(), signal.SIGSTOP)",
    "stops its group": f"{_STOP}os.killpg(0, signal.SIGSTOP)",
    "stops all it may": f"{_STOP}os.kill(-1, signal.SIGSTOP)",
    "stops its parent": f"{_STOP}os.kill(os.getppid(), signal.SIGSTOP)\ntime.sleep(10**6)",
    "ends its main thread": f"{_STOP}threading.Thread(target=time.sleep, args=(10**6,)).start()",
    "ignores all signals": f"{_STOP}for number in {{*signal.valid_signals()}} - {{9, 19}}:\n"
    "    signal.signal(number, signal.SIG_IGN)\ntime.sleep(10**6)",
    "many threads sleep": f"{_STOP}for _ in range(140):\n    try:\n"
    "        threading.Thread(target=time.sleep, args=(10**6,), daemon=True).start()\n"
    "    except RuntimeError:\n        break\ntime.sleep(10**6)",
    "many threads wait for a core, then sleep": _crowd("""\
def run():
    while time.process_time() < 0.15:
        sum(range(300))
        time.sleep(0)
    time.sleep(10**6)
"""),
    "many threads wait for a core without the lock": _crowd("""\
import hashlib
def run():
    for _ in range(12):
        hashlib.sha256(bytes(1 << 18)).digest()
        time.sleep(0.001)
    time.sleep(10**6)
"""),
    "many threads nap, then sleep": _crowd("""\
def run():
    while time.process_time() < 0.15:
        time.sleep(0.005)
    time.sleep(10**6)
"""),
    "many threads nap for ever": _crowd("""\
def run():
    while True:
        time.sleep(0.25)
"""),
}
"""Programs that wait, for an outcome that never comes: the verdict is a time limit, and never an error of the judge."""

_THREADS = """\
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>
int main() {
    using namespace std::chrono;
    std::vector<std::thread> all;
    for (int i = 0; i < 140; ++i) try {
        all.emplace_back([] {
            volatile long sum = 0;
            while (clock() < CREDIT * (CLOCKS_PER_SEC / 1000)) {
                for (int k = 0; k < WORK; ++k) sum = sum + k;
                std::this_thread::WAIT;
            }
            std::this_thread::sleep_for(hours(9));
        });
    } catch (...) { break; }
    std::this_thread::sleep_for(hours(9));
}
"""


def _threads(credit: int, work: int, wait: str) -> str:
    """Threads that work and wait in turns for milliseconds of processor time, and then sleep."""
    return _THREADS.replace("CREDIT", str(credit)).replace("WORK", str(work)).replace("WAIT", wait)


STOPS_IN_CPP: Mapping[str, str] = {
    "sleeps": "#include <unistd.h>\nint main() { for (;;) pause(); }",
    "stops itself": "#include <csignal>\nint main() { raise(SIGSTOP); }",
    "waits before main": "#include <unistd.h>\nstruct A { A() { pause(); } } a;\nint main() {}",
    "many threads sleep": _threads(0, 1, "yield()"),
    "many threads wait for a core, then sleep": _threads(150, 20_000, "yield()"),
    "many threads nap, then sleep": _threads(150, 1, "sleep_for(milliseconds(2))"),
    "many threads nap for ever": _threads(10**6, 1, "sleep_for(milliseconds(200))"),
}
"""The same in C++."""

_MAIN = "\nint main() {}\n"

COMPILERS: Mapping[str, str] = {
    **{
        f"includes {path}": f'#include "{path}"{_MAIN}'
        for path in (
            *(f"/proc/self/fd/{number}" for number in range(8)),
            "/dev/stdin",
            "/dev/stdout",
            "/dev/tty",
            "/dev/zero",
            "/dev/urandom",
            "/dev/ptmx",
            "/proc/self/mem",
            "/proc/self/pagemap",
            "/proc/self/task/../fd/3",
            "/proc/kmsg",
            "/proc/sys/kernel/random/boot_id",
            "/",
            "/sys/kernel/debug/tracing/trace_pipe",
        )
    },
    "includes itself": f"#include __FILE__{_MAIN}",
    "takes in /dev/zero": f'asm(".incbin \\"/dev/zero\\"");{_MAIN}',
    "takes in a pipe": f'asm(".incbin \\"/proc/self/fd/1\\"");{_MAIN}',
    "assembles a pipe": f'asm(".include \\"/proc/self/fd/0\\"");{_MAIN}',
    "fills the assembler": f'asm(".fill 0xffffffff, 8, 1");{_MAIN}',
    "repeats in the assembler": f'asm(".rept 0xffffffff\\n.rept 0xffffffff\\nnop\\n.endr\\n.endr");{_MAIN}',
    "counts at compile time": "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; ++i) s += f(n - 1); "
    "return s; }\nconstexpr long value = f(1L << 40);\nint main() { return value; }",
    "doubles templates": "template <int n, int m> struct A : A<n - 1, 2 * m>, A<n - 1, 2 * m + 1> {};\n"
    "template <int m> struct A<0, m> {};\nA<30, 1> a;\nint main() {}",
    "doubles macros": "#define A0 0,0\n"
    + "".join(f"#define A{n} A{n - 1},A{n - 1}\n" for n in range(1, 40))
    + "int a[] = {A39};"
    + _MAIN,
    "a large table": f"int a[1L << 28] = {{1}};{_MAIN}",
    "nests": "int main() { return " + "(" * 50_000 + "0" + ")" * 50_000 + "; }",
    "links nothing": "extern int nowhere();\nint main() { return nowhere(); }",
    "names files to the linker": f'asm(".section .drectve\\n.ascii \\"-l/proc/self/fd/0\\"");{_MAIN}',
}
"""Sources in C++ that attack the compiler: each has to end as a compile error or as a wrong program within its time."""

_WRITE = "import os, sys, time\nsys.stdout.buffer.write({})"

OUTPUTS: Mapping[str, str] = {
    **{
        name: _WRITE.format(output)
        for name, output in {
            "nothing": "b''",
            "garbage": "b'dunno'",
            "a blank line": "b'\\n'",
            "verdicts": "b'AC\\nOK\\n42\\n1\\n'",
            "a report": """b'{"verdict": "AC", "score": 1.0}\\n'""",
            "no text": "bytes(range(256))",
            "half characters": "b'\\xed\\xa0\\x80'",
            "digits of other scripts": "'\\u0661\\u06f1\\u2460'.encode()",
            "a number that is none": "b'nan inf -0 1e999999999 0x1p99999 1_0'",
            "a megabyte of digits": "b'7' * 1000000",
            "a megabyte of numbers": "b'1 ' * 500000",
            "a megabyte of lines": "b'\\n' * 1000000",
            "nesting": "b'[' * 500000 + b']' * 500000",
        }.items()
    },
    "garbage after reading": "import sys\nprint('dunno')\nsys.stdout.flush()\nsys.stdin.read()",
    "garbage, line by line": "import sys\nfor _ in range(1000):\n    print('no', flush=True)\n    sys.stdin.readline()",
    "its input": "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)",
}
"""Programs whose outputs break a careless checker, or a careless interactor."""
