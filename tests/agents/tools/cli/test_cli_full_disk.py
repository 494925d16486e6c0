"""A full disk, a read-only folder, a limit on files: one line and exit code 75, whatever was about to be written."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from preloaded import Preloaded
from small_runs import small_run

ROOT = Path(__file__).parents[4]
CODE = "from rlanything_agents.tools.cli import main; main()"
TRY_LATER = 75
PANEL = ("--panel", "alfworld-easy", "--limit", "1")
COMMANDS = {
    "train": ["train", str(ROOT / "configs/quickstart.yaml"), "--out", "{place}/run"],
    "benchmark": ["benchmark", "--agent", "random", *PANEL, "--out", "{place}/results"],
    "audit": ["audit", *PANEL, "--out", "{place}/audit"],
    "export": ["export", "{run}", "--out", "{place}/table"],
    "export jsonl": ["export", "{run}", "--out", "{place}/table", "--format", "jsonl"],
    "export logs": ["export", "{run}", "--out", "{place}/logs", "--format", "inspect"],
    "view": ["view", "{run}", "--out", "{place}/pages"],
    "pool export": ["pool", "export", "{run}", "--out", "{place}/pool"],
    "pool import": ["pool", "import", "{exported}", "{place}/pool.sqlite"],
    "benchmark on": ["benchmark", "--agent", "random", *PANEL, "--out", "{place}/begun"],
    "train on": ["train", str(ROOT / "configs/quickstart.yaml"), "--out", "{place}/begun-run"],
}


def rlanything(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", CODE, *command], capture_output=True, text=True, timeout=300, check=False, **options
    )


def one_line(done: subprocess.CompletedProcess) -> None:
    said = [line for line in done.stderr.splitlines() if line.strip()]
    assert done.returncode == TRY_LATER, done.stderr[-3000:] + done.stdout[-500:]
    assert "Traceback" not in done.stderr
    assert said[-1].startswith("error: ")
    remedies = ("make room", "writable", "the right to write", "limit on the size", "look at the disk")
    assert any(remedy in said[-1] for remedy in remedies)


@pytest.fixture(scope="module")
def run() -> Path:
    return small_run("alfworld")


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "pool"
    done = rlanything(["pool", "export", str(run), "--out", str(folder)])
    assert done.returncode == 0, done.stderr
    return folder


@contextlib.contextmanager
def mounted(folder: Path, *more: str) -> Iterator[None]:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(["size=128k", *more]), "tmpfs", folder], check=False)
    if done.returncode:
        pytest.skip("this user cannot mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(params=["full", "read-only"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    with mounted(tmp_path):
        for name in ("begun", "begun-run"):
            (tmp_path / name).mkdir()
        if request.param == "full":
            with contextlib.suppress(OSError), (tmp_path / "filler").open("wb", buffering=0) as file:
                while file.write(b"x" * 4096):
                    pass
        else:
            subprocess.run(["mount", "-o", "remount,ro", tmp_path], check=True)
        yield tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_takes_nothing(place: Path, run: Path, exported: Path, name: str, preloaded: Preloaded) -> None:
    if name == "export logs":
        pytest.importorskip("inspect_ai")
    words = [word.format(place=place, run=run, exported=exported) for word in COMMANDS[name]]
    one_line(preloaded.run("-c", CODE, *words))


@pytest.mark.parametrize("name", ["pool import", "export", "benchmark", "view"])
def test_a_limit_on_files(tmp_path: Path, run: Path, exported: Path, name: str) -> None:
    """For any user; the limit is the shell's."""
    command = [word.format(place=tmp_path, run=run, exported=exported) for word in COMMANDS[name]]
    import resource

    done = rlanything(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
    one_line(done)


@pytest.mark.parametrize("wanted", [["pool", "verify", "{run}"], ["pool", "metrics", "{run}", "--json"]])
def test_nobody_reads_what_is_printed(run: Path, wanted: list[str]) -> None:
    command = [sys.executable, "-c", CODE, *(word.format(run=run) for word in wanted)]
    closed = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
    reading, writing = os.pipe()
    os.close(reading)
    left = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (left.returncode in (1, 141), left.stderr) == (True, ""), "no failed connection that a script tries again"


def test_what_is_printed_into_a_full_disk(run: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", CODE, "pool", "show", str(run), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"},
        )
    assert done.returncode == TRY_LATER
    assert "Traceback" not in done.stderr
    assert "make room" in done.stderr
