"""Whole runs on the real vLLM, on a processor, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chat_runs import run
from vllm_models import SIZE
from vllm_served import serving, training

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.copies import Role, checkpoint_of
from rlanything_agents.runs.folder import RunFolder

ROLES: tuple[Role, Role] = ("policy", "judge")


def settings(**changes: Any) -> RunConfig:
    """Two iterations of both models with brief texts, after a short imitation."""
    tree = {
        "name": "real",
        "seed": 7,
        "threads": 1,
        "iterations": 2,
        "environment": {"view": "short"},
        "policy": SIZE.model_dump(),
        "reward_model": SIZE.model_dump(),
        "warm_start": {"demonstrations": 48, "epochs": 2, "judge_steps": 64, "judge_epochs": 1},
        "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 3},
        "feedback": {"policy_band": None, "judge_band": None, "balance": False},
        "judge": {"votes": 4},
        "policy_trainer": {"learning_rate": 1e-3},
        "judge_trainer": {"learning_rate": 1e-3},
        "curriculum": {"pool_size": 2, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
        "evaluation": {"episodes": 2, "max_steps": 2, "judge_episodes": 2, "panels": ["valid_seen"]},
    }
    return RunConfig.model_validate(tree | changes)


def both_learnt(folder: Path) -> None:
    """Assert that both models were updated on samples of each iteration, and that no request failed."""
    rows = RunFolder(folder).rows()
    assert len(rows) == 2
    for row in rows:
        assert row["behaviour"]["errors"] == 0
        assert row["curriculum"]["errors"] == 0
        for role in ROLES:
            assert row[role]["optimizer_steps"] > 0
            assert row[role]["tokens"] > 0


def test_engines_in_this_process(tmp_path: Path) -> None:
    engine = {"kind": "vllm", "enforce_eager": True, "gpu_memory_utilization": 0.1, "max_num_seqs": 16}
    run(settings(engine=engine), tmp_path / "run")
    both_learnt(tmp_path / "run")


def test_engines_on_servers(tmp_path: Path) -> None:
    servers = {}
    for role in ROLES:
        folder = checkpoint_of(settings(), role, tmp_path / "served").checkpoint
        servers[role] = training(folder, role, tmp_path / f"{role}.log")
    engine = {"kind": "vllm_server"} | {
        role: {"base_url": server.base_url, "model": role} for role, server in servers.items()
    }
    with serving(*servers.values()):
        run(settings(engine=engine), tmp_path / "run")
    both_learnt(tmp_path / "run")
