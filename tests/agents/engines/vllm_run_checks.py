"""Whole runs on the real vLLM, on a processor, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import vllm_models  # noqa: F401 (sets variables of the environment)
from chat_runs import LORA, run, settings
from families import checkpoint
from vllm_served import serving, training

from rlanything_agents.config import RunConfig
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


def test_engines_in_this_process(tmp_path: Path) -> None:
    engine = {"kind": "vllm", "enforce_eager": True, "max_num_seqs": 16}
    run(sized(tmp_path / "models", engine=engine), tmp_path / "run")
    both_learnt(tmp_path / "run")


def test_a_window_of_turns_and_one_base_for_both_models(tmp_path: Path) -> None:
    config = sized(
        tmp_path / "models",
        policy={"lora": LORA},
        rollout={"max_steps": 4, "history": 1},
        engine={"kind": "vllm", "enforce_eager": True, "max_num_seqs": 16},
    )
    shared = {"base": "policy", "max_tokens": 12, "context": 4096}
    run(RunConfig.model_validate({**config.model_dump(mode="json"), "reward_model": shared}), tmp_path / "run")
    both_learnt(tmp_path / "run")


@pytest.mark.parametrize("ahead", [False, True], ids=["in-turn", "ahead"])
def test_engines_on_servers(tmp_path: Path, ahead: bool) -> None:
    config = sized(tmp_path / "models", rollout={"ahead": ahead})
    servers = {
        role: training(model.checkpoint, role, tmp_path / f"{role}.log")  # type: ignore[union-attr]
        for role, model in (("policy", config.policy), ("judge", config.reward_model))
    }
    engine = {"kind": "vllm_server"} | {
        role: {"base_url": server.base_url, "model": role} for role, server in servers.items()
    }
    with serving(*servers.values()):
        run(config.model_copy(update={"engine": type(config.engine).model_validate(engine)}), tmp_path / "run")
    both_learnt(tmp_path / "run")
