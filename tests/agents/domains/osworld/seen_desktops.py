"""A run of a small model that sees, on real desktops: as small as it can be, with everything that a run has."""

from pathlib import Path
from typing import Any

import yaml

from rlanything_agents.config import SmallConfig
from rlanything_agents.models.small import make_seeing_model

SIZE = SmallConfig(hidden_size=128, layers=2)
"""Heads of 32 values: the fewest that the attention of vLLM on processors takes."""
LINES = {"kinds": ["count_lines"], "difficulty": 0}


def config_file(folder: Path, **changes: Any) -> Path:
    """The settings of the run, as a file in a folder, with the folder of the model."""
    model = folder / "model"
    if not model.exists():
        make_seeing_model(model, SIZE, seed=0, image_tokens=48)
    checkpoint = {"checkpoint": str(model), "dtype": "float32", "max_tokens": 16, "context": 3000}
    tree: dict[str, Any] = {
        "name": "seeing",
        "domain": "osworld",
        "seed": 3,
        "threads": 1,
        "iterations": 2,
        "environment": {
            "backend": "bwrap",
            "observation": ["screenshot", "instruction", "message"],
            "action_space": "computer_use",
            "screen": [640, 480],
        },
        "policy": checkpoint,
        "reward_model": checkpoint,
        "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 3, "threads": 4, "history": 1},
        "feedback": {"policy_band": None, "judge_band": None, "balance": False},
        "judge": {"votes": 3},
        "policy_trainer": {"learning_rate": 1e-3},
        "judge_trainer": {"learning_rate": 1e-3},
        "large_rates": True,
        "curriculum": {"pool_size": 2, "knobs": LINES},
        "evaluation": {"episodes": 2, "max_steps": 1, "judge_episodes": 2, "panels": ["valid_seen"], "knobs": LINES},
    }
    for key, value in changes.items():
        tree[key] = {**tree[key], **value} if isinstance(value, dict) and key in tree else value
    file = folder / "seeing.yaml"
    file.write_text(yaml.safe_dump(tree))
    return file
