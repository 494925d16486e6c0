"""Real runs on disks that fill up and with files that were damaged: each ends as the one that nothing happened to."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from small_runs import config_file, small_run
from typer.testing import CliRunner

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.runs.train import train
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.doctor import examine_run
from rlanything_agents.tools.doctor.run import FIRST
from rlanything_task_pools import TaskPool


class Told(Reporter):
    """Keeps what was said."""

    def __init__(self) -> None:
        super().__init__(Reporter.silent().console)
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A copy of a finished run of two iterations whose last evaluation is yet to come."""
    copy = tmp_path / "alfworld"
    shutil.copytree(small_run("alfworld"), copy)
    (copy / "summary.json").unlink()
    (copy / "stages" / "after.json").unlink()
    return copy


def go_on(run: Path, tmp_path: Path) -> list[str]:
    told = Told()
    train(load_config(config_file("alfworld", tmp_path)), RunFolder(run), told, command="rlanything train")
    return told.lines


def what_a_run_came_to(run: Path) -> dict[str, Any]:
    """Everything but the time it took."""
    folder = RunFolder(run)
    with TaskPool.open(folder.pool) as pool:
        pooled = (pool.counts(), pool.events(), [(o.slot, o.outcome) for o in pool.outcomes()])
    weights = {
        (str(file.relative_to(run)), name): weight.tolist()
        for file in (run / "checkpoints" / "0002").rglob("*.safetensors")
        for name, weight in load_file(file).items()
    }
    stages = {
        name: {k: v for k, v in (folder.stage(name) or {}).items() if k != "seconds"}
        for name in ("warm_start", "before", "after")
    }
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in folder.rows()]
    return {"pool": pooled, "weights": weights, "stages": stages, "rows": rows}


def cut(name: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[:-50])


def flip(name: str) -> Callable[[Path], None]:
    """One bit in the middle: nothing but a hash sees it."""

    def breaking(run: Path) -> None:
        content = bytearray((run / name).read_bytes())
        content[len(content) // 2] ^= 1
        (run / name).write_bytes(content)

    return breaking


def garbage(name: str) -> Callable[[Path], None]:
    return lambda run: (run / name).write_bytes(b"\xa5" * 5000)


def no_row(run: Path) -> None:
    rows = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text(f"{rows[0][:40]}\n{rows[1]}\n")


slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("breaking", "broken", "said"),
    [
        (flip("checkpoints/0002/policy/model.safetensors"), "0002/policy/model", "going on after iteration 1"),
        slow(cut(f"checkpoints/0002/judge/{FIRST}"), f"0002/judge/{FIRST}", f"0002/judge/{FIRST}: it has"),
        slow(flip("checkpoints/0002/pool.sqlite"), "0002/pool.sqlite", "0002/pool.sqlite: its content has changed"),
        (garbage("pool.sqlite"), "pool.sqlite", ""),
        (no_row, "metrics.jsonl", ""),
        (cut("stages/before.json"), "stages/before.json", "the stage before is done again"),
        slow(flip("stages/before/judge_panel.json"), "before/judge_panel.json", "the stage before is done again"),
        (cut("trajectories/0002.jsonl.gz"), "trajectories/0002.jsonl.gz", "the report shows no episodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_damaged_run_ends_as_a_whole_one(
    run: Path, tmp_path: Path, breaking: Callable[[Path], None], broken: str, said: str
) -> None:
    breaking(run)
    named = [finding.topic for finding in examine_run(run) if finding.good is False]
    assert len(named) == 1
    assert broken in named[0]
    lines = go_on(run, tmp_path)
    assert said in " ".join(lines)
    assert what_a_run_came_to(run) == what_a_run_came_to(small_run("alfworld"))
    left = [finding.topic for finding in examine_run(run) if finding.good is False]
    assert left == (named if "trajectories" in broken else []), "what nothing reads again stays as it is"


@pytest.mark.slow
def test_a_damaged_warm_start_is_done_again(run: Path, tmp_path: Path) -> None:
    flip("stages/warm_start/policy/model.safetensors")(run)
    assert "the stage warm_start is done again" in " ".join(go_on(run, tmp_path))
    ours, theirs = (what_a_run_came_to(path) for path in (run, small_run("alfworld")))
    assert ours == theirs


def test_without_a_whole_checkpoint_nothing_is_thrown_away(run: Path, tmp_path: Path) -> None:
    for number in ("0001", "0002"):
        flip(f"checkpoints/{number}/policy/model.safetensors")(run)
    last = list(examine_run(run))[-1]
    assert (last.topic, last.good) == ("resume", False)
    assert "the loop begins again after the warm start" in last.remedy
    before = sorted(path.name for path in run.rglob("*"))
    code, output = invoke(run, tmp_path)
    assert code == 2
    assert "no checkpoint of" in output
    assert "restore one from a copy, or delete" in output
    assert set(before) <= {path.name for path in run.rglob("*")}


def invoke(run: Path, tmp_path: Path) -> tuple[int, str]:
    words = ["train", str(config_file("alfworld", tmp_path)), "--out", str(run)]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 MiB; skipped where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", place]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def leave(disk: Path, room: int) -> None:
    """Fill the disk but for so many bytes."""
    (disk / "ballast").unlink(missing_ok=True)
    free = shutil.disk_usage(disk).free
    with (disk / "ballast").open("wb") as file:
        file.write(b"\0" * max(0, free - room))


def test_a_disk_that_fills_up_again_and_again_costs_nothing_but_time(disk: Path, run: Path, tmp_path: Path) -> None:
    """Room is made in small steps, so that the run breaks at one writer after the other."""
    shutil.copytree(run, disk / run.name)
    shutil.rmtree(disk / run.name / "checkpoints" / "0002")
    target = disk / run.name
    stopped = []
    for room in (0, 3_000, 30_000, 100_000, 200_000):
        leave(disk, room)
        with pytest.raises(RunStopped, match="the same command resumes") as caught:
            go_on(target, tmp_path)
        assert caught.value.exit_code == 75
        stopped.append(str(caught.value))
        assert RunFolder(target).checkpoints.latest() == (1, target / "checkpoints" / "0001")
        assert not [path for path in target.rglob("*.part") if path.is_file()]
    assert all("No space left" in text or "make room" in text for text in stopped)
    (disk / "ballast").unlink()
    go_on(target, tmp_path)
    assert what_a_run_came_to(target) == what_a_run_came_to(small_run("alfworld"))


def test_a_read_only_folder_ends_with_a_line_and_a_code(disk: Path, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, disk / run.name)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    code, output = invoke(disk / run.name, tmp_path)
    assert code == 75
    assert "Read-only file system" in output
    assert "the same command resumes" in output
    assert "Traceback" not in output


def test_the_doctor_tells_it_as_json(run: Path) -> None:
    flip("checkpoints/0002/policy/model.safetensors")(run)
    result = CliRunner().invoke(app, ["doctor", str(run), "--json"])
    assert result.exit_code == 1
    found = {finding["topic"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert found["checkpoints/0002/policy/model.safetensors"]["said"] == "its content has changed"
    assert found["resume"]["state"] == "warning"
    assert found["resume"]["said"].startswith("after iteration 1; 1 later one(s) are played again")
