"""A run folder holds whole files only, and belongs to one configuration."""

import json
from pathlib import Path

import pytest

from rlanything_agents.run_folder import RunFolder, RunFolderError


def test_another_configuration_is_refused_and_the_key_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert folder.prepare({"seed": 0, "rollout": {"tasks": 4}}) is False
    assert folder.prepare({"seed": 0, "rollout": {"tasks": 4}}) is True
    with pytest.raises(RunFolderError, match=r"rollout\.tasks"):
        folder.prepare({"seed": 0, "rollout": {"tasks": 5}})


def test_a_checkpoint_exists_only_when_it_is_complete(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    with folder.checkpoint(1) as scratch:
        (scratch / "weights").write_text("one")

    def half_written() -> None:
        with folder.checkpoint(2) as scratch:
            (scratch / "weights").write_text("half")
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        half_written()
    assert folder.latest_checkpoint() == (1, folder.checkpoints / "0001")
    folder.prepare({})
    assert [p.name for p in folder.checkpoints.iterdir()] == ["0001"], "the half-written one is swept away"


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare({})
    for iteration in range(1, 6):
        with folder.checkpoint(iteration) as scratch:
            (scratch / "weights").write_text(str(iteration))
    assert sorted(p.name for p in folder.checkpoints.iterdir()) == ["0004", "0005"]


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
