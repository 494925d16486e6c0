"""Real runs of every domain, as small as they can be: one or two iterations of models that know next to nothing."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
import yaml

from rlanything_agents.config import load_config
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.train import train

SMALL = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64}
COMMON: dict[str, Any] = {
    "seed": 3,
    "threads": 1,
    "iterations": 2,
    "policy": SMALL,
    "reward_model": SMALL,
    "evaluation": {"episodes": 2, "max_steps": 4, "judge_episodes": 2, "panels": ["valid_seen"]},
}
SHORT: dict[str, Any] = {
    "seed": 7,
    "threads": 1,
    "policy": {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32},
    "reward_model": {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32},
    "warm_start": {"demonstrations": 60, "max_steps": 8, "epochs": 8, "batch_size": 8, "judge_steps": 60,
                   "judge_epochs": 1, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
    "rollout": {"tasks": 3, "rollouts": 3, "max_steps": 8},
    "feedback": {"policy_band": None, "judge_band": None, "balance": False},
    "judge": {"votes": 2, "steps": 20},
    "policy_trainer": {"average": 0.5, "anchor": 0.01},
    "curriculum": {"pool_size": 4, "roots": 0.3, "step_back": True,
                   "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
    "evaluation": {"episodes": 6, "max_steps": 8, "judge_episodes": 4, "panels": ["valid_seen"]},
}  # fmt: skip
"""A run in which everything happens that can go on after an interruption: tasks adapt, weights are averaged, held."""
DOMAINS: dict[str, dict[str, Any]] = {
    "alfworld": {
        "warm_start": {"demonstrations": 80, "max_steps": 12, "epochs": 8, "batch_size": 8, "judge_steps": 60,
                       "judge_epochs": 1, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
        "rollout": {"tasks": 4, "rollouts": 4, "max_steps": 12},
        "curriculum": {"pool_size": 6, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
    },
    "coding": {
        "warm_start": {"demonstrations": 60, "epochs": 2, "judge_steps": 60, "judge_epochs": 1, "mistakes": 0.2,
                       "knobs": {"families": ["list_steps"], "levels": {"size": 8, "steps": 1}}},
        "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 1},
        "judge": {"votes": 2},
        "feedback": {"lam": 0, "policy_band": [0.1, 0.9], "judge_band": None},
        "curriculum": {"pool_size": 2, "knobs": {"families": ["list_steps"], "levels": {"size": 8, "steps": 1}}},
    },
    "osworld": {
        "warm_start": {"demonstrations": 20, "epochs": 1, "judge_steps": 20, "judge_epochs": 1, "max_steps": 8,
                       "knobs": {"kinds": ["count_lines"], "difficulty": 0}},
        "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 3},
        "judge": {"votes": 2},
        "curriculum": {"pool_size": 2, "knobs": {"kinds": ["count_lines"], "difficulty": 0}},
    },
}  # fmt: skip


@cache
def small_run(domain: str) -> Path:
    """The folder of a finished run, played once a process; to be copied by whoever changes it."""
    home = Path(tempfile.mkdtemp(prefix="small-runs-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    run = RunFolder(home / f"small-{domain}")
    threads = torch.get_num_threads()
    train(load_config(config_file(domain, home)), run, Reporter.silent(), command="rlanything train")
    torch.set_num_threads(threads)
    return run.path


def config_file(domain: str, folder: Path) -> Path:
    """The settings of the run, as a file in a folder."""
    file = folder / f"small-{domain}.yaml"
    file.write_text(yaml.safe_dump({"name": f"small-{domain}", "domain": domain, **COMMON, **DOMAINS[domain]}))
    return file
