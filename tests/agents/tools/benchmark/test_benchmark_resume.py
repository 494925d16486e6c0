"""A benchmark that is interrupted in any way goes on to what it would have come to; other benchmarks stay out."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from benchmark_parts import timeless
from hypothesis import given
from hypothesis import strategies as st
from json_values import JSON
from kills import killed_after
from waiting import until

from rlanything_agents.tools.benchmark.episode import Result
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.record import ResultFolder
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_envs.llm.budget import Usage
from rlanything_task_pools.panel import Panel, load_panel

SLOW_AGENT = """
import time
from pathlib import Path
import numpy as np
class Agent:
    def start(self, episode):
        self.rng = np.random.default_rng(episode["seed"])
    def act(self, messages):
        if Path("slow").exists():
            time.sleep(0.03)
        return ["look", "inventory", "go to cabinet 1", "go to bed 1"][self.rng.integers(4)]
"""


def slow_benchmark(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    """One that takes its time, in a process of its own that has played two episodes."""
    (tmp_path / "slow_agent.py").write_text(SLOW_AGENT)
    (tmp_path / "slow").touch()
    started = subprocess.Popen(
        [sys.executable, "-m", "rlanything_agents", "benchmark", "--agent", "python:slow_agent:Agent", *options],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    lines, end = tmp_path / "out" / "results.jsonl", time.monotonic() + 120
    while (not lines.exists() or lines.read_bytes().count(b"\n") < 2) and time.monotonic() < end:
        time.sleep(0.01)
    return started


def test_a_killed_benchmark_goes_on_to_the_same_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = slow_benchmark(tmp_path, "--panel", "alfworld-easy", "--limit", "12", "--workers", "2", "--out", "out")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    lines = tmp_path / "out" / "results.jsonl"
    before = lines.read_bytes()
    assert 2 <= before.count(b"\n") < 12, "it was killed in the middle"
    with lines.open("ab") as file:
        file.write(b'{"group": "", "task": "alf')  # as a kill within a write would leave it

    (tmp_path / "slow").unlink()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    panel = load_panel("alfworld-easy", 12)
    resumed = run_benchmark(panel, "python:slow_agent:Agent", tmp_path / "out", workers=2)
    assert lines.read_bytes().startswith(before[: before.rfind(b"\n") + 1]), "what was there is not played again"
    unbroken = run_benchmark(panel, "python:slow_agent:Agent", tmp_path / "unbroken")
    assert timeless(resumed) == timeless(unbroken)
    stored = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("out", "unbroken")]
    assert timeless(stored[0]) == timeless(stored[1])
    assert stored[0]["left"] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_keeps_what_is_done_and_says_how_to_resume(number: int, code: int, tmp_path: Path) -> None:
    stopped = slow_benchmark(tmp_path, "--panel", "alfworld-easy", "--limit", "40", "--workers", "4", "--out", "out")
    lines = tmp_path / "out" / "results.jsonl"
    stopped.send_signal(number)
    told = stopped.communicate(timeout=60)[1]
    assert stopped.returncode == code
    assert "the same command resumes" in told
    assert "Traceback" not in told
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    played = lines.read_bytes().count(b"\n")
    assert 2 <= played < 40
    assert (kept["total"]["episodes"] + kept["total"]["errors"], kept["left"] >= 40 - played) == (played, True)
    assert "have no outcome yet" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_workers_end_with_a_killed_benchmark(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from rlanything_task_pools.panel import load_panel\n"
        "from rlanything_agents.tools.benchmark.runner import run_benchmark\n"
        "if __name__ == '__main__':\n"
        f"    run_benchmark(load_panel('alfworld-easy', 40), 'random', Path({str(tmp_path / 'out')!r}), episodes=500,"
        " workers=2)\n"
    )
    (tmp_path / "main.py").write_text(code)
    killed = subprocess.Popen([sys.executable, str(tmp_path / "main.py")], start_new_session=True)
    lines = tmp_path / "out" / "results.jsonl"
    until(lambda: lines.exists() and lines.stat().st_size)
    children = _children(killed.pid)
    killed.kill()
    killed.wait()
    assert len(children) >= 2
    until(lambda: not [child for child in children if Path(f"/proc/{child}").exists()], 30)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_other_settings_are_refused(games: Panel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run_benchmark(games, "expert", out, workers=1)
    with pytest.raises(BenchmarkError, match="agent: was 'expert', now 'random'"):
        run_benchmark(games, "random", out)
    with pytest.raises(BenchmarkError, match=f"hash: was '{games.hash}'"):
        run_benchmark(load_panel("alfworld-easy", 3), "expert", out)
    with pytest.raises(BenchmarkError, match="episodes: was 1, now 2"):
        run_benchmark(games, "expert", out, episodes=2)
    assert timeless(run_benchmark(games, "expert", out)) == timeless(first)
    assert run_benchmark(games, "random", out, restart=True, workers=1)["agent"] == "random"


def test_folders_of_others_are_left_alone(games: Panel, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for restart in (False, True):
        with pytest.raises(BenchmarkError, match="not the folder of a benchmark"):
            run_benchmark(games, "expert", tmp_path, restart=restart)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(BenchmarkError, match="is a file"):
        run_benchmark(games, "expert", tmp_path / "notes.txt")
    with (
        ResultFolder.open(tmp_path / "out", {}),
        pytest.raises(BenchmarkError, match="another process"),
        ResultFolder.open(tmp_path / "out", {}),
    ):
        pass


@pytest.mark.parametrize("deletions", range(1, 9))
def test_a_killed_restart_begins_again(tmp_path: Path, deletions: int) -> None:
    with ResultFolder.open(tmp_path / "out", {"a": 1}) as folder:
        folder.claim({"a": 1})
        for name in ("results.jsonl", "prompts.jsonl", "results.json", "report.html"):
            (folder.path / name).touch()
        (folder.path / "episodes").mkdir()
        (folder.path / "episodes" / "0.json").touch()

    def restart() -> None:
        with ResultFolder.open(tmp_path / "out", {"a": 2}, restart=True):
            pass

    killed_after(deletions, restart)
    assert not (tmp_path / "out" / "results.jsonl").exists(), "results count no longer once anything else is gone"
    for again in (False, True):
        with ResultFolder.open(tmp_path / "out", {"a": 1}, restart=again):
            pass


def test_a_benchmark_killed_while_it_claims_its_folder_begins_again(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in ("lock", "benchmark.json.123.part"):
        (tmp_path / "out" / name).touch()
    with ResultFolder.open(tmp_path / "out", {}):
        assert [found.name for found in (tmp_path / "out").iterdir()] == ["lock"]
    (tmp_path / "out" / "film.mp4.part").touch()
    with pytest.raises(BenchmarkError, match="not the folder"), ResultFolder.open(tmp_path / "out", {}, restart=True):
        pass


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        '{"task": "t"}',
        json.dumps({**Result("", "t", 0, 1, 1.0, 1, None, 0.1).to_dict(), "outcome": 2}),
    ],
)
def test_a_spoiled_line_is_named(games: Panel, tmp_path: Path, line: str) -> None:
    run_benchmark(games, "expert", tmp_path / "out", workers=1)
    with (tmp_path / "out" / "results.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(BenchmarkError, match=r"results\.jsonl, line 5: "):
        run_benchmark(games, "expert", tmp_path / "out", workers=1)


@given(
    st.sampled_from(
        ["group", "task", "episode", "outcome", "score", "steps", "usage", "seconds", "error", "readable", ""]
    ),
    JSON,
)
def test_a_result_is_read_or_refused(field: str, value: object) -> None:
    record = Result("root", "t", 1, -1, 0.5, 3, Usage(2, 3), 0.25, "").to_dict()
    assert Result.from_json(json.dumps(record).encode()).to_dict() == record
    record = {**record, field: value} if field else value
    try:
        read = Result.from_json(json.dumps(record).encode())
    except BenchmarkError:
        return
    assert json.loads(json.dumps(read.to_dict())) == json.loads(json.dumps(record))
    assert read.outcome in (1, -1, None)


def test_a_lock_outlives_nobody(games: Panel, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lock").write_text(str(os.getpid()))
    assert run_benchmark(games, "expert", tmp_path / "out", workers=1)["left"] == 0
