"""Whole runs with pretrained models, as small as they can be."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from families import checkpoint

from rlanything_agents.config import RunConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.hooks import Hook
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train

LORA = {"rank": 2}


def settings(folder: Path, **changes: Any) -> RunConfig:
    """A run whose models lie in a folder; they are made if they are not there."""
    models = {}
    for role, name in (("policy", "qwen3"), ("judge", "llama3")):
        path = folder / f"{role}-{name}"
        if not path.exists():
            checkpoint(name, path, seed=len(role))
        models[role] = {"checkpoint": str(path), "dtype": "float32", "max_tokens": 12, "context": 4096}
    tree: dict[str, Any] = {
        "name": "chat",
        "seed": 7,
        "threads": 1,
        "iterations": 2,
        "policy": models["policy"],
        "reward_model": models["judge"],
        "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 2},
        "feedback": {"policy_band": None, "judge_band": None, "balance": False},
        "judge": {"votes": 4, "scope": "all"},
        "large_rates": True,
        "policy_trainer": {"learning_rate": 1e-3},
        "judge_trainer": {"learning_rate": 1e-4},
        "curriculum": {"pool_size": 2, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
        "evaluation": {"episodes": 2, "max_steps": 2, "judge_episodes": 2, "panels": ["valid_seen"]},
    }
    for key, value in changes.items():
        tree[key] = {**tree[key], **value} if isinstance(value, dict) and key in tree else value
    return RunConfig.model_validate(tree)


def run(config: RunConfig, folder: Path, hooks: Sequence[Hook] = ()) -> dict[str, Any]:
    """The summary of the finished run."""
    return train(config, RunFolder(folder), Reporter.silent(), command="rlanything train", hooks=hooks)
