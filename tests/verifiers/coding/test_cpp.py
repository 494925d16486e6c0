"""Programs in C++: compiled and run under the same protection as those in Python."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_attacks import LIMITS, PATIENT, assert_alive, patient, run

from rlanything_verifiers.coding import Job, JudgeError, SandboxUnsupported, judge, judge_many, run_program
from rlanything_verifiers.coding.cache import RUNS
from rlanything_verifiers.coding.sandbox import Limits, Run, Sandbox, compiled, executable, process, toolchain, waiting

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

SUM = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }'
ATTACKS = (Path(__file__).parent / "attacks" / "attacks.cpp").read_text()
REFUSED = ("system_calls", "processes", "files", "network", "threads", "mmap", "code", "notes", "priorities")
SIGNALS = {"recurse": "SIGSEGV", "segfault": "SIGSEGV", "abort": "SIGABRT", "int80": "SIGSYS"}
STATUSES = {"spin": "TLE", "ignore": "TLE", "sleep": "TLE_WALL", "flood": "OLE", "flood_errors": "OLE", "new": "MLE"}
WAITING = ("crowd", "naps", "yields", "stop")


@pytest.fixture(scope="module", autouse=True)
def _compiler() -> None:
    try:
        toolchain.toolchain()
    except SandboxUnsupported as error:
        pytest.skip(str(error))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("expected outputs")
    path.chmod(0o666)
    tmp_path.chmod(0o777)
    return path


def compile_error(sandbox: Sandbox, text: str) -> str:
    (found,) = sandbox.run(text, [b""], language="cpp")
    assert found.status == "CE", found
    assert_alive(sandbox)
    return found.detail


def attack(sandbox: Sandbox, name: str, limits: Limits = PATIENT, more: str = "") -> Run:
    (found,) = sandbox.run(ATTACKS, [f"{name}\n{more}".encode()], limits, language="cpp")
    assert b"ESCAPED" not in found.stdout, found.stdout.decode()
    assert_alive(sandbox)
    return found


def test_it_runs_and_is_compiled_once(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = box.run(SUM, [b"1 2", b"30 12"], language="cpp")
    assert [(r.status, r.stdout) for r in runs] == [("OK", b"3\n"), ("OK", b"42\n")], runs
    monkeypatch.setattr("rlanything_verifiers.coding.sandbox.process.Process._build", None)
    assert box.run(SUM, [b"2 2"], language="cpp")[0].stdout == b"4\n"


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_reached(box: Sandbox, name: str, secret: Path) -> None:
    found = attack(box, name, more=f"{secret}\n{secret.parent}\n" if name == "files" else "")
    assert (found.status, found.stdout) == ("OK", b"done\n"), found
    assert secret.read_text() == "expected outputs"
    assert [p.name for p in secret.parent.iterdir()] == [secret.name]


@pytest.mark.parametrize("name", SIGNALS)
def test_a_crash_is_a_runtime_error_with_its_signal(box: Sandbox, name: str) -> None:
    found = attack(box, name)
    assert (found.status, found.signal) == ("RE", signal.Signals[SIGNALS[name]].value), found
    assert found.detail == f"ended by {SIGNALS[name]}"


@pytest.mark.parametrize("name", STATUSES)
def test_limits_hold(box: Sandbox, name: str) -> None:
    found = attack(box, name, LIMITS.get(STATUSES[name], PATIENT))
    assert found.status == STATUSES[name], found
    assert len(found.stdout) <= 1 << 20
    assert found.cpu < 4.0


@pytest.mark.parametrize("name", WAITING)
def test_waiting_is_ended_by_the_clock(box: Sandbox, name: str) -> None:
    found = patient(attack, box, name, LIMITS["TLE_WALL"])
    assert found.status in ("TLE_WALL", "TLE"), found


def test_an_exit_code_is_a_runtime_error(box: Sandbox) -> None:
    found = attack(box, "exit")
    assert (found.status, found.detail) == ("RE", "exit code 7")


def test_more_memory_than_allowed_before_main(box: Sandbox) -> None:
    program = "char room[1 << 30]; int main(int n, char **) { return room[n]; }"
    assert run_cpp(box, program).status == "MLE"
    assert run_cpp(box, program, limits=Limits(memory=2 << 30)).status == "OK"


def run_cpp(sandbox: Sandbox, text: str, data: bytes = b"", limits: Limits = PATIENT) -> Run:
    return sandbox.run(text, [data], limits, language="cpp")[0]


def test_the_compilers_message_names_the_line_and_no_place_of_the_host(box: Sandbox) -> None:
    detail = compile_error(box, "#include <cmath>\nint main() { return undeclared; }")
    assert "main.cpp:2:21: error: 'undeclared' was not declared in this scope" in detail
    assert "/" not in compile_error(box, "int f(); int main() { return f(); }")
    assert "undefined reference to `f()'" in compile_error(box, "int f(); int main() { return f(); }")
    template = compile_error(box, "#include <memory>\nstd::unique_ptr<int> a, b(a); int main() {}")
    assert "/usr" not in template
    assert "unique_ptr.h" in template


def test_the_compiler_reads_nothing_else(box: Sandbox, secret: Path) -> None:
    for path in (secret, "/etc/passwd", "/etc/hostname", "/proc/self/maps", "/dev/zero"):
        for text in (
            f'#include "{path}"\nint main() {{}}',
            f'asm(".incbin \\"{path}\\"");\nint main() {{}}',
            f'asm(".include \\"{path}\\"");\nint main() {{}}',
        ):
            detail = compile_error(box, text)
            assert "expected outputs" not in detail
            assert "root:" not in detail
    probe = f'#if __has_include("{secret}")\nint main() {{}}\n#else\n#include "none"\n#endif'
    assert any(word in compile_error(box, probe) for word in ("No such file", "Permission denied"))


def test_a_source_cannot_flood(box: Sandbox) -> None:
    errors = compile_error(box, "\n".join(f"undeclared{i} x{i};" for i in range(5000)))
    assert len(errors.encode()) <= 4000
    assert len(compile_error(box, '#include "main.cpp"\n#include "main.cpp"\nint main() {}').encode()) <= 4000
    assert len(compile_error(box, "#error " + "x" * 900_000).encode()) <= 4000
    compile_error(box, "char big[1 << 30] = {1}; int main() {}")
    compile_error(box, "")
    compile_error(box, "\0" * 100)


MAIN = "\nint main() {}\n"
PLACES = (*(f"/proc/self/fd/{n}" for n in range(4)), "/dev/zero", "/dev/random", "/dev/stdin", "/proc/self/fd", ".")
WAYS = (
    '#include "PLACE"' + MAIN,
    'asm(".incbin \\"PLACE\\"");' + MAIN,
    'asm(".include \\"PLACE\\"");' + MAIN,
    '#line 1 "PLACE"\nint x = y;',
    '#embed "PLACE"' + MAIN,
    '#pragma GCC dependency "PLACE"' + MAIN,
    '#pragma GCC pch_preprocess "PLACE"' + MAIN,
)


@pytest.mark.parametrize("way", WAYS)
def test_no_file_holds_the_compiler(box: Sandbox, way: str) -> None:
    """No pipe, device or descriptor: what can be opened at all is a file in memory with an end."""
    for place in PLACES:
        begin = time.monotonic()
        found = run_cpp(box, way.replace("PLACE", place))
        assert found.status in ("CE", "OK"), (place, found)
        assert time.monotonic() - begin < 30.0, place
    assert_alive(box)


SOURCES = {
    "a plugin": '#pragma GCC optimize("plugin=x")' + MAIN,
    "link-time optimisation": '__attribute__((optimize("lto"))) int f() { return 1; }' + MAIN,
    "its sections": 'asm(".section .gnu.lto_.x,\\"e\\"\\n.byte 1");' + MAIN,
    "an interpreter": 'asm(".section .interp,\\"a\\"\\n.asciz \\"/etc/passwd\\"");' + MAIN,
    "room": 'asm(".space 0x7fffffffffff");' + MAIN,
    "a place": 'asm(".org 1 << 50");' + MAIN,
    "zeros": "char room[1ULL << 45];" + MAIN,
    "macros of the assembler": 'asm(".macro a\\na\\na\\n.endm\\na");' + MAIN,
    "itself": "#include __FILE__\n#include __FILE__" + MAIN,
    "a concept of itself": "template<class T> concept C = requires(T t) { requires C<T *>; };" + MAIN,
    "lines of another file": '#line 1 "/etc/passwd"\n#error x' + MAIN,
    "a line of a megabyte": 'const char *s = R"(' + "x" * 1_000_000 + ')";' + MAIN,
    "a name of a file": '#line 2147483647 "' + "a" * 500_000 + '"\nint x = ;' + MAIN,
    "a start of its own": 'extern "C" void _start() { for (;;); }' + MAIN,
    "a table of the linker": 'asm(".section .dynamic,\\"aw\\"\\n.quad 1,1");' + MAIN,
    "a file in the text": 'asm(".incbin \\"/proc/self/fd/1\\"");' + MAIN,
    "complaints": 'asm(".rept 30000\\n.warning \\"pppppppppppppppppppppppppppp\\"\\n.endr");' + MAIN,
    "a size beyond all": 'asm(".fill 0x7fffffffffffffff,8,1");' + MAIN,
    "numbers that depend": 'asm("' + "1: .uleb128 2f-1b\\n" * 20_000 + '2:");' + MAIN,
    "files that may be there": '#if __has_include("/etc/passwd")\n#endif\n#pragma GCC dependency "/etc/passwd"' + MAIN,
    "a dump": '#pragma GCC optimize("fdump-tree-all=/tmp/x")' + MAIN,
    "a large alignment": "alignas(1 << 28) char room[1] = {1};" + MAIN,
    "numbers of a counter": "#define A __COUNTER__,__COUNTER__,\n#define B A A A A A A A A\n#define C B B B B B B B B\n"
    "#define D C C C C C C C C\nint a[] = {D D D D};" + MAIN,
    "zeros and marks": "\ufeffint x;\0// \u202e\n" + MAIN,
    "a module": 'export module x;\nimport "/etc/passwd";' + MAIN,
    "a range of cases": "int main(int c, char **) { switch (c) { case 0 ... 2000000000: return 1; } }",
}
BOMBS = {
    "templates": "template<int N, int M> struct T { static const long v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v; };"
    "template<int M> struct T<0, M> { static const long v = M; }; int main() { return T<26, 0>::v; }",
    "constexpr": "constexpr long f() { long x = 0; for (int i = 0; i < 200000; i++) for (int j = 0; j < 200000; j++) "
    "x += i ^ j; return x; } constexpr long v = f(); int main() {}",
    "macros": "#define A x,x,x,x,x,x,x,x\n#define x B,B,B,B,B,B,B,B\n#define B C,C,C,C,C,C,C,C\n"
    "#define C D,D,D,D,D,D,D,D\n#define D E,E,E,E,E,E,E,E\n#define E F,F,F,F,F,F,F,F\n#define F G,G,G,G,G,G,G,G\n"
    "#define G H,H,H,H,H,H,H,H\n#define H 1,1,1,1,1,1,1,1\nint a[] = {A}; int main() {}",
    "brackets": f"int x = {'(' * 300_000}1{')' * 300_000};" + MAIN,
    "a text that repeats": 'asm(".rept 100000\\n.rept 100000\\n.byte 1\\n.endr\\n.endr");' + MAIN,
    "a text that doubles": 'asm(".macro a x\\na \\\\x\\\\x\\n.endm\\na xxxxxxxx");' + MAIN,
    "vectors": "typedef int V __attribute__((vector_size(1 << 28))); V a, b; int main() { b = a * a + a / b; }",
    "noise": '#include "/dev/urandom"' + MAIN,
}


@pytest.mark.parametrize("name", SOURCES)
def test_odd_sources_end(box: Sandbox, name: str) -> None:
    begin = time.monotonic()
    found = run_cpp(box, SOURCES[name])
    assert found.status in ("CE", "OK", "RE", "MLE"), found
    assert time.monotonic() - begin < 30.0


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_source_that_never_ends_is_ended(box: Sandbox, name: str) -> None:
    begin = time.monotonic()
    assert compile_error(box, BOMBS[name])
    busy = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    assert time.monotonic() - begin < 30.0 * max(1.0, busy)


def test_a_compiler_that_waits_is_ended(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock counts for what no limit of processor time ends, and names it in the verdict."""
    monkeypatch.setattr(process, "_COMPILER", 0.6)
    monkeypatch.setattr(process, "_IDLE", 0.1)
    monkeypatch.setattr(waiting, "run_delay", lambda *_: waiting.RunDelay(0.0, False))
    assert "waits for something" in compile_error(box, BOMBS["templates"])
    monkeypatch.setattr(
        waiting, "run_delay", lambda *_: waiting.RunDelay(1e6, False)
    )  # the machine is busy, as the kernel says
    monkeypatch.setattr(waiting.WITNESS, "look", lambda _: (0.0, 0.0))  # which is not enough for an error
    monkeypatch.setattr(process, "_COMPILER", 0.7)
    assert "takes longer" in compile_error(box, BOMBS["templates"] + "//")


