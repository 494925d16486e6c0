"""``train --restart`` deletes a run only when the new one can start."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder, RunFolderError
from rlanything_agents.runs.preflight import preflight
from rlanything_agents.tools.cli import app


@pytest.fixture
def old(tmp_path: Path) -> RunFolder:
    """A run of another seed."""
    folder = RunFolder(tmp_path / "runs" / "small")
    folder.prepare(RunConfig(name="small", seed=7).model_dump(mode="json"))
    return folder


def test_a_configuration_that_is_refused_deletes_nothing(tmp_path: Path, old: RunFolder) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("name: small\ndomain: chess\n")
    before = sorted(old.path.rglob("*"))
    result = CliRunner().invoke(app, ["train", str(file), "--out", str(old.path), "--restart"])
    assert result.exit_code != 0
    assert "chess" in result.output
    assert sorted(old.path.rglob("*")) == before


def test_a_restart_may_replace_a_run_of_another_configuration(old: RunFolder) -> None:
    config = RunConfig(name="small", seed=8)
    with pytest.raises(RunFolderError, match="seed"):
        preflight(config, old)
    preflight(config, old, restart=True)
