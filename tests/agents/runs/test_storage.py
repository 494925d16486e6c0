"""Disks that are full, read-only or limited, for real: a typed error with a remedy, and nothing half-written."""

import errno
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.manifest import MANIFEST, damage, seal
from rlanything_agents.runs.storage import StorageError, storing, write_atomically


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes: what a full disk looks like, without one."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB; skipped where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# -- one file --------------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_content_and_says_what_to_do(small_disk: Path) -> None:
    file = small_disk / "before.json"
    write_atomically(file, "old")
    with pytest.raises(StorageError, match=r"before\.json cannot be written \(No space left.*make room") as caught:
        write_atomically(file, "x" * 200_000)
    assert isinstance(caught.value, OSError)
    assert (names(small_disk), file.read_text()) == (["before.json"], "old")
    write_atomically(file, "new")
    assert file.read_text() == "new"


def test_a_read_only_disk_is_told(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StorageError, match=r"Read-only file system\): make the file system writable"):
        write_atomically(small_disk / "a", "b")
    with pytest.raises(StorageError, match="Read-only"):
        RunFolder(small_disk / "run").prepare({})


def test_a_limit_on_the_size_of_files_is_told(tmp_path: Path) -> None:
    with files_of_at_most(1000), pytest.raises(StorageError, match=r"File too large\): raise the limit"):
        write_atomically(tmp_path / "a", "x" * 2000)
    assert names(tmp_path) == []


def test_libraries_that_write_for_themselves_are_understood(tmp_path: Path) -> None:
    def database() -> None:
        with closing(sqlite3.connect(tmp_path / "db")) as db:
            db.execute("CREATE TABLE t (a)")
            db.execute("INSERT INTO t VALUES (zeroblob(100000))")
            db.commit()

    weights = {"a": torch.zeros(10_000)}
    for write in (
        lambda: torch.save(weights, tmp_path / "a.pt"),
        lambda: save_file(weights, tmp_path / "a.safetensors"),
        database,
    ):
        place = storing(Path("checkpoints"))
        with files_of_at_most(4096), pytest.raises(StorageError, match=r"checkpoints cannot be written"), place:
            write()


@pytest.mark.parametrize(
    "error", [KeyError("a"), RuntimeError("shapes differ"), OSError(errno.ENOENT, "no file"), sqlite3.Error("locked")]
)
def test_other_errors_come_through(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, storing(Path("x")):
        raise error
    assert caught.value is error


# -- the writers of a run folder -------------------------------------------------------------------------------


def test_no_writer_of_a_run_folder_leaves_half_a_file(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.prepare({"a": 1})
    run.append_metrics({"iteration": 1})
    with run.checkpoints.write(1) as scratch:
        (scratch / "weights").write_text("one")
    before = names(run.path)
    big = {"iteration": 2, "text": "".join(chr(33 + k * k % 90) for k in range(5000))}

    def checkpoint() -> None:
        with run.checkpoints.write(2) as scratch:
            (scratch / "weights").write_text("x" * 5000)

    for write in (
        lambda: run.store_episodes(2, [{**big, "n": k, "more": str(k**999)} for k in range(9)]),
        lambda: run.finish_stage("after", big),
        checkpoint,
    ):
        with files_of_at_most(1500), pytest.raises(StorageError, match=r"cannot be written"):
            write()
        assert names(run.path) == before
    with files_of_at_most(1500), pytest.raises(StorageError, match=r"metrics\.jsonl"):
        run.append_metrics(big)
    assert [row["iteration"] for row in run.rows()] == [1], "a row cut short is none"
    assert run.checkpoints.latest() == (1, run.checkpoints.path / "0001")
    run.rewind(1)
    run.append_metrics({"iteration": 2})
    assert [row["iteration"] for row in run.rows()] == [1, 2]


# -- lists of files --------------------------------------------------------------------------------------------


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "0001"
    (folder / "policy").mkdir(parents=True)
    (folder / "policy" / "weights").write_bytes(bytes(range(256)) * 4)
    (folder / "pool").write_text("pool")
    seal(folder)
    return folder


def test_what_has_changed_is_named(sealed: Path) -> None:
    assert damage(sealed) == {}
    (sealed / "beside").touch()
    assert damage(sealed) == {}, "what is there besides does not count"
    weights = sealed / "policy" / "weights"
    content = bytearray(weights.read_bytes())
    content[500] ^= 1
    weights.write_bytes(content)
    (sealed / "pool").write_text("po")
    assert damage(sealed) == {"policy/weights": "its content has changed", "pool": "it has 2 bytes, and had 4"}
    weights.unlink()
    assert damage(sealed)["policy/weights"] == "missing"
    weights.symlink_to("/etc/hostname")
    assert damage(sealed)["policy/weights"] == "missing"


def test_a_folder_without_a_list_has_no_damage_that_could_be_told(tmp_path: Path) -> None:
    assert damage(tmp_path) == {}
    assert damage(tmp_path / "absent") == {}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"files": []}', '{"files": {"a": 1}}', '{"files": {"a": {"bytes": "x", "sha256": 1}}}', "[" * 9999,
     '{"files": {"../a": {"bytes": 1, "sha256": ""}}}', '{"files": {"/etc/passwd": {"bytes": 1, "sha256": ""}}}'],
)  # fmt: skip
def test_a_damaged_list_is_damage(sealed: Path, text: str) -> None:
    (sealed / MANIFEST).write_text(text)
    assert list(damage(sealed)) == [MANIFEST]