def test_a_source_over_the_limit_is_not_compiled(box: Sandbox) -> None:
    (found,) = box.run("//" + "x" * 100, [b""], Limits(source=50), language="cpp")
    assert (found.status, "the limit is 50" in found.detail) == ("CE", True)


def test_the_judge_takes_it() -> None:
    tests = [(f"{i} 1\n", f"{i + 1}\n") for i in range(9)]
    wrong = SUM.replace("a + b", "a - b")
    first, second, third = judge_many(
        [Job(SUM, tests, language="cpp"), Job(wrong, tests, language="cpp"), Job(SUM, tests)]
    )
    assert first.passed
    assert set(second.verdicts) == {"WA"}
    assert set(third.verdicts) == {"CE"}  # as Python; a cache that did not know the language would say accepted
    broken = judge("int main() { return x; }", tests, language="cpp")
    assert set(broken.verdicts) == {"CE"}
    assert "main.cpp:1:21" in broken.details[0]


def test_runs_are_kept_by_language() -> None:
    RUNS.clear()
    text = "#if 0\nprint(1)\n#endif\n#define f int main() {}\nf"  # means something in both
    assert run_program(text, language="cpp").status == "OK"
    assert run_program(text).status == "RE"
    assert run_program(text, language="cpp").status == "OK"


