"""A machine with more to do than it has cores: waiting for one is not the program's time."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sandbox_attacks import ATTACKS, patient, run

from rlanything_verifiers.coding.sandbox import Limits, Sandbox, process, waiting

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

SPIN = "import time\nend = float(input())\nwhile time.process_time() < end: pass\nprint('done')"
POOL = """
from concurrent.futures import ThreadPoolExecutor
import time
end = float(input())
def work(_):
    while time.process_time() < end: pass
with ThreadPoolExecutor(4) as pool: list(pool.map(work, range(8)))
print("done")
"""
DEEP = f"""
import threading
def main():
    exec({SPIN!r})
thread = threading.Thread(target=main)
thread.start()
thread.join()
"""
SLEEP = "import time; time.sleep(1000)"
NAP = "import time\nfor _ in range(1000): time.sleep(0.01)"


@pytest.fixture
def box() -> Iterator[Sandbox]:
    with Sandbox(1) as sandbox:
        yield sandbox


def test_the_kernel_says_how_long_a_process_waited() -> None:
    cores = os.sched_getaffinity(0)
    burn = [sys.executable, "-S", "-c", "while True: pass"]
    try:
        os.sched_setaffinity(0, {min(cores)})  # of two processes on one core, each waits half of the time
        pair = [subprocess.Popen(burn) for _ in range(2)]
    finally:
        os.sched_setaffinity(0, cores)
    idle = subprocess.Popen(["sleep", "1000"])
    try:
        descriptors = [os.pidfd_open(child.pid) for child in (*pair, idle)]
        end = time.monotonic() + 30.0
        while time.monotonic() < end:
            time.sleep(0.2)
            found = [waiting.run_delay(descriptor, 60.0) for descriptor in descriptors]
            if found[0] and found[1] and min(found[0][0], found[1][0]) > 0.3:
                break
        assert found[0], found
        assert found[0][0] > 0.3, found
        assert found[0][1], found
        assert found[2] == (pytest.approx(0.0, abs=1.0), False), found
        pair[0].kill()
        pair[0].wait()
        assert waiting.run_delay(descriptors[0], 60.0) is None
    finally:
        for child in (*pair, idle):
            child.kill()
            child.wait()
        for descriptor in descriptors:
            os.close(descriptor)


CROWD = """
import hashlib, sys, threading, time
def work():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000)
    time.sleep(1000)
for _ in range(40): threading.Thread(target=work, daemon=True).start()
while time.process_time() < 0.5: time.sleep(0.1)
time.sleep(0.5)
print("done", flush=True)
time.sleep(1000)
"""


def test_threads_that_wait_for_each_other_wait_for_nobody() -> None:
    """Of forty threads on one core, each waits while another runs: seconds of delay, and none from outside."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(cores)})
        crowd = subprocess.Popen([sys.executable, "-S", "-c", CROWD], stdout=subprocess.PIPE)
    finally:
        os.sched_setaffinity(0, cores)
    begin = time.monotonic()
    descriptor = os.pidfd_open(crowd.pid)
    try:
        assert crowd.stdout is not None
        assert crowd.stdout.readline() == b"done\n"
        tasks = Path(f"/proc/{crowd.pid}/task").iterdir()
        delay = sum(int((task / "schedstat").read_text().split()[1]) for task in tasks) / 1e9
        elapsed = time.monotonic() - begin
        found = waiting.run_delay(descriptor, elapsed)
    finally:
        crowd.kill()
        crowd.communicate()
        os.close(descriptor)
    assert delay > 3.0
    assert found is not None
    assert found[0] <= elapsed - 0.5  # whatever else runs on that core
    assert found[0] < delay / 2


def test_the_witness_runs_while_it_is_wanted() -> None:
    witness = waiting.Witness()
    witness.look(1.0)
    time.sleep(1.5)
    ran, _ = witness.look(0.0)
    assert ran > 0.0
    time.sleep(0.5)
    assert witness.look(0.0)[0] - ran < 0.2


def test_what_a_program_waited_is_added_to_its_time(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "run_delay", lambda *_: waiting.RunDelay(1.2, False))
    found = run(box, SLEEP, limits=Limits(wall=0.3))
    assert found.status == "TLE_WALL"
    assert 1.5 <= found.wall < 20.0
    assert run(box, "import time; time.sleep(0.8); print(1)", limits=Limits(wall=0.3)).status == "OK"


