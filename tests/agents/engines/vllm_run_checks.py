"""Whole runs on the real vLLM, on a processor, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import vllm_models
import yaml
from chat_runs import GPUS, LORA, changes_in, command_in, made_tiny, run, settings
from families import checkpoint
from vllm_served import Served, serving, training

from rlanything_agents.config import RunConfig, load_config
from rlanything_agents.runs.folder import RunFolder


def sized(folder: Path, **changes: Any) -> RunConfig:
    """Two iterations of policy and judge, both with heads of 32 values, the fewest that vLLM takes on a processor."""
    for role, made, name in (("policy", "qwen2.5", "qwen3"), ("judge", "llama3", "llama3")):
        checkpoint(made, folder / f"{role}-{name}", seed=len(role), hidden=64)
    return settings(folder, **changes)


def both_learnt(folder: Path) -> None:
    """Assert that both models were updated on samples of each iteration, and that no request failed."""
    rows = RunFolder(folder).rows()
    assert len(rows) == 2
    for row in rows:
        assert row["behaviour"]["errors"] == 0
        assert row["curriculum"]["errors"] == 0
        for role in ("policy", "judge"):
            assert row[role]["optimizer_steps"] > 0
            assert row[role]["tokens"] > 0


def served(config: RunConfig, folder: Path) -> tuple[dict[str, Any], list[Served]]:
    """Settings of the engine, and a server of each model that is still to be started."""
    servers = {
        role: training(model.checkpoint, role, folder / f"{role}.log")  # type: ignore[union-attr]
        for role, model in (("policy", config.policy), ("judge", config.reward_model))
    }
    places = {role: {"base_url": server.base_url, "model": role} for role, server in servers.items()}
    return {"kind": "vllm_server", **places}, list(servers.values())


def test_engines_in_this_process(tmp_path: Path) -> None:
    engine = {"kind": "vllm"}
    run(sized(tmp_path / "models", engine=engine), tmp_path / "run")
    both_learnt(tmp_path / "run")


def test_a_window_of_turns_and_one_base_for_both_models(tmp_path: Path) -> None:
    config = sized(
        tmp_path / "models", policy={"lora": LORA}, rollout={"max_steps": 4, "history": 1}, engine={"kind": "vllm"}
    )
    shared = {"base": "policy", "max_tokens": 12, "context": 4096}
    run(RunConfig.model_validate({**config.model_dump(mode="json"), "reward_model": shared}), tmp_path / "run")
    both_learnt(tmp_path / "run")


@pytest.mark.parametrize("ahead", [False, True], ids=["in-turn", "ahead"])
def test_engines_on_servers(tmp_path: Path, ahead: bool) -> None:
    config = sized(tmp_path / "models", rollout={"ahead": ahead})
    engine, servers = served(config, tmp_path)
    with serving(*servers):
        run(config.model_copy(update={"engine": type(config.engine).model_validate(engine)}), tmp_path / "run")
    both_learnt(tmp_path / "run")


IN_PARTS = """
import os, runpy
os.environ |= {"ACCELERATE_TORCH_DEVICE": "cpu", "ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2",
               "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP", "FSDP_RESHARD_AFTER_FORWARD": "true"}
import accelerate, torch
# Accelerate shards models over accelerators only: here processors count as accelerators.
accelerate.PartialState._prepare_backend = lambda *_: ("gloo", accelerate.DistributedType.MULTI_GPU)
torch.distributed.init_process_group("gloo")
runpy.run_module("rlanything_agents", run_name="__main__")
"""


@pytest.mark.parametrize("name", ["smollm2", "qwen3-8b"])
def test_models_in_parts_with_engines_on_servers(tmp_path: Path, name: str) -> None:
    """FSDP2 on two processes, with SmolLM2, and as configs/gpu/qwen3-8b.yaml says for eight cards
    with a tiny Qwen3: servers get whole weights, and sampler and trainer agree.
    """
    if name == "smollm2":
        policy = {"checkpoint": str(vllm_models.smollm2()), "dtype": "float32", "max_tokens": 12, "context": 4096}
        config = sized(tmp_path / "models", policy=policy, policy_trainer={"learning_rate": 1e-5})
        engine, servers = served(config, tmp_path)
        (tmp_path / "run.yaml").write_text(yaml.safe_dump({**config.model_dump(mode="json"), "engine": engine}))
        words = [str(tmp_path / "run.yaml")]
    else:
        made = checkpoint("qwen3", tmp_path / "model", hidden=64)
        changes = changes_in(command_in(name, 8)) + made_tiny(name, {"policy": made, "reward_model": made})
        changes += ["iterations=2", "policy_trainer.learning_rate=1e-5"]
        config = load_config(GPUS / f"{name}.yaml", changes)
        engine, servers = served(config, tmp_path)
        changes += [f"engine.{role}={json.dumps(engine[role])}" for role in ("policy", "judge")]
        words = [str(GPUS / f"{name}.yaml"), *(f"--set={change}" for change in changes)]
    (tmp_path / "run.py").write_text(IN_PARTS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command += [str(tmp_path / "run.py"), "train", *words, "--out", str(tmp_path / config.name)]
    with serving(*servers):
        ended = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-4000:]
    both_learnt(tmp_path / config.name)
    for row in RunFolder(tmp_path / config.name).rows():
        assert row["policy"]["sampler_ratio"] < 1.01
