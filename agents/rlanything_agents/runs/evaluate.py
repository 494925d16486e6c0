"""Evaluation on fixed panels: the policy's success on held-out tasks, and the quality of the reward model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlanything_agents.config import EvaluationConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.feedback.metrics import action_shares, success_rate
from rlanything_agents.rollout.tasks import collected_tasks, generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_envs.llm.errors import RunMustStop
from rlanything_task_pools import Domain, Task
from rlanything_task_pools.panel import panel_hash

__all__ = ["Evaluation", "panel_tasks"]


def panel_tasks(domain: Domain, split: str, config: EvaluationConfig, episodes: int | None = None) -> list[Task]:
    """Tasks of a panel, one per episode: the first ``episodes`` of them, or all if None."""
    count = config.episodes if episodes is None else min(episodes, config.episodes)
    if split in config.pools:
        return collected_tasks(domain, config.pools[split], count, rng_of(config.seed, "panel"))
    return generate_tasks(domain, split, range(config.seed, config.seed + count), config.knobs)


def _play_panel(
    workers: Workers, tasks: Sequence[Task], config: EvaluationConfig, progress: Callable[[int], None] | None = None
) -> list[Trajectory]:
    """Roll out every task of a panel once; the sampling seed is fixed, so that two policies are paired."""
    how = Play(config.max_steps, seed_of(config.seed, "sampling"), config.temperature)
    return workers.play(tasks, how, progress=progress)


def _panel_result(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Success on a panel with its interval, shares of readable and admissible actions, and the outcomes for pairing.

    ``outcomes`` holds 1 (solved), 0 (failed) or None (infrastructure error) in the order of the panel, ``tasks`` a hash
    of the ids of its tasks: two results with the same hash are on the same tasks in the same order.
    """
    return {
        **asdict(success_rate([trajectory.outcome for trajectory in trajectories])),
        **action_shares(step.command for trajectory in trajectories for step in trajectory.steps),
        "outcomes": [None if t.outcome is None else int(t.outcome == 1) for t in trajectories],
        "tasks": panel_hash([trajectory.task_id for trajectory in trajectories]),
    }


class Evaluation:
    """Evaluations of a run, each a stage of its folder.

    Args:
        parts: Parts of the run.
        workers: Run the rollouts; this process, with the run's environments, if None.
    """

    def __init__(self, parts: RunParts, workers: Workers | None = None) -> None:
        self.parts = parts
        self.workers = workers or LocalWorkers(parts.config, parts.learners, parts.envs)

    def before(self) -> dict[str, Any]:
        """Evaluate the warm start, or adopt the result of the run it was reused from, if that used the same panels."""
        stored, reuse = self.parts.folder.stage("before"), self.parts.config.warm_start.reuse
        if stored is None and reuse is not None and self._measured_alike(RunFolder(reuse)):
            return self.parts.folder.adopt_stage(RunFolder(reuse), "before")
        return self.run("before")

    def run(self, name: str, episodes: int | None = None) -> dict[str, Any]:
        """Roll out the panels and measure the reward model, unless the stage is finished.

        Args:
            name: Name of the stage; ``before`` comes first and stores the panel of the reward model.
            episodes: Episodes per panel; all if None.
        """
        parts = self.parts
        if (stored := parts.folder.stage(name)) is not None:
            return stored
        settings, start = parts.config.evaluation, time.perf_counter()
        panels: dict[str, Any] = {}
        for number, split in enumerate(settings.panels):
            tasks = panel_tasks(parts.domain, split, settings, episodes)
            with parts.reporter.stage(f"Evaluation {name}, {split}", len(tasks)) as stage:
                trajectories = _play_panel(self.workers, tasks, settings, stage.add)
            if 2 * len(failed := [t.error for t in trajectories if t.outcome is None]) > len(trajectories):
                what = f"{len(failed)} of {len(trajectories)} episodes had an infrastructure failure"
                raise RunMustStop(f"evaluation {name}, {split}: {what} ({failed[0]}); the same command plays it again")
            panels[split] = _panel_result(trajectories)
            if number == 0 and name == "before" and parts.config.queries_judge:
                judged = parts.reviewer.panel(trajectories[: settings.judge_episodes], tasks)
                write_atomically(self._judge_panel, json.dumps(judged))
        judge = self._judge_quality(name)
        seconds = time.perf_counter() - start
        result = {"panels": panels, "judge": judge, "seconds": seconds, **parts.learners.counted()}
        parts.folder.finish_stage(name, result)
        return result

    def _measured_alike(self, source: RunFolder) -> bool:
        """Whether another run's first evaluation equals this run's, given the same weights."""
        theirs, ours = source.config(), self.parts.config.model_dump(mode="json")
        stored = source.stage("before")
        return (
            stored is not None
            and _evaluation_settings(theirs) == _evaluation_settings(ours)
            and (bool(stored["judge"]) or not self.parts.config.queries_judge)
        )

    @property
    def _judge_panel(self) -> Path:
        return self.parts.folder.folder("before") / "judge_panel.json"

    def _judge_quality(self, name: str) -> dict[str, Any]:
        """Quality of the reward model on its panel; empty in a run without one. A frozen one is measured only once."""
        config = self.parts.config
        if not config.queries_judge:
            return {}
        if (first := self.parts.folder.stage("before")) is not None and not config.judge_learns:
            measured: dict[str, Any] = first["judge"]
            return measured
        panel = json.loads(self._judge_panel.read_text(encoding="utf-8"))
        with self.parts.reporter.stage(f"Evaluation {name}, judge", 1):
            return self.parts.reviewer.measure(panel)


def _evaluation_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the first evaluation of given weights depends on."""
    return {
        "evaluation": {k: v for k, v in config["evaluation"].items() if k not in ("every", "every_episodes")},
        "environment": config["environment"],
        "rollout": [config["rollout"].get(k) for k in ("top_p", "stop", "constrained", "history", "deadline")],
        "judge": [config["judge"].get(k) for k in ("votes", "answers", "temperature", "constrained")],
    }