@pytest.mark.parametrize(("share", "status"), [(0.01, "IE"), (0.3, "TLE_WALL"), (None, "TLE_WALL")])
def test_only_the_witness_says_that_the_machine_is_overloaded(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, share: float | None, status: str
) -> None:
    """A program that always waits, on a machine that gives a hundredth of a core, a third, or does not say."""
    times = iter([(0.0, 0.0), *((share or 0.0, 1.0 - share if share else 0.0) for _ in range(1000))])
    monkeypatch.setattr(waiting, "run_delay", lambda *_: waiting.RunDelay(1e6, False))
    monkeypatch.setattr(waiting.WITNESS, "look", lambda _: next(times))
    found = run(box, SLEEP, limits=Limits(wall=0.1))
    assert found.status == status
    assert (status == "IE") == ("overloaded" in found.detail)
    assert 1.0 <= found.wall < 20.0
    assert run(box, "print(1)").stdout == b"1\n"


def test_patience_is_exceeded_by_no_more_than_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "run_delay", lambda *_: waiting.RunDelay(1e6, False))
    with Sandbox(1) as sandbox:
        run(sandbox, "print(1)")
        (worker,) = sandbox._all
        assert worker._more_time(0, 999.9, Limits(wall=100.0)) == process._STEP  # type: ignore[attr-defined]
        assert worker._more_time(0, 1000.1, Limits(wall=100.0)) == 0.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("answer", [None, waiting.RunDelay(0.0, True), waiting.RunDelay(0.0, False)])
def test_a_sleeper_gains_nothing(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, answer: waiting.RunDelay | None
) -> None:
    """Where the kernel says nothing, and where it is awake whenever it is looked at, which is no waiting either."""
    monkeypatch.setattr(waiting, "run_delay", lambda *_: answer)
    found = run(box, SLEEP, limits=Limits(wall=0.3))
    assert found.status == "TLE_WALL"
    assert found.wall < 0.7 + process._STEP * 4 + 10.0


@contextmanager
def busy(number: int, on: int = 2) -> Iterator[None]:
    """Processes that compute, on two cores or one, where all that is started meanwhile runs too."""
    cores = os.sched_getaffinity(0)
    others: list[subprocess.Popen[bytes]] = []
    try:
        os.sched_setaffinity(0, set(sorted(cores)[:on]))
        others += [
            subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], start_new_session=True)
            for _ in range(number)
        ]
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.parametrize("others", [0, 4])
def test_no_program_is_an_error_of_the_machine(tier: str, others: int) -> None:
    """Alone and with two others a core, a program that waits, by itself or by its threads, is ended by its limits."""
    with busy(others), Sandbox(1, tier=tier) as sandbox:  # type: ignore[arg-type]
        for name in ("crowd", "crowd_locked", "naps", "yields"):
            found = patient(run, sandbox, ATTACKS[name], b"", Limits(cpu=1.0, wall=0.3))
            assert found.status in ("TLE_WALL", "TLE"), (name, found)


@pytest.mark.slow
def test_a_machine_that_gives_nobody_a_core_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that only computes gets a sixteenth of a core; one that sleeps is ended by its limit all the same."""
    monkeypatch.setattr(waiting, "WITNESS", waiting.Witness())
    with Sandbox(1) as sandbox:
        with busy(0, on=1):
            run(sandbox, "print(1)")
        with busy(15, on=1):
            found = run(sandbox, SPIN, b"0.3", Limits(cpu=0.4, wall=0.1))
            assert (found.status, "overloaded" in found.detail) == ("IE", True), found
            assert run(sandbox, SLEEP, limits=Limits(cpu=0.4, wall=0.1)).status == "TLE_WALL"


@pytest.mark.slow
def test_no_wrong_verdict_on_a_busy_machine(tier: str) -> None:
    """16 programs at once on two cores where 15 others compute as well."""
    programs = [
        *[(SPIN, b"0.2", "OK")] * 300,
        *[(POOL, b"0.2", "OK")] * 50,
        *[(DEEP, b"0.2", "OK")] * 50,
        *[(SPIN, b"1e9", "TLE")] * 40,
        *[(SLEEP, b"", "TLE_WALL")] * 30,
        *[(NAP, b"", "TLE_WALL")] * 30,
    ]
    order = sorted(range(len(programs)), key=lambda i: i * 7919 % len(programs))
    wrong: Counter[str] = Counter()
    with busy(15), Sandbox(16, tier=tier) as sandbox, ThreadPoolExecutor(16) as threads:  # type: ignore[arg-type]

        def one(i: int) -> None:
            program, data, status = programs[i]
            (found,) = sandbox.run(f"{program}\n# {i}", [data], Limits(cpu=0.4, wall=1.5))
            if found.status != status:
                wrong[f"{found.status} for {status}: {found.detail}"] += 1

        list(threads.map(one, order))
    assert not wrong
