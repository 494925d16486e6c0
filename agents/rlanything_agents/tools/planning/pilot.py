"""Duration of a run, from a pilot: the same stages with few tasks, timed on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.models.checkpoint import weights_are_here
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter, Stage, duration
from rlanything_agents.tools.planning.memory import Assumptions
from rlanything_agents.training.ranks.launch import launched

__all__ = ["Duration", "Unmeasured", "estimate"]

DEMONSTRATIONS, JUDGE_STEPS, TURNS, JUDGE_EPISODES = 48, 320, 5, 8
"""Sizes of a pilot. Batches of small models have the run's size, because such a model's time for a turn hardly depends
on how many episodes take it at once; episodes are short."""

PRETRAINED = {"demonstrations": 24, "judge_steps": 32, "episodes": 24, "judge_episodes": 4}
"""Sizes of a pilot with a pretrained model on processors, whose time grows with the episodes from about this number on.
On a GPU batches have the run's size."""

TEACHING: dict[str, Any] = {"policy_band": None, "judge_band": None, "balance": False, "shared_weight": 1.0}
"""Feedback with which every group teaches: the short episodes of a pilot all fail, and a run would learn from none."""


class Unmeasured(ValueError):
    """The pilot cannot say how long a run takes; the message says why."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Estimated seconds of the stages of a run, and what they leave out."""

    warm_start: float
    evaluations: float
    iterations: float
    without: str = ""

    @property
    def total(self) -> float:
        """Seconds of all stages."""
        return self.warm_start + self.evaluations + self.iterations

    def __str__(self) -> str:
        parts = (("warm start", self.warm_start), ("evaluations", self.evaluations), ("iterations", self.iterations))
        text = f"about {duration(self.total)} ({', '.join(f'{name} {duration(seconds)}' for name, seconds in parts)})"
        return f"{text}, without {self.without}" if self.without else text


def estimate(config: RunConfig) -> Duration:
    """Run the stages of a configuration with few tasks in a temporary folder, and scale their times.

    The lengths of episodes and the share of groups that teach are those that the plan assumes. Times of rewriting with
    a service are left out.

    Args:
        config: All settings of the run.

    Raises:
        Unmeasured: The weights of a model are not on this machine, or the run does not take place in this process
            alone.
    """
    if config.workers or config.engine.kind != "transformers" or launched().size > 1:
        raise Unmeasured("the run takes place in several processes, or on other machines")
    if config.domain == "osworld" or config.evaluation.pools or config.curriculum.pool or config.warm_start.reuse:
        raise Unmeasured("it depends on stored tasks or on desktops")
    models = [model for model in (config.policy, config.reward_model) if isinstance(model, CheckpointConfig)]
    if absent := [model.checkpoint for model in models if not weights_are_here(model.checkpoint)]:
        raise Unmeasured(f"the weights of {absent[0]} are not on this machine, and the check downloads none")
    small = _pilot(config, few=bool(models) and not _has_gpu())
    with tempfile.TemporaryDirectory() as name:
        watch, folder = _Stopwatch(), RunFolder(Path(name) / "run")
        from rlanything_agents.runs.train import train

        train(small, folder, watch, command="")
        (row,) = folder.rows()
    return _scaled(watch.seconds, row, small, config)


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _pilot(config: RunConfig, few: bool) -> RunConfig:
    settings: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    most = PRETRAINED if few else {}
    tasks = min(config.rollout.tasks, max(1, most.get("episodes", 10**9) // config.rollout.rollouts))
    smaller: dict[str, dict[str, Any]] = {
        "warm_start": {
            "demonstrations": min(most.get("demonstrations", DEMONSTRATIONS), config.warm_start.demonstrations),
            "judge_steps": min(most.get("judge_steps", JUDGE_STEPS), config.warm_start.judge_steps),
            "epochs": 1,
            "judge_epochs": 1,
        },
        "rollout": {"tasks": tasks, "refill": 0, "max_steps": min(TURNS, config.rollout.max_steps)},
        "feedback": {**config.feedback.model_dump(mode="json"), **TEACHING},
        "evaluation": {
            "episodes": min(tasks * config.rollout.rollouts, config.evaluation.episodes),
            "max_steps": min(TURNS, config.evaluation.max_steps),
            "judge_episodes": min(most.get("judge_episodes", JUDGE_EPISODES), config.evaluation.judge_episodes),
            "every": None,
        },
        "curriculum": {"rewriter": "scripted", "llm": None},
        "monitors": {"stop": []},
    }
    for section, changes in smaller.items():
        settings[section] = {**(settings.get(section) or {}), **changes}
    return RunConfig.model_validate({**settings, "iterations": 1, "env_steps": None, "trackers": []})


def _scaled(seconds: dict[str, float], row: Mapping[str, Any], small: RunConfig, config: RunConfig) -> Duration:
    warm, few = config.warm_start, small.warm_start
    demonstrations, judge_steps = warm.demonstrations / few.demonstrations, warm.judge_steps / few.judge_steps
    factors: tuple[tuple[str, float], ...] = (
        ("Demonstrations", demonstrations),
        ("Tests to imitate", judge_steps),
        ("Warm start, policy", demonstrations * warm.epochs),
        ("Warm start, judge", judge_steps * warm.judge_epochs),
    )
    evaluation = config.evaluation
    longer = _turns(evaluation.max_steps) / small.evaluation.max_steps
    episodes = longer * evaluation.episodes / small.evaluation.episodes
    judged = longer * evaluation.judge_episodes / small.evaluation.judge_episodes
    played = {name: taken for name, taken in seconds.items() if name.startswith("Evaluation")}
    return Duration(
        warm_start=sum(factor * seconds.get(name, 0.0) for name, factor in factors),
        evaluations=sum(taken * (judged if name.endswith(", judge") else episodes) for name, taken in played.items()),
        iterations=config.iterations * _iteration(seconds["Closed loop"], row, small, config),
        without="" if row["policy"] else "the updates of the policy, for no group of the pilot taught it anything",
    )


def _iteration(whole: float, row: Mapping[str, Any], small: RunConfig, config: RunConfig) -> float:
    """Seconds of an iteration of the run, from the steps of the pilot's; the rest, such as the checkpoint, is alike."""
    learning = Assumptions().learning
    rollout, judge = config.rollout, config.judge
    laps: dict[str, float] = row["seconds"]
    batches = sum((1 - learning) ** batch for batch in range(1 + rollout.refill))
    groups = batches * rollout.tasks / small.rollout.tasks
    turns = groups * _turns(rollout.max_steps) / small.rollout.max_steps
    pilot_steps = small.rollout.tasks * small.rollout.rollouts * small.rollout.max_steps
    votes = min(judge.steps, turns * learning * pilot_steps) / min(judge.steps, pilot_steps)
    factors = {
        "rollout": turns,
        "judge": turns * (learning if judge.scope == "useful" else 1.0),
        "policy_update": turns * learning,
        "judge_update": votes,
    }
    return whole - sum(laps.values()) + sum(factors.get(name, groups) * taken for name, taken in laps.items())


def _turns(most: int) -> float:
    """Turns of an episode, in the mean, under the plan's assumptions."""
    assumed = Assumptions()
    return max(1.0, most * (1 - assumed.success * (1 - assumed.solved_length)))


class _Stopwatch(Reporter):
    """Prints nothing, and keeps the seconds of each stage."""

    def __init__(self) -> None:
        super().__init__(Reporter.silent().console)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Stage]:
        begun = time.perf_counter()
        yield Stage(lambda done, note: None)
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun
