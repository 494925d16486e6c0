"""A small model that sees, on real desktops, with the real vLLM on a processor; run by `test_train_seeing.py`."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from seen_desktops import config_file

from rlanything_agents.config import load_config
from rlanything_agents.runs.ahead import FILE, SCREENS
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train

sys.path.append(str(Path(__file__).parents[2] / "engines"))
from vllm_served import serving, training

os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}
HERE = {"engine": {"kind": "vllm", "gpu_memory_utilization": 0.1}}


@pytest.mark.parametrize("changes", [HERE, {"rollout": {"ahead": True}}], ids=["in this process", "servers, ahead"])
def test_both_models_learn_from_screens_that_vllm_read(
    tmp_path: Path, bwrap_desktop: object, changes: dict[str, Any]
) -> None:
    """The engines load the weights of each update, with a tower that is trained too, and are checked against them. On
    servers the second batch is played during the first updates, and its screens are in the checkpoint.
    """
    changes, ahead = {"policy": {"freeze_vision": False}, **changes}, "rollout" in changes
    with ExitStack() as stack:
        if ahead:
            config_file(tmp_path)
            more = ("--enable-scale-out", "--max-model-len", "3000")
            servers = {
                role: training(tmp_path / "model", role, tmp_path / role, more=more) for role in ("policy", "judge")
            }
            stack.enter_context(serving(*servers.values()))
            places = {role: {"base_url": server.base_url, "model": role} for role, server in servers.items()}
            changes["engine"] = {"kind": "vllm_server", **places}
        torch.set_num_threads(1)
        config = load_config(config_file(tmp_path, **changes))
        train(config, RunFolder(tmp_path / "run"), Reporter.silent(), command="rlanything train")
    rows = RunFolder(tmp_path / "run").rows()
    checkpoints = [tmp_path / "run" / "checkpoints" / f"{number:04d}" for number in (1, 2)]
    assert [row["iteration"] for row in rows] == [1, 2]
    assert all(row["feedback"]["masked"] == 0 for row in rows)
    assert [row["groups"]["ahead"] for row in rows] == ([0, 2] if ahead else [0, 0])
    assert all((checkpoints[0] / file).exists() is ahead for file in (FILE, SCREENS))
    for role in ("policy", "judge"):
        fresh = [row for row in rows if role == "judge" or not row["groups"]["ahead"]]
        assert all(row[role]["sampler_ratio"] < 1.01 for row in fresh), "vLLM and the trainer read the same screens"
        before, after = (load_file(folder / role / "model.safetensors") for folder in checkpoints)
        moved = {name for name in before if not torch.equal(before[name], after[name])}
        assert moved, role
        assert any(".visual." in name for name in moved) is (role == "policy")
