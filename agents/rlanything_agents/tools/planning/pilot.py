"""Duration of a run, from a pilot: the same stages with few tasks, timed on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter, Stage, duration
from rlanything_agents.tools.planning.memory import Assumptions
from rlanything_agents.training.ranks.launch import launched

__all__ = ["Duration", "Unmeasured", "estimate"]

DEMONSTRATIONS, JUDGE_STEPS, TURNS, JUDGE_EPISODES = 48, 320, 5, 8
"""Sizes of a pilot. Its batches have the run's size, because a model's time for a turn hardly depends on how many
episodes take it at once; its episodes are short."""


class Unmeasured(ValueError):
    """The pilot cannot say how long a run takes; the message says why."""


@dataclass(frozen=True, slots=True)
class Duration:
    """Estimated seconds of the stages of a run."""

    warm_start: float
    evaluations: float
    iterations: float

    @property
    def total(self) -> float:
        """Seconds of all stages."""
        return self.warm_start + self.evaluations + self.iterations

    def __str__(self) -> str:
        parts = (("warm start", self.warm_start), ("evaluations", self.evaluations), ("iterations", self.iterations))
        return f"about {duration(self.total)} ({', '.join(f'{name} {duration(seconds)}' for name, seconds in parts)})"


def estimate(config: RunConfig) -> Duration:
    """Run the stages of a configuration with few tasks in a temporary folder, and scale their times.

    The lengths of episodes are those that the plan assumes. Times of rewriting with a service are left out.

    Args:
        config: All settings of the run.

    Raises:
        Unmeasured: A model has weights to load, or the run does not take place in this process alone.
    """
    if any(isinstance(model, CheckpointConfig) for model in (config.policy, config.reward_model)):
        raise Unmeasured("a model has weights of its own, and the check loads none")
    if config.workers or config.engine.kind != "transformers" or launched().size > 1:
        raise Unmeasured("the run takes place in several processes, or on other machines")
    if config.domain == "osworld" or config.evaluation.pools or config.curriculum.pool or config.warm_start.reuse:
        raise Unmeasured("it depends on stored tasks or on desktops")
    small = _pilot(config)
    with tempfile.TemporaryDirectory() as folder:
        watch = _Stopwatch()
        from rlanything_agents.runs.train import train

        train(small, RunFolder(Path(folder) / "run"), watch, command="")
    return _scaled(watch.seconds, small, config)


def _pilot(config: RunConfig) -> RunConfig:
    settings: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    smaller: dict[str, dict[str, Any]] = {
        "warm_start": {
            "demonstrations": min(DEMONSTRATIONS, config.warm_start.demonstrations),
            "judge_steps": min(JUDGE_STEPS, config.warm_start.judge_steps),
            "epochs": 1,
            "judge_epochs": 1,
        },
        "rollout": {"max_steps": min(TURNS, config.rollout.max_steps)},
        "evaluation": {
            "episodes": min(config.rollout.tasks * config.rollout.rollouts, config.evaluation.episodes),
            "max_steps": min(TURNS, config.evaluation.max_steps),
            "judge_episodes": min(JUDGE_EPISODES, config.evaluation.judge_episodes),
            "every": None,
        },
        "curriculum": {"rewriter": "scripted", "llm": None},
    }
    for section, changes in smaller.items():
        settings[section] = {**(settings.get(section) or {}), **changes}
    return RunConfig.model_validate({**settings, "iterations": 1, "env_steps": None, "trackers": []})


def _scaled(seconds: dict[str, float], small: RunConfig, config: RunConfig) -> Duration:
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
        iterations=seconds["Closed loop"]
        * config.iterations
        * _turns(config.rollout.max_steps)
        / small.rollout.max_steps,
    )


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
