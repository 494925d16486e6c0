"""A machine with more to do than it has cores: waiting for one is not the program's time."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sandbox_attacks import run

from rlanything_verifiers.coding.sandbox import Limits, Sandbox, available_tiers, process, waiting

if sys.platform != "linux":
    pytest.skip("worker processes need Linux", allow_module_level=True)

SPIN = "import time\nend = float(input())\nwhile time.process_time() < end: pass\nprint('done')"
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
            found = [waiting.waited(descriptor) for descriptor in descriptors]
            if found[0] and found[1] and min(found[0][0], found[1][0]) > 0.3:
                break
        assert found[0], found
        assert found[0][0] > 0.3, found
        assert found[0][1], found
        assert found[2], found
        assert found[2][0] < 1.0, found
        assert not found[2][1], found
        pair[0].kill()
        pair[0].wait()
        assert waiting.waited(descriptors[0]) is None
    finally:
        for child in (*pair, idle):
            child.kill()
            child.wait()
        for descriptor in descriptors:
            os.close(descriptor)


def test_what_a_program_waited_is_added_to_its_time(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "waited", lambda _: (1.2, False))
    found = run(box, SLEEP, limits=Limits(wall=0.3))
    assert found.status == "TLE_WALL"
    assert 1.5 <= found.wall < 20.0
    assert run(box, "import time; time.sleep(0.8); print(1)", limits=Limits(wall=0.3)).status == "OK"


def test_a_program_that_only_waits_is_no_verdict(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "waited", lambda _: (1e6, False))
    found = run(box, SLEEP, limits=Limits(wall=0.1))
    assert found.status == "IE"
    assert "overloaded" in found.detail
    assert found.wall >= 1.0
    assert run(box, "print(1)").stdout == b"1\n"


@pytest.mark.parametrize("answer", [None, (0.0, True), (0.0, False)])
def test_a_sleeper_gains_nothing(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch, answer: tuple[float, bool] | None
) -> None:
    """Where the kernel says nothing, and where it is awake whenever it is looked at, which is no waiting either."""
    monkeypatch.setattr(waiting, "waited", lambda _: answer)
    found = run(box, SLEEP, limits=Limits(wall=0.3))
    assert found.status == "TLE_WALL"
    assert found.wall < 0.7 + process._STEP * 4 + 10.0


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["full", "landlock"])
def test_no_wrong_verdict_on_a_busy_machine(tier: str) -> None:
    """16 programs at once on two cores where 15 others compute as well."""
    if (reason := available_tiers()[tier]) is not None:
        pytest.skip(f"tier {tier!r} does not work here: {reason}")
    programs = [
        *[(SPIN, b"0.2", "OK")] * 120,
        *[(SPIN, b"1e9", "TLE")] * 40,
        *[(SLEEP, b"", "TLE_WALL")] * 20,
        *[(NAP, b"", "TLE_WALL")] * 20,
    ]
    order = sorted(range(len(programs)), key=lambda i: i * 7919 % len(programs))
    cores = os.sched_getaffinity(0)
    others: list[subprocess.Popen[bytes]] = []
    wrong: Counter[str] = Counter()
    try:
        os.sched_setaffinity(0, set(sorted(cores)[:2]))
        others = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(15)]
        with Sandbox(16, tier=tier) as sandbox, ThreadPoolExecutor(16) as threads:  # type: ignore[arg-type]

            def one(i: int) -> None:
                program, data, status = programs[i]
                (found,) = sandbox.run(f"{program}\n# {i}", [data], Limits(cpu=0.4, wall=1.5))
                if found.status != status:
                    wrong[f"{found.status} for {status}: {found.detail}"] += 1

            list(threads.map(one, order))
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()
    assert not wrong