def test_a_function_is_called_in_python_only() -> None:
    with pytest.raises(JudgeError, match=r"written in Python, not in C\+\+"):
        judge("int f(int x) { return x; }", [("[1]", "1")], entry_point="f", language="cpp")
    with pytest.raises(JudgeError, match="expected one of 'python', 'cpp', got 'java'"):
        judge("class Main {}", [("", "")], language="java")  # type: ignore[arg-type]


def test_two_threads_compile_a_program_once() -> None:
    executables = compiled.Executables()
    built: list[str] = []

    def build() -> str:
        built.append("x")
        return "message"

    assert {executables.get(("full", b"key"), build) for _ in range(3)} == {"message"}
    assert built == ["x"]
    for i in range(200):
        executables.get(("full", str(i).encode()), build)
    assert len(executables._entries) <= 64


@given(st.binary(max_size=200))
def test_any_file_has_a_size_as_an_executable(content: bytes) -> None:
    for head in (content, b"\x7fELF" + bytes(28) + content):
        fd = os.memfd_create("image")
        try:
            os.write(fd, head)
            assert executable._size(fd) >= 0
        finally:
            os.close(fd)


def test_without_a_compiler_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    toolchain.toolchain.cache_clear()
    try:
        with Sandbox(1) as sandbox:
            with pytest.raises(SandboxUnsupported, match=r"install g\+\+"):
                sandbox.require("cpp")
            with pytest.raises(SandboxUnsupported, match=r"apt install g\+\+"):
                judge("int main() { return 1; }", [("", "")], language="cpp", sandbox=sandbox)
            assert_alive(sandbox)
            sandbox.require("python")
    finally:
        toolchain.toolchain.cache_clear()


def test_a_machine_with_a_compiler_has_the_language(box: Sandbox) -> None:
    box.require("cpp")
    assert run(box, "print(1)").status == "OK"


def test_it_talks_with_an_interactor(box: Sandbox) -> None:
    program = "#include <iostream>\nint main() { int a; while (std::cin >> a) std::cout << a + 1 << std::endl; }"
    interactor = "input()\nprint(41, flush=True)\nimport sys\nprint('AC' if input() == '42' else 'WA', file=sys.stderr)"
    checker = {"kind": "interactor", "source": interactor}
    assert judge(program, [("", "")], checker=checker, language="cpp", sandbox=box).verdicts == ("AC",)
    mute = program.replace("a + 1", "a + 2")
    assert judge(mute, [("", "")], checker=checker, language="cpp", sandbox=box).verdicts == ("WA",)
