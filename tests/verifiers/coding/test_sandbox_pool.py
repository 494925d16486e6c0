"""The pool: limits, verdicts, lost workers, threads, forks, and nothing left behind."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox_attacks import run

from rlanything_verifiers.coding.sandbox import (
    Limits,
    Run,
    Sandbox,
    SandboxError,
    UnsafeSandbox,
    available_tiers,
    default_sandbox,
    pool,
)
from rlanything_verifiers.coding.sandbox.errors import WorkerLost
from rlanything_verifiers.coding.sandbox.limits import MIB

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

ADD = "print(sum(map(int, input().split())))"


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as sandbox:
        yield sandbox


def parents() -> dict[int, int]:
    """Running processes and their parents, from /proc."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if fields[0] != "Z":
                found[int(entry.name)] = int(fields[1])
    return found


def running() -> set[int]:
    return set(parents())


def children(pid: int) -> set[int]:
    return {child for child, parent in parents().items() if parent == pid}


def descendants(pid: int) -> set[int]:
    """Processes under a process."""
    known = parents()
    found: set[int] = set()
    while more := {p for p, parent in known.items() if parent in {pid, *found}} - found:
        found |= more
    return found


# ---- limits and verdicts


@pytest.mark.parametrize(
    "bad",
    [
        {"cpu": 0},
        {"cpu": -1.0},
        {"cpu": float("nan")},
        {"cpu": "4"},
        {"cpu": True},
        {"wall": 0},
        {"wall": float("inf")},
        {"memory": 1},
        {"memory": 1e9},
        {"output": -1},
        {"output": 1.5},
        {"source": -1},
    ],
)
def test_limits_out_of_range(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Limits(**bad)  # type: ignore[arg-type]


def test_wall_time_follows_processor_time() -> None:
    assert Limits(cpu=4.0).deadline == 22.0
    assert Limits(cpu=4.0, wall=3).deadline == 3.0


@pytest.mark.parametrize(
    ("program", "status", "exit_code", "number", "detail"),
    [
        ("print(1)", "OK", 0, None, ""),
        ("import sys; sys.exit()", "OK", 0, None, ""),
        ("import sys; sys.exit(3)", "RE", 3, None, "exit code 3"),
        ("import sys; sys.exit(256 + 7)", "RE", 7, None, "exit code 7"),
        ("import sys; sys.exit('no')", "RE", 1, None, "no"),
        ("import os; os.abort()", "RE", None, signal.SIGSEGV, "ended by SIGSEGV"),  # it may not even signal itself
        ("import os; os._exit(5)", "RE", 5, None, "exit code 5"),
        ("raise ValueError('x')", "RE", 1, None, "ValueError: x"),
        ("raise KeyboardInterrupt", "RE", 1, None, "KeyboardInterrupt"),
        ("1 +", "CE", None, None, 'File "main.py", line 1\n    1 +\nSyntaxError: invalid syntax'),
        ("x = bytearray(1 << 34)", "MLE", 1, None, "out of memory; the limit is 512 MiB"),
        ("import ctypes; ctypes.string_at(0)", "RE", None, signal.SIGSEGV, "ended by SIGSEGV"),
        ("import sys; sys.stdout.close()", "OK", 0, None, ""),
        ("import atexit; atexit.register(lambda: 1 / 0)", "OK", 0, None, ""),
        ("import threading; threading.Thread(target=lambda: 1 / 0).start()", "OK", 0, None, ""),
        ("", "OK", 0, None, ""),
    ],
)
def test_statuses(
    box: Sandbox, program: str, status: str, exit_code: int | None, number: int | None, detail: str
) -> None:
    found = run(box, program)
    assert (found.status, found.exit_code, found.signal, found.detail) == (status, exit_code, number, detail), found


def test_exit_codes_are_those_of_the_interpreter(box: Sandbox, tmp_path: Path) -> None:
    programs = [
        "raise SystemExit(None)",
        "raise SystemExit(True)",
        "raise SystemExit(-1)",
        "raise SystemExit([1])",
        "import sys; sys.stdout.close(); print(1)",
        "import atexit, os; atexit.register(os._exit, 9)",
        "import threading; threading.Thread(target=exit, args=(4,)).start()",
        "def f(): f()\nf()",
    ]
    for program in programs:
        file = tmp_path / "main.py"
        file.write_text(program)
        real = subprocess.run([sys.executable, str(file)], capture_output=True, check=False)
        found = run(box, program)
        assert (found.exit_code, found.stdout) == (real.returncode, real.stdout), (program, found, real)


def test_a_traceback_shows_the_program_alone(box: Sandbox) -> None:
    found = run(box, "def f():\n    return 1 / 0\nf()")
    assert found.stderr == (
        b"Traceback (most recent call last):\n"
        b'  File "main.py", line 3, in <module>\n'
        b'  File "main.py", line 2, in f\n'
        b"ZeroDivisionError: division by zero\n"
    )


def test_errors_show_no_path_of_this_machine(box: Sandbox) -> None:
    found = run(box, "import json, threading\ntry: open('/dev/stdin/x')\nexcept OSError: json.loads('[' + 'x' * 9)")
    assert 'File "json/decoder.py"' in found.stderr.decode()
    long = run(
        box,
        "import json\nfor _ in range(40):\n try: json.loads('[')\n except ValueError:\n"
        "  import traceback; traceback.print_exc()\njson.loads('[')",
    )
    for text in (found.stderr.decode(), long.stderr.decode()):
        assert "JSONDecodeError" in text
        assert not [line for line in text.splitlines() if line.strip().startswith('File "/')], text
        assert os.path.dirname(os.__file__) not in text  # noqa: PTH120


@pytest.mark.parametrize(
    "program",
    [
        "import mmap; mmap.mmap(-1, 1 << 40)",
        "import mmap\nkept = []\nwhile True: kept.append(mmap.mmap(-1, 16 << 20))",
        "x = bytearray(1 << 40)",
    ],
)
def test_memory_that_is_refused_is_over_the_limit(box: Sandbox, program: str) -> None:
    assert run(box, program).status == "MLE"


def test_a_worker_that_is_gone_did_not_answer_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def reset(_: object) -> object:
        raise ConnectionResetError(104, "Connection reset by peer")

    with Sandbox(1) as sandbox:
        run(sandbox, ADD, b"1")
        (worker,) = sandbox._all
        monkeypatch.setattr("rlanything_verifiers.coding.sandbox.messages.receive", reset)
        with pytest.raises(WorkerLost, match=r"the worker is gone.*reset"):
            worker.begin(b"pass", Limits())


def test_processor_time_is_measured_and_limited(box: Sandbox) -> None:
    spin = "import time\nend = float(input())\nwhile time.process_time() < end: pass"
    short, long = box.run(spin, [b"0.1", b"9"], Limits(cpu=0.5, wall=120.0))
    assert short.status == "OK"
    assert 0.1 <= short.cpu < 0.4
    assert long.status == "TLE"
    assert 0.5 <= long.cpu < 1.5
    assert long.wall >= 0.4


def test_time_of_all_threads_counts(box: Sandbox) -> None:
    """Hashing releases the interpreter's lock; four threads cannot use more than a limit of one."""
    program = """
import hashlib, threading
def work():
    while True: hashlib.sha256(b"x" * (1 << 20)).digest()
for _ in range(4): threading.Thread(target=work).start()
"""
    found = run(box, program, limits=Limits(cpu=0.4, wall=120.0))
    assert found.status == "TLE"
    assert found.cpu < 2.5


def test_sleeping_is_ended_by_the_clock(box: Sandbox) -> None:
    found = run(box, "import time; time.sleep(100)", limits=Limits(cpu=1.0, wall=0.3))
    assert found.status == "TLE_WALL"
    assert 0.3 <= found.wall < 30.0
    assert found.cpu < 0.3


def test_memory_limit_is_the_programs_own(box: Sandbox) -> None:
    program = "x = bytearray(int(input()) << 20); print(len(x) >> 20)"
    inputs = [b"20", b"150", b"300"]
    assert [r.status for r in box.run(program, inputs, Limits(memory=64 * MIB))] == ["OK", "MLE", "MLE"]
    assert [r.status for r in box.run(program, inputs, Limits(memory=256 * MIB))] == ["OK", "OK", "MLE"]


def test_a_stack_larger_than_the_memory_is_made_to_fit(box: Sandbox) -> None:
    program = """
import sys, threading
threading.stack_size(512 << 20)
sys.setrecursionlimit(1 << 20)
def depth(n): return n and 1 + depth(n - 1)
thread = threading.Thread(target=lambda: print(depth(100_000)))
thread.start()
"""
    assert run(box, program).stdout == b"100000\n"


def test_files_of_the_streams(box: Sandbox) -> None:
    program = "a = open('/dev/stdin').read(); open('/dev/stdout', 'w').write(a); print(a, file=open('/dev/null', 'w'))"
    assert run(box, program, b"x\n").stdout == b"x\n"
    unclosed = "out = open(1, 'w')\nout.write('written')"
    assert run(box, unclosed).stdout == b"written"


def test_the_environment_is_empty_and_the_same(box: Sandbox) -> None:
    program = (
        "import os, sys; print(sorted(os.environ), sys.argv, sys.path == [p for p in sys.path if 'site' not in p])"
    )
    expected = ["LC_ALL", "MALLOC_ARENA_MAX", "PYTHONHASHSEED", "PYTHONINTMAXSTRDIGITS", "PYTHONUTF8", "TZ"]
    assert run(box, program).stdout.decode() == f"{expected} ['main.py'] True\n"


def test_every_module_a_contest_may_ask_for(box: Sandbox) -> None:
    names = (
        "ssl sqlite3 lzma bz2 zlib hashlib uuid ctypes decimal zoneinfo unicodedata asyncio pickle csv xml.dom.minidom"
    )
    program = "import sys\nfor name in sys.stdin.read().split(): __import__(name)\nprint('ok')"
    found = run(box, program, names.encode())
    assert found.stdout == b"ok\n", found.stderr.decode()
    zone = "from zoneinfo import ZoneInfo; print(ZoneInfo('Europe/Paris'))"
    if Path("/usr/share/zoneinfo/Europe/Paris").exists():
        assert run(box, zone).stdout == b"Europe/Paris\n"


def test_inputs_of_any_size_and_content(box: Sandbox) -> None:
    data = bytes(range(256)) * 40_000
    program = "import sys\nd = sys.stdin.buffer.read()\nprint(len(d), d == bytes(range(256)) * 40_000)"
    assert run(box, program, data).stdout == b"10240000 True\n"
    assert run(box, "print(len(input()))", b"\xff\xfe\n").stdout == b"2\n"


# ---- one submission


def test_stop_leaves_out_the_rest(box: Sandbox) -> None:
    seen = []

    def stop(index: int, found: Run) -> bool:
        seen.append((index, found.status))
        return found.status != "OK"

    runs = box.run("print(1 // int(input()))", [b"1", b"1", b"0", b"1"], stop=stop)
    assert [r.status for r in runs] == ["OK", "OK", "RE"]
    assert seen == [(0, "OK"), (1, "OK"), (2, "RE")]
    assert run(box, ADD, b"1 2").stdout == b"3\n"


def test_an_error_in_stop_leaves_the_sandbox_usable(box: Sandbox) -> None:
    def stop(index: int, found: Run) -> bool:
        raise LookupError

    with pytest.raises(LookupError):
        box.run(ADD, [b"1", b"2"], stop=stop)
    assert run(box, ADD, b"1 2").stdout == b"3\n"


def test_inputs_are_bytes(box: Sandbox) -> None:
    with pytest.raises(TypeError, match="input 1 is str"):
        box.run(ADD, [b"1", "2"])  # type: ignore[list-item]


def test_every_input_of_a_broken_program_gets_a_run(box: Sandbox) -> None:
    assert [r.status for r in box.run("(", [b"", b"", b""])] == ["CE"] * 3
    assert box.run("(", []) == []


# ---- workers that are lost


def workers(sandbox: Sandbox) -> list[int]:
    return [worker._process.pid for worker in sandbox._all]  # type: ignore[attr-defined]


def test_a_worker_lost_between_submissions_is_replaced() -> None:
    with Sandbox(1) as sandbox:
        assert run(sandbox, ADD, b"1 2").stdout == b"3\n"
        for pid in workers(sandbox):
            os.kill(pid, signal.SIGKILL)
        assert run(sandbox, ADD, b"3 4").stdout == b"7\n"


def shoot(sandbox: Sandbox, losses: int) -> None:
    """Kill the worker of a sandbox, and the ones which take its place, in the middle of what they do."""
    shot: set[int] = set()
    end = time.monotonic() + 60.0
    while len(shot) < losses and time.monotonic() < end:
        time.sleep(0.3)
        for pid in set(workers(sandbox)) - shot:
            os.kill(pid, signal.SIGKILL)
            shot.add(pid)


def test_a_worker_lost_during_a_test_is_replaced_once_and_then_reported() -> None:
    with Sandbox(1) as sandbox:
        for losses, status in ((1, "OK"), (2, "IE")):
            run(sandbox, ADD, b"1")  # a warm worker
            shooter = threading.Thread(target=shoot, args=(sandbox, losses))
            shooter.start()
            runs = sandbox.run("import time; time.sleep(float(input())); print(1)", [b"2"], Limits(wall=60.0))
            shooter.join()
            assert [r.status for r in runs] == [status], runs
        assert runs[0].detail
        assert run(sandbox, ADD, b"1 2").stdout == b"3\n"


def test_workers_that_never_start_are_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> pool.Worker:
        raise SandboxError("no memory for a worker")

    with Sandbox(1) as sandbox:
        monkeypatch.setattr(sandbox, "_start", fail)
        runs = sandbox.run(ADD, [b"1", b"2"])
        assert [(r.status, r.detail) for r in runs] == [("IE", "no memory for a worker")] * 2
        monkeypatch.undo()
        assert run(sandbox, ADD, b"1 2").stdout == b"3\n"


JUDGE = """
import sys
sys.path[:] = {path!r}
from rlanything_verifiers.coding.sandbox import Sandbox, Limits
sandbox = Sandbox(1, tier={tier!r})
sandbox.run({warm!r}, [b""], language={language!r})
print("ready", flush=True)
sandbox.run({endless!r}, [b""], Limits(cpu=60.0), language={language!r})
"""
ENDLESS = {
    "python": ("print(1)", "while True: pass"),
    "cpp": (
        "int main() {}",  # the next one never gets beyond the compiler
        "template<int N, int M> struct T { static const long v = T<N-1, 2*M>::v + T<N-1, 2*M+1>::v; };"
        "template<int M> struct T<0, M> { static const long v = M; }; int main() { return T<26, 0>::v; }",
    ),
}


@pytest.mark.parametrize(
    ("language", "shot"), [("python", "killed"), ("cpp", "killed"), ("cpp", "terminated"), ("cpp", "worker killed")]
)
@pytest.mark.parametrize("tier", [None, "landlock"])
def test_everything_ends_with_the_judge(tier: str | None, language: str, shot: str, tmp_path: Path) -> None:
    """It, or a worker, is ended while a test or a compiler spins: no process and no file of the sandbox survives."""
    if language == "cpp" and shutil.which("g++") is None:
        pytest.skip("there is no program g++")
    warm, endless = ENDLESS[language]
    code = JUDGE.format(path=sys.path, tier=tier, warm=warm, endless=endless, language=language)
    tmp_path.chmod(0o777)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as judge:
        assert judge.stdout is not None
        assert judge.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        below = descendants(judge.pid)
        assert len(below) >= 2
        if shot == "worker killed":
            for pid in children(judge.pid):
                os.kill(pid, signal.SIGKILL)
            gone = below
        else:
            judge.send_signal(signal.SIGKILL if shot == "killed" else signal.SIGTERM)
            gone = {*below, judge.pid}
            judge.wait()
        end = time.monotonic() + 60.0
        while time.monotonic() < end and gone & running():
            time.sleep(0.05)
        assert not gone & running()
        judge.kill()
    assert list(tmp_path.iterdir()) == []
    assert not list(Path("/dev/shm").glob("rlanything*"))


# ---- several at once


def test_threads_share_the_workers() -> None:
    answers: dict[int, list[bytes]] = {}
    with Sandbox(2) as sandbox:

        def work(number: int) -> None:
            answers[number] = [r.stdout for r in sandbox.run(ADD, [f"{number} {i}".encode() for i in range(20)])]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(sandbox._all) <= 2
    assert answers == {n: [f"{n + i}\n".encode() for i in range(20)] for n in range(6)}


def test_closing_ends_what_runs() -> None:
    sandbox = Sandbox(1)
    caught: list[BaseException] = []

    def work() -> None:
        try:
            sandbox.run("while True: pass", [b""], Limits(cpu=60.0))
        except SandboxError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not sandbox._all:
        time.sleep(0.01)
    time.sleep(0.2)
    sandbox.close()
    sandbox.close()
    thread.join(20)
    assert not thread.is_alive()
    assert "closed" in str(caught[0])
    with pytest.raises(SandboxError, match="closed"):
        sandbox.run(ADD, [b"1"])


def test_a_forked_child_has_workers_of_its_own() -> None:
    sandbox = default_sandbox()
    assert run(sandbox, ADD, b"1 2").stdout == b"3\n"
    mine = set(workers(sandbox))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fine = run(default_sandbox(), ADD, b"3 4").stdout == b"7\n"
            status = 0 if fine and not mine & set(workers(default_sandbox())) else 2
            default_sandbox().close()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run(sandbox, ADD, b"5 6").stdout == b"11\n"
    assert set(workers(sandbox)) == mine
    assert default_sandbox() is sandbox


def test_a_sandbox_forgotten_ends_its_workers() -> None:
    sandbox = Sandbox(1)
    run(sandbox, ADD, b"1")
    (pid,) = workers(sandbox)
    del sandbox
    gc.collect()
    assert not Path(f"/proc/{pid}").exists()


# ---- arguments and tiers


@pytest.mark.parametrize(
    "bad", [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"tier": "best"}, {"backend": "vm"}]
)
def test_bad_arguments(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Sandbox(**bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("tier", ["seccomp", "none"])
def test_unsafe_tiers_need_a_word(tier: str) -> None:
    with pytest.raises(UnsafeSandbox, match="allow_unsafe"):
        Sandbox(1, tier=tier)  # type: ignore[arg-type]
    with Sandbox(1, tier=tier, allow_unsafe=True) as sandbox:  # type: ignore[arg-type]
        assert sandbox.tier == tier
        assert run(sandbox, ADD, b"1 2").stdout == b"3\n"


def test_the_best_tier_is_taken() -> None:
    tiers = available_tiers()
    assert list(tiers) == ["full", "landlock", "seccomp", "none"]
    best = next(tier for tier, reason in tiers.items() if reason is None)
    with Sandbox(1, allow_unsafe=True) as sandbox:
        assert sandbox.tier == best


def test_elsewhere_docker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="backend='docker'"):
        Sandbox(1)


# ---- nothing left behind


def memory(pid: int) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def leak_check(programs: int) -> None:
    mixture = [
        (ADD, b"1 2", "OK"),
        ("import threading; threading.Thread(target=print).start()", b"", "OK"),
        ("1 / 0", b"", "RE"),
        ("print('x' * 100_000)", b"", "OK"),
        ("(", b"", "CE"),
        ("import os; os.pipe(); os.fork()", b"", "RE"),
        ("print(len(input()))", b"y" * 100_000, "OK"),
    ]
    with Sandbox(1) as sandbox:
        for program, data, _ in mixture * 20:
            run(sandbox, program, data)
        gc.collect()
        judge = os.getpid()
        inside = descendants(workers(sandbox)[0])
        before = (workers(sandbox), inside, sorted(os.listdir("/proc/self/fd")))  # noqa: PTH208
        files = {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in inside}  # noqa: PTH208
        resident = {pid: memory(pid) for pid in (judge, *inside)}
        for i in range(programs):
            program, data, status = mixture[i % len(mixture)]
            found = run(sandbox, program, data)
            assert found.status == status, (i, found)
        gc.collect()
        assert (workers(sandbox), descendants(workers(sandbox)[0]), sorted(os.listdir("/proc/self/fd"))) == before  # noqa: PTH208
        assert {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in inside} == files  # noqa: PTH208
        grown = {pid: memory(pid) - size for pid, size in resident.items()}
        assert max(grown.values()) < 2 * MIB, grown
    end = time.monotonic() + 20.0  # what a worker leaves dies with it, but is buried by init
    while (left := [pid for pid in inside if Path(f"/proc/{pid}").exists()]) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def test_nothing_leaks() -> None:
    leak_check(210)


@pytest.mark.slow
def test_nothing_leaks_in_thousands_of_programs() -> None:
    leak_check(4_000)
