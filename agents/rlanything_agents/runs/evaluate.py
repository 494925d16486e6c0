"""Fixed panels: the policy's success on games it never trained on, and the judge's agreement with the truth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlanything_agents.config import EvaluationConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.feedback.metrics import action_shares, success_rate
from rlanything_agents.rollout.tasks import generate_tasks
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play, Workers
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_task_pools import Domain, Task
from rlanything_task_pools.panel import Unreadable, panel_hash

__all__ = ["Evaluation", "panel_result", "panel_tasks", "play_panel"]


def panel_tasks(domain: Domain, split: str, config: EvaluationConfig, episodes: int | None = None) -> list[Task]:
    """The games of a panel, one per episode: the first ``episodes`` of them, or all."""
    count = config.episodes if episodes is None else min(episodes, config.episodes)
    return generate_tasks(domain, split, range(config.seed, config.seed + count), config.knobs)


def play_panel(
    workers: Workers, tasks: Sequence[Task], config: EvaluationConfig, progress: Callable[[int], None] | None = None
) -> list[Trajectory]:
    """Play every game of a panel once; the sampling seed is fixed, so two policies meet the same luck."""
    how = Play(config.max_steps, seed_of(config.seed, "sampling"), config.temperature)
    return workers.play(tasks, how, progress=progress)


def panel_result(trajectories: Sequence[Trajectory], unreadable: Sequence[Unreadable] = ()) -> dict[str, Any]:
    """Success on a panel with its interval, the shares of readable and admissible actions, and what pairs it with
    another policy's.

    ``outcomes`` holds 1 (won), 0 (lost) or None (infrastructure error, or a game that cannot be read) in the order of
    the panel, ``tasks`` a hash of the ids of its games: two results with the same hash were played on the same games
    in the same order. ``unreadable`` has the reason for each game that cannot be read, where there is one.
    """
    ids = [trajectory.task_id for trajectory in trajectories]
    outcomes = [None if t.outcome is None else int(t.outcome == 1) for t in trajectories]
    for game in unreadable:
        ids.insert(game.place, game.task)
        outcomes.insert(game.place, None)
    return {
        **asdict(success_rate([trajectory.outcome for trajectory in trajectories])),
        **action_shares(step.command for trajectory in trajectories for step in trajectory.steps),
        "outcomes": outcomes,
        "tasks": panel_hash(ids),
        **({"unreadable": {game.task: game.error for game in unreadable}} if unreadable else {}),
    }


class Evaluation:
    """The evaluations of a run, each a stage of its folder.

    Args:
        parts: The run.
        workers: Who plays; this process, in the run's environments, if None.
    """

    def __init__(self, parts: RunParts, workers: Workers | None = None) -> None:
        self.parts = parts
        self.workers = workers or LocalWorkers(parts.config, parts.learners, parts.envs)

    def before(self) -> dict[str, Any]:
        """Evaluate the warm start, or take over what the run it is from measured on the same panels."""
        stored, reuse = self.parts.folder.stage("before"), self.parts.config.warm_start.reuse
        if stored is None and reuse is not None and self._measured_alike(RunFolder(reuse)):
            return self.parts.folder.adopt_stage(RunFolder(reuse), "before")
        return self.run("before")

    def run(self, name: str, episodes: int | None = None) -> dict[str, Any]:
        """Play the panels and measure the judge, unless that is done already.

        Args:
            name: Of the stage; ``before`` comes first and chooses what the judge is measured on.
            episodes: Per panel, if not all.
        """
        parts = self.parts
        stored = parts.folder.stage(name)
        if stored is not None:
            return stored
        settings, start = parts.config.evaluation, time.perf_counter()
        panels: dict[str, Any] = {}
        with parts.learners.averaged():
            for number, split in enumerate(settings.panels):
                tasks = panel_tasks(parts.domain, split, settings, episodes)
                with parts.reporter.stage(f"Evaluation {name}, {split}", len(tasks)) as stage:
                    trajectories = play_panel(self.workers, tasks, settings, stage.add)
                panels[split] = panel_result(trajectories)
                if number == 0 and name == "before" and parts.config.queries_judge:
                    self._store_judge_panel(trajectories[: settings.judge_episodes], tasks)
            judge = self._judge_quality(name)
        result = {"panels": panels, "judge": judge, "seconds": time.perf_counter() - start}
        parts.folder.finish_stage(name, result)
        return result

    def _measured_alike(self, source: RunFolder) -> bool:
        """Whether another run's first evaluation is what this run's would be, given the same weights."""
        theirs, ours = source.config(), self.parts.config.model_dump(mode="json")
        stored = source.stage("before")
        return (
            stored is not None
            and _what_decides(theirs) == _what_decides(ours)
            and (bool(stored["judge"]) or not self.parts.config.queries_judge)
        )

    @property
    def _judge_panel(self) -> Path:
        return self.parts.folder.folder("before") / "judge_panel.json"

    def _store_judge_panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> None:
        write_atomically(self._judge_panel, json.dumps(self.parts.reviewer.panel(trajectories, tasks)))

    def _judge_quality(self, name: str) -> dict[str, Any]:
        """Empty where no reward model has a part in the run; one that does not learn is measured once."""
        config = self.parts.config
        if not config.queries_judge:
            return {}
        first = self.parts.folder.stage("before")
        if first is not None and not config.judge.learns:
            measured: dict[str, Any] = first["judge"]
            return measured
        panel = json.loads(self._judge_panel.read_text(encoding="utf-8"))
        with self.parts.reporter.stage(f"Evaluation {name}, judge", 1):
            return self.parts.reviewer.measure(panel)


def _what_decides(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the first evaluation of given weights depends on."""
    evaluation = {k: v for k, v in config["evaluation"].items() if k not in ("every", "every_episodes")}
    judge = {k: config["judge"].get(k) for k in ("votes", "temperature")}
    return {"evaluation": evaluation, "judge": judge, "constrained": config["rollout"]["constrained"]}
