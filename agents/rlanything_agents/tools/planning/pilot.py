"""Duration of a run, from a pilot: the same stages with few tasks, timed on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.models.checkpoint import weights_are_here
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.hooks import Hook
from rlanything_agents.runs.progress import Reporter, Stage, duration
from rlanything_agents.tools.planning.memory import NotEstimated
from rlanything_agents.training.ranks.launch import launched

__all__ = ["Duration", "estimate"]

TURNS = 5
"""Maximum turns of an episode of a pilot."""
SIZES = {"demonstrations": 48, "judge_steps": 320, "judge_episodes": 8}
"""Sizes of a pilot. Batches of small models have the run's size, because such a model's time for a turn hardly depends
on how many episodes take it at once."""
PRETRAINED = {"demonstrations": 24, "judge_steps": 32, "judge_episodes": 4, "episodes": 24}
"""Sizes with a pretrained model on processors, whose time grows with the episodes from about this number on."""
TEACHING: dict[str, Any] = {"policy_band": None, "judge_band": None, "balance": False, "shared_weight": 1.0}
"""Feedback with which every group teaches, with the outcomes of `_every_second`."""
SUCCESS, SOLVED_LENGTH, LEARNING = 0.45, 0.35, 0.55
"""Not known of episodes before a run: shares of solved ones, of their length, and of groups that teach."""


class Duration(NamedTuple):
    """Estimated seconds of the stages of a run."""

    warm_start: float
    evaluations: float
    iterations: float

    def __str__(self) -> str:
        parts = ", ".join(f"{name.replace('_', ' ')} {duration(seconds)}" for name, seconds in self._asdict().items())
        return f"about {duration(sum(self))} ({parts})"


def estimate(config: RunConfig) -> Duration:
    """Run the stages of a configuration with few tasks in a temporary folder, and scale their times.

    Times of rewriting with a service are left out.

    Raises:
        NotEstimated: The weights of a model are not on this machine, or the run does not take place in this process
            alone.
    """
    if config.workers or config.engine.kind != "transformers" or launched().size > 1:
        raise NotEstimated("the run takes place in several processes, or on other machines")
    if config.domain == "osworld" or config.evaluation.pools or config.curriculum.pool or config.warm_start.reuse:
        raise NotEstimated("it depends on stored tasks or on desktops")
    models = [model for model in config.models.values() if isinstance(model, CheckpointConfig)]
    if absent := [model.checkpoint for model in models if not weights_are_here(model.checkpoint)]:
        raise NotEstimated(f"the weights of {absent[0]} are not on this machine, and the check downloads none")
    small = _pilot(config, PRETRAINED if models and not torch.cuda.is_available() else SIZES)
    with tempfile.TemporaryDirectory() as name:
        watch, folder = _Stopwatch(), RunFolder(Path(name) / "run")
        from rlanything_agents.runs.train import train

        train(small, folder, watch, command="", hooks=[_every_second()])
        (row,) = folder.rows()
    if not row["policy"]:
        raise NotEstimated("no group of the pilot taught the policy anything")
    return _scaled(watch.seconds, row, small, config)


def _every_second() -> Hook:
    """Hook by which every second episode counts as solved: the short ones of a pilot all fail, and teach nothing."""

    class EverySecond(Hook):
        def judged(self, groups: list[Any], iteration: int) -> list[Any]:
            def ended(number: int, t: Any) -> Any:
                return t if t.outcome is None else replace(t, outcome=1 - 2 * (number % 2))

            return [replace(g, trajectories=[ended(*one) for one in enumerate(g.trajectories)]) for g in groups]

    return EverySecond()


def _pilot(config: RunConfig, most: Mapping[str, int]) -> RunConfig:
    rollout, warm, evaluation = config.rollout, config.warm_start, config.evaluation
    tasks = min(rollout.tasks, max(1, most.get("episodes", rollout.tasks * rollout.rollouts) // rollout.rollouts))
    smaller: dict[str, dict[str, Any]] = {
        "warm_start": {
            "demonstrations": min(most["demonstrations"], warm.demonstrations),
            "judge_steps": min(most["judge_steps"], warm.judge_steps),
            "epochs": 1,
            "judge_epochs": 1,
        },
        "rollout": {"tasks": tasks, "max_steps": min(TURNS, rollout.max_steps)},
        "feedback": {**config.feedback.model_dump(mode="json"), **TEACHING},
        "evaluation": {
            "episodes": min(tasks * rollout.rollouts, evaluation.episodes),
            "max_steps": min(TURNS, evaluation.max_steps),
            "judge_episodes": min(most["judge_episodes"], evaluation.judge_episodes),
            "every": None,
        },
        "curriculum": {"rewriter": "scripted", "llm": None, "summariser": None},
        "monitors": {"stop": []},
    }
    settings: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    for section, changes in smaller.items():
        settings[section] = {**(settings.get(section) or {}), **changes}
    return RunConfig.model_validate({**settings, "iterations": 1, "env_steps": None, "trackers": []})


def _scaled(seconds: dict[str, float], row: Mapping[str, Any], small: RunConfig, config: RunConfig) -> Duration:
    warm, few, evaluation = config.warm_start, small.warm_start, config.evaluation
    demonstrations, judge_steps = warm.demonstrations / few.demonstrations, warm.judge_steps / few.judge_steps
    longer = _turns(evaluation.max_steps) / small.evaluation.max_steps
    episodes = longer * evaluation.episodes / small.evaluation.episodes
    judged = longer * evaluation.judge_episodes / small.evaluation.judge_episodes
    played = {name: taken for name, taken in seconds.items() if name.startswith("Evaluation")}
    return Duration(
        warm_start=demonstrations * seconds.get("Demonstrations", 0.0)
        + judge_steps * seconds.get("Tests to imitate", 0.0)
        + demonstrations * warm.epochs * seconds.get("Warm start, policy", 0.0)
        + judge_steps * warm.judge_epochs * seconds.get("Warm start, judge", 0.0),
        evaluations=(1 + evaluation.share_during(config.iterations) / 2)
        * sum(taken * (judged if name.endswith(", judge") else episodes) for name, taken in played.items()),
        iterations=config.iterations * _iteration(seconds["Closed loop"], row, small, config),
    )


def _iteration(whole: float, row: Mapping[str, Any], small: RunConfig, config: RunConfig) -> float:
    """Seconds of an iteration of the run, from the steps of the pilot's; the rest, such as the checkpoint, is alike."""
    rollout, judge = config.rollout, config.judge
    laps: dict[str, float] = row["seconds"]
    groups = rollout.tasks / small.rollout.tasks
    turns = groups * _turns(rollout.max_steps) / small.rollout.max_steps
    pilot_steps = small.rollout.tasks * small.rollout.rollouts * small.rollout.max_steps
    votes = min(judge.steps, turns * LEARNING * pilot_steps) / min(judge.steps, pilot_steps)
    factors = {
        "rollout": turns,
        "judge": turns * (LEARNING if judge.scope == "useful" else 1.0),
        "policy_update": turns * LEARNING,
        "judge_update": votes,
    }
    return whole - sum(laps.values()) + sum(factors.get(name, groups) * taken for name, taken in laps.items())


def _turns(most: int) -> float:
    """Expected turns of an episode."""
    return max(1.0, most * (1 - SUCCESS * (1 - SOLVED_LENGTH)))


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
