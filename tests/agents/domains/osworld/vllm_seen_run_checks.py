"""A small model that sees, on real desktops, with the real vLLM on a processor; run by `test_train_seeing.py`."""

import os
from pathlib import Path

import torch
from safetensors.torch import load_file
from seen_desktops import config_file

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train

os.environ |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}


def test_both_models_learn_from_screens_that_vllm_read(tmp_path: Path, bwrap_desktop: object) -> None:
    """Both engines load the weights of each update, with a tower that is trained too, and are checked against them."""
    file = config_file(
        tmp_path, engine={"kind": "vllm", "gpu_memory_utilization": 0.1}, policy={"freeze_vision": False}
    )
    torch.set_num_threads(1)
    train(load_config(file), RunFolder(tmp_path / "run"), Reporter.silent(), command="rlanything train")
    rows = RunFolder(tmp_path / "run").rows()
    assert [row["iteration"] for row in rows] == [1, 2]
    assert all(row["feedback"]["masked"] == 0 for row in rows)
    for role in ("policy", "judge"):
        assert all(row[role]["sampler_ratio"] < 1.01 for row in rows), "vLLM and the trainer read the same screens"
        before, after = (
            load_file(tmp_path / "run" / "checkpoints" / f"{number:04d}" / role / "model.safetensors")
            for number in (1, 2)
        )
        moved = {name for name in before if not torch.equal(before[name], after[name])}
        assert moved, role
        assert any(".visual." in name for name in moved) is (role == "policy")
