"""A run with a critic: it remembers earlier iterations, and an interrupted run comes to the same weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from small_runs import SHORT

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.hooks import Hook
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train, warm_up

TREE: dict[str, Any] = {
    **SHORT,
    "name": "critic",
    "iterations": 3,
    "feedback": {"credit": "critic", "baseline": "pooled", "judge_band": None},
}


class Killed(Exception):
    pass


class ByVotes(Hook):
    """Outcomes by a rule, since so small a policy solves nothing: an episode is solved that has the better votes."""

    def judged(self, groups: list[Any], iteration: int) -> list[Any]:
        found = []
        for group in groups:
            means = np.array([np.nanmean(votes) for votes in group.scores()])
            ends = np.where(means > np.median(means), 1, -1).tolist()
            trajectories = [replace(t, outcome=end) for t, end in zip(group.trajectories, ends, strict=True)]
            found.append(replace(group, trajectories=trajectories))
        return found


class Kill(Hook):
    """Ends the process, as it were, when the feedback of an iteration is known and before a model is updated."""

    def reviewed(self, review: Any, groups: Any, iteration: int) -> Any:
        if iteration == 3:
            raise Killed
        return review


def final(folder: Path) -> tuple[dict[str, torch.Tensor], list[Any]]:
    run = RunFolder(folder)
    path = run.checkpoints.final()
    assert path is not None
    return load_file(path / "policy" / "model.safetensors"), [row["feedback"] for row in run.rows()]


def test_an_interrupted_run_comes_to_the_same_weights(tmp_path: Path) -> None:
    warm_up(RunConfig.model_validate(TREE), RunFolder(tmp_path / "warm"), Reporter.silent())
    config = RunConfig.model_validate({**TREE, "warm_start": {"reuse": str(tmp_path / "warm")}})
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    train(config, RunFolder(straight), Reporter.silent(), command="test", hooks=[ByVotes()])
    with pytest.raises(Killed):
        train(config, RunFolder(killed), Reporter.silent(), command="test", hooks=[ByVotes(), Kill()])
    train(config, RunFolder(killed), Reporter.silent(), command="test", hooks=[ByVotes()])
    weights, feedback = final(straight)
    again, as_well = final(killed)
    assert all(torch.equal(weight, again[name]) for name, weight in weights.items())
    assert feedback == as_well
    assert all(0.8 <= row["lam"] <= 1 and 0 <= row["explained"] <= 1 for row in feedback)
    assert all(row["policy_samples"] for row in feedback[2:]), [row["explained"] for row in feedback]
    stored = load_file(RunFolder(straight).checkpoints.final() / "critic.safetensors")  # type: ignore[operator]
    assert sorted(name for name in stored if name.startswith("square")) == [f"square-{n}" for n in range(1, 4)]
    assert all(stored[f"square-{n}"].any() for n in (1, 2)), "and there is something to remember"
