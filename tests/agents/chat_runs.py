"""Whole runs with pretrained models, as small as they can be."""

import dataclasses
import itertools
import json
import shlex
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


class Killed(BaseException):
    """The process ends."""


class SomeSolve(Hook):
    """Outcomes by the number of an episode: the model knows nothing, and this is about the loop."""

    def __init__(self, last: int) -> None:
        self.last = last

    def judged(self, groups: list[Any], iteration: int) -> list[Any]:
        if iteration > self.last:
            raise Killed
        for group in groups:
            for number, trajectory in enumerate(group.trajectories):
                group.trajectories[number] = dataclasses.replace(trajectory, outcome=1 if number % 2 else -1)
        return groups


GPUS = Path(__file__).resolve().parents[2] / "configs" / "gpu"


def command_in(name: str, cards: int) -> list[str]:
    """Words of the command in the comments of a file of configs/gpu that trains on one card or on eight."""
    comments = [line[1:] for line in (GPUS / f"{name}.yaml").read_text().splitlines() if line.startswith("#")]
    lines = "\n".join(comments).replace("\\\n", "").splitlines()
    return [shlex.split(line) for line in lines if f" train configs/gpu/{name}.yaml" in line][0 if cards == 1 else 1]


def changes_in(command: Sequence[str]) -> list[str]:
    """Values of ``--set`` in a command."""
    return [word for before, word in itertools.pairwise(command) if before == "--set"]


def made_tiny(name: str, models: dict[str, Path]) -> list[str]:
    """Changes that let a processor run a file of configs/gpu: models in these folders, and the fewest episodes."""
    tree: dict[str, Any] = {
        "threads": 1,
        "iterations": 1,
        "rollout": {"tasks": 2, "rollouts": 3, "max_steps": 2},
        "feedback": {"policy_band": None, "judge_band": None, "balance": False},
        "judge": {"votes": 4, "scope": "all", "steps": 64},
        "large_rates": True,
        "curriculum": {"pool_size": 2, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
        "evaluation": {"episodes": 2, "max_steps": 2, "judge_episodes": 2, "panels": ["valid_seen"]},
        "policy_trainer.learning_rate": 1e-3,
        "policy_trainer.epsilon": 1e-5,
        "judge_trainer.learning_rate": 1e-3,
        "judge_trainer.epsilon": 1e-5,
    }
    if name == "qwen2.5-1.5b":
        tree["warm_start"] = {"demonstrations": 8, "max_steps": 12, "epochs": 1, "judge_steps": 4, "judge_epochs": 1}
    for key, folder in models.items():
        tree |= {f"{key}.checkpoint": str(folder), f"{key}.dtype": "float32"}
    tree |= {
        f"{key}.{limit}": n
        for key in ("policy", "reward_model")
        for limit, n in (("max_tokens", 12), ("context", 4096))
    }
    return [f"{key}={json.dumps(value)}" for key, value in tree.items()]


def run(config: RunConfig, folder: Path, hooks: Sequence[Hook] = ()) -> dict[str, Any]:
    """The summary of the finished run."""
    return train(config, RunFolder(folder), Reporter.silent(), command="rlanything train", hooks=hooks)
