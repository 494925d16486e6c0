"""A run folder holds whole files only, and belongs to one configuration."""

import contextlib
import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kills import killed_after

from rlanything_agents.runs.folder import RunFolder, RunFolderError


def test_another_configuration_is_refused_and_the_key_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert folder.prepare({"seed": 0, "rollout": {"tasks": 4}}) is False
    assert folder.prepare({"seed": 0, "rollout": {"tasks": 4}}) is True
    with pytest.raises(RunFolderError, match=r"rollout\.tasks"):
        folder.prepare({"seed": 0, "rollout": {"tasks": 5}})


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A second one is refused, and may not delete the run either; the lock of a killed one is gone."""
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    program = "import sys, time; from pathlib import Path; from rlanything_agents.runs.folder import RunFolder\n"
    program += "with RunFolder(Path(sys.argv[1])).alone(): print('in', flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", program, str(folder.path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"in\n"
        with pytest.raises(RunFolderError, match="another process runs this run"), folder.alone():
            pass
        with pytest.raises(RunFolderError, match="another process runs this run"):
            folder.delete()
        other.kill()
    with folder.alone():
        pass
    folder.delete()
    assert not folder.path.exists()


def test_a_checkpoint_exists_only_when_it_is_complete(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    with folder.checkpoints.write(1) as scratch:
        (scratch / "weights").write_text("one")

    def half_written() -> None:
        with folder.checkpoints.write(2) as scratch:
            (scratch / "weights").write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        half_written()
    assert folder.checkpoints.latest() == (1, folder.checkpoints.path / "0001")
    folder.prepare({})
    assert [p.name for p in folder.checkpoints.path.iterdir()] == ["0001"], "the half-written one is swept away"


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    for iteration in range(1, 6):
        with folder.checkpoints.write(iteration) as scratch:
            (scratch / "weights").write_text(str(iteration))
    assert sorted(p.name for p in folder.checkpoints.path.iterdir()) == ["0004", "0005"]


def test_rewinding_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    for iteration in (1, 2, 3):
        folder.append_metrics({"iteration": iteration})
        (folder.trajectories / f"{iteration:04d}.jsonl.gz").touch()
    with folder.metrics.open("a") as file:
        file.write('{"iteration": 4, "cut sho')
    folder.rewind(2)
    assert [row["iteration"] for row in folder.rows()] == [1, 2]
    assert sorted(p.name for p in folder.trajectories.iterdir()) == ["0001.jsonl.gz", "0002.jsonl.gz"]


def test_a_damaged_stage_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    folder.finish_stage("before", {"a": 1})
    assert folder.stage("before") == {"a": 1}
    (folder.path / "stages" / "before.json").write_text("{")
    with pytest.raises(RunFolderError, match=r"before\.json is not valid JSON"):
        folder.stage("before")


def test_only_run_folders_are_deleted(tmp_path: Path) -> None:
    precious = tmp_path / "home"
    precious.mkdir()
    (precious / "letter").write_text("dear")
    with pytest.raises(RunFolderError, match="nothing was deleted"):
        RunFolder(precious).delete()
    assert json.dumps([p.name for p in precious.iterdir()]) == '["letter"]'
    RunFolder(tmp_path / "absent").delete()


# -- damage ----------------------------------------------------------------------------------------------------


def checkpointed(path: Path, iterations: int) -> RunFolder:
    folder = RunFolder(path)
    folder.prepare({})
    for iteration in range(1, iterations + 1):
        folder.append_metrics({"iteration": iteration, "value": iteration})
        with folder.checkpoints.write(iteration) as scratch:
            (scratch / "weights").write_text(str(iteration))
    return folder


def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "run", 3)
    (folder.checkpoints.path / "0003" / "weights").write_text("x")
    assert folder.checkpoints.latest() == (2, folder.checkpoints.path / "0002")
    with pytest.raises(RunFolderError, match=r"0003/weights is damaged.*start its run again"):
        folder.checkpoints.final()
    assert folder.checkpoints.damaged() == ["checkpoints/0003/weights: its content has changed"]
    (folder.checkpoints.path / "0002" / "weights").unlink()
    with pytest.raises(RunFolderError, match=r"no checkpoint .* is whole .*0002/weights: missing.*restore one"):
        folder.checkpoints.latest()


def test_metrics_come_back_from_the_checkpoint(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "run", 3)
    rows = folder.rows()
    folder.metrics.write_text('{"iteration": 1}\nnot a row\n')
    with pytest.raises(RunFolderError, match=r"metrics\.jsonl, line 2"):
        folder.rows()
    folder.rewind(3)
    assert folder.rows() == rows
    folder.metrics.unlink()
    folder.rewind(2)
    assert folder.rows() == rows[:2]


@pytest.mark.parametrize("line", ["[1]", '"a"', '{"iteration": "1"}', '{"iteration": true}', "[" * 9999, "\x00"])
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    folder = checkpointed(tmp_path / "run", 1)
    with folder.metrics.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(RunFolderError, match="line 2"):
        folder.rows()


def test_damaged_stages_are_forgotten_and_done_again(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "run", 1)
    for name in ("warm_start", "before"):
        (folder.folder(name) / "file").write_text(name)
        folder.finish_stage(name, {"a": 1})
    folder.finish_stage("after", {"a": 1})
    assert list(folder.drop_damaged_stages()) == []
    (folder.folder("warm_start") / "file").write_text("something else")
    (folder.path / "stages" / "after.json").write_text("{")
    after, warm = folder.drop_damaged_stages()
    assert "stage after is done again" in after
    assert "stages/warm_start/file" in warm
    assert [folder.stage(name) for name in ("warm_start", "before", "after")] == [None, {"a": 1}, None]
    assert not (folder.path / "stages" / "warm_start").exists()


def test_a_damaged_stage_is_not_taken_over(tmp_path: Path) -> None:
    source, run = checkpointed(tmp_path / "source", 1), checkpointed(tmp_path / "run", 1)
    (source.folder("warm_start") / "file").write_text("weights")
    source.finish_stage("warm_start", {"a": 1})
    run.adopt_stage(source, "warm_start")
    assert (run.folder("warm_start") / "file").read_text() == "weights"
    assert run.stage_damage("warm_start") == ""
    (source.folder("warm_start") / "file").write_text("w")
    with pytest.raises(RunFolderError, match=r"source, stages/warm_start/file.*start that run again"):
        run.adopt_stage(source, "warm_start")


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "run", 2)
    (folder.trajectories / "notes.txt").write_text("mine")
    (folder.trajectories / "0002.jsonl.gz.part").touch()
    folder.prepare({})
    folder.rewind(1)
    assert [path.name for path in folder.trajectories.iterdir()] == ["notes.txt"]


def test_a_damaged_configuration_says_how_to_go_on(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "run", 1)
    (folder.path / "config.json").write_text("{")
    with pytest.raises(RunFolderError, match="delete it: the command of this run writes it anew"):
        folder.prepare({})
    (folder.path / "config.json").unlink()
    assert folder.prepare({}) is False
    assert folder.checkpoints.latest() == (1, folder.checkpoints.path / "0001")


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b'{"iteration": 1}', b'{"iteration": 2}']), max_size=5))
def test_any_bytes_are_rows_or_a_named_error(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        folder.metrics.write_bytes(b"\n".join(lines))
        with contextlib.suppress(RunFolderError):  # and nothing else
            assert all(type(row["iteration"]) is int for row in folder.rows())


# -- deletion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deletions", [1, 2, 5, 9])
def test_a_killed_deletion_leaves_nothing_of_the_run(tmp_path: Path, deletions: int) -> None:
    folder = checkpointed(tmp_path / "run", 2)
    folder.finish_stage("warm_start", {"of": "the old run"})
    killed_after(deletions, folder.delete)
    assert not folder.path.exists()
    assert folder.prepare({"seed": 1}) is False
    assert (folder.stage("warm_start"), folder.checkpoints.latest(), folder.rows()) == (None, None, [])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("deletions", range(1, 6))
def test_a_damaged_stage_that_is_half_deleted_is_not_finished(tmp_path: Path, deletions: int) -> None:
    folder = checkpointed(tmp_path / "run", 1)
    for name in ("policy", "judge"):
        (folder.folder("warm_start") / name).write_text(name)
    folder.finish_stage("warm_start", {"a": 1})
    (folder.folder("warm_start") / "policy").write_text("broken")
    killed_after(deletions, lambda: list(folder.drop_damaged_stages()))
    assert (list(folder.drop_damaged_stages()), folder.stage("warm_start")) == ([], None)


@pytest.mark.parametrize("deletions", range(1, 9))
def test_a_checkpoint_that_is_half_deleted_is_none(tmp_path: Path, deletions: int) -> None:
    """A damaged one, which is written again, and one that is too old."""
    folder = checkpointed(tmp_path / "run", 3)
    (folder.checkpoints.folder(3) / "weights").write_text("broken")

    def write() -> None:
        with folder.checkpoints.write(3) as scratch:
            (scratch / "weights").write_text("3")
        with folder.checkpoints.write(4) as scratch:
            (scratch / "weights").write_text("4")

    killed_after(deletions, write)
    folder.prepare({})
    assert {iteration: (path / "weights").read_text() for iteration, path in folder.checkpoints.stored()} in (
        {2: "2"},
        {2: "2", 3: "3"},
        {2: "2", 3: "3", 4: "4"},
        {3: "3", 4: "4"},
    )


def test_a_run_that_begins_during_a_deletion_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, new, delete = checkpointed(tmp_path / "run", 2), RunFolder(tmp_path / "run"), shutil.rmtree

    def meanwhile(path: Path) -> None:
        monkeypatch.undo()
        with new.alone():
            new.prepare({"seed": 1})
            new.finish_stage("before", {"of": "the new run"})
        delete(path)

    monkeypatch.setattr(shutil, "rmtree", meanwhile)
    folder.delete()
    assert (new.config(), new.stage("before")) == ({"seed": 1}, {"of": "the new run"})
    assert new.checkpoints.latest() is None
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_lock_that_is_deleted_while_it_is_opened_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, lock = checkpointed(tmp_path / "run", 1), fcntl.flock

    def late(*arguments: Any) -> None:
        monkeypatch.undo()
        folder.delete()
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)
    with folder.alone(), pytest.raises(RunFolderError, match="another process runs this run"), folder.alone():
        pass


def test_a_run_stopped_before_its_configuration_is_stored_can_be_deleted(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.alone():
        (folder.path / "models").mkdir()
        (folder.path / "config.json.123.part").touch()
    folder.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_a_folder_stays(tmp_path: Path) -> None:
    folder = checkpointed(tmp_path / "disk" / "run", 1)
    (tmp_path / "link").symlink_to(folder.path)
    linked = RunFolder(tmp_path / "link")
    linked.delete()
    assert list((tmp_path / "disk").iterdir()) == []
    with linked.alone():
        assert linked.prepare({}) is False
    assert folder.config() == {}
