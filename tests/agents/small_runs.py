"""Real runs of every domain, as small as they can be: one or two iterations of models that know next to nothing."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
import yaml
from families import checkpoint
from scripted_desktop import SCRIPTED

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train

SMALL = {"hidden_size": 32, "layers": 1}
COMMON: dict[str, Any] = {"seed": 3, "threads": 1, "iterations": 2, "policy": SMALL, "reward_model": SMALL}
SHORT: dict[str, Any] = {
    "seed": 7,
    "threads": 1,
    "policy": {"hidden_size": 16, "layers": 1},
    "reward_model": {"hidden_size": 16, "layers": 1},
    "warm_start": {"demonstrations": 60, "max_steps": 8, "epochs": 8, "batch_size": 8, "judge_steps": 60,
                   "judge_epochs": 1},
    "rollout": {"tasks": 3, "rollouts": 3, "max_steps": 8, "top_p": 0.95, "deadline": 600},
    "feedback": {"policy_band": None, "judge_band": None, "balance": False, "overlong": "mask"},
    "judge": {"votes": 2, "steps": 20, "scope": "all"},
    "policy_trainer": {"loss": "dapo", "clip_high": 0.28,
                       "importance_sampling_mode": "token_truncate"},
    "judge_trainer": {"clip": 0.1, "recompute": True},
    "curriculum": {"pool_size": 4, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
    "evaluation": {"episodes": 6, "max_steps": 8, "judge_episodes": 4, "panels": ["valid_seen"]},
}  # fmt: skip
"""A run in which everything happens that can go on after an interruption: tasks adapt, weights are held."""
LINES = {"kinds": ["edit_text"], "difficulty": 0}
STEPS = {"families": ["list_steps"], "levels": {"size": 8, "steps": 1}}
DOMAINS: dict[str, dict[str, Any]] = {
    "alfworld": {
        "warm_start": {"demonstrations": 40, "max_steps": 8, "epochs": 2, "judge_steps": 100, "judge_epochs": 1},
        "rollout": {"tasks": 4, "rollouts": 4, "max_steps": 6},
        "feedback": {"policy_band": None, "judge_band": None},
        "judge": {"votes": 3, "scope": "useful"},
        "curriculum": {"pool_size": 6, "acceptance": "paper",
                       "knobs": {"rooms": ["Bathroom"], "kinds": ["simple", "clean"]}},
        "evaluation": {"episodes": 8, "max_steps": 6, "judge_episodes": 4, "every": 1, "every_episodes": 6,
                       "panels": ["valid_seen", "valid_unseen"]},
    },
    "coding": {
        "warm_start": {"demonstrations": 200, "mistakes": 0.2, "epochs": 4, "judge_steps": 150, "judge_epochs": 2,
                       "learning_rate": 0.005, "label_noise": 0.2},
        "rollout": {"tasks": 3, "rollouts": 4, "max_steps": 1, "threads": 2},
        "judge": {"votes": 5, "train": True, "scope": "all"},
        "feedback": {"lam": 0, "policy_band": [0.1, 0.9], "judge_band": None},
        "curriculum": {"pool_size": 4, "acceptance": "paper", "knobs": STEPS},
        "evaluation": {"episodes": 6, "judge_episodes": 4, "max_steps": 1, "panels": ["valid_seen"], "knobs": STEPS},
    },
    "osworld": {
        "environment": SCRIPTED,
        "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 3, "screenshots": 4},
        "judge": {"votes": 2, "scope": "all"},
        "feedback": "masked",
        "curriculum": {"pool_size": 3, "acceptance": "paper", "operators": ["evaluator", "hints"], "knobs": LINES},
        "evaluation": {"episodes": 4, "judge_episodes": 4, "max_steps": 3, "panels": ["valid_seen"], "knobs": LINES},
    },
}  # fmt: skip


@cache
def small_run(domain: str) -> Path:
    """The folder of a finished run, played once a process; to be copied by whoever changes it."""
    home = Path(tempfile.mkdtemp(prefix="small-runs-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    run = RunFolder(home / domain)
    threads = torch.get_num_threads()
    train(load_config(config_file(domain, home)), run, Reporter.silent(), command="rlanything train")
    torch.set_num_threads(threads)
    return run.path


def config_file(domain: str, folder: Path) -> Path:
    """The settings of the run, as a file in a folder."""
    file, models = folder / f"{domain}.yaml", {}
    if domain == "osworld":  # it has no short view for models with few words
        reads = {"checkpoint": str(checkpoint("qwen3", folder / "model")), "max_tokens": 12, "context": 4096}
        models = {"policy": {**reads, "dtype": "float32"}, "reward_model": {**reads, "dtype": "float32"}}
    file.write_text(yaml.safe_dump({"name": domain, "domain": domain, **COMMON, **models, **DOMAINS[domain]}))
    return file
