"""``python -m studies verifier``: votes in place of outcomes, on very small models."""

import json
from pathlib import Path

import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import load_file
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder
from studies.__main__ import app
from studies.plan import StudyError
from studies.start import join_start

ARMS = {
    "trained": {"meaning": "The judge is trained."},
    "ready": {"meaning": "It was before.", "judge_of": "trained", "config": {"judge": {"train": False}}},
}


@pytest.fixture(scope="module")
def file(micro_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    content = yaml.safe_load(micro_file.read_text())
    content["config"]["verifier"] = {"tasks": 2, "share": 0.5}
    content["config"]["curriculum"]["adapt"] = False
    content["config"]["evaluation"].update({"episodes": 8, "every": None})
    content |= {"variants": ARMS, "arms": ["trained", "ready"], "ladder": ["before", "trained"], "seeds": 1}
    content["baselines"], content["quick"]["arms"] = ["before"], ["trained"]
    path = tmp_path_factory.mktemp("verifier") / "micro.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_an_arm_begins_with_the_judge_that_another_ended_with(file: Path, tmp_path: Path) -> None:
    words = ["verifier", "--file", str(file), "--out", str(tmp_path), "--set", "iterations=2"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    runs = tmp_path / "runs" / "small" / "seed-0"
    ready, trained, before = (RunFolder(runs / arm) for arm in ("ready", "trained", "before"))

    def weights(folder: Path) -> dict[str, torch.Tensor]:
        return load_file(folder / "model.safetensors")

    end = trained.final_weights()
    assert end is not None
    began, ended = weights(ready.folder("warm_start") / "judge"), weights(end / "judge")
    assert all(torch.equal(began[name], ended[name]) for name in began)
    warm = weights(before.folder("warm_start") / "judge")
    assert not all(torch.equal(began[name], warm[name]) for name in began), "the judge was trained"
    policy, same = (weights(run.folder("warm_start") / "policy") for run in (before, ready))
    assert all(torch.equal(policy[name], same[name]) for name in policy)
    stages = {run.path.name: run.stage("after") for run in (ready, trained)}
    assert stages["ready"]["judge"] == stages["trained"]["judge"], "the same judge on the same trajectories"  # type: ignore[index]
    results = pd.read_parquet(tmp_path / "results.parquet")
    agreement = results[results.metric.isin(["precision", "recall"])]
    assert set(agreement.arm) <= {"ready", "trained"}
    assert agreement.value.between(0, 1).all()
    assert {json.loads(line)["verifier"]["hidden"] for line in ready.metrics.read_text().splitlines()} == {8}
    config = RunConfig.model_validate(ready.config())
    start = config.warm_start.model_copy(update={"reuse": tmp_path / "elsewhere"})
    elsewhere = config.model_copy(update={"warm_start": start})
    with pytest.raises(StudyError, match="no final reward model"):
        join_start(elsewhere, before, before)
