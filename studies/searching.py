"""One seed of the search study: plays held-out games several times, and every judge scores the attempts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.feedback.percent import percent
from rlanything_agents.feedback.policy import mean_votes
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.workers import LocalWorkers, Play
from rlanything_agents.runs.evaluate import panel_tasks
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from studies.jobs import weights_of
from studies.judge_study import TRAINED, WARM, SearchSettings, note_progress
from studies.judges import Judge, heuristic_judge, model_judge, true_judge
from studies.plan import StudyError

__all__ = ["ARMS", "HEURISTIC", "TRUTH", "search"]

HEURISTIC, TRUTH = "heuristic labels", "true labels"
ARMS = (HEURISTIC, WARM, TRAINED, TRUTH)
"""Judges whose scores choose: the rule that the warm judge was taught, both judges, and the true labels."""


def search(work: Mapping[str, Any], folder: Path) -> None:
    """Play the games of one seed with every judge, and leave ``result.json``.

    The finished attempts of an interrupted job are kept.

    Args:
        work: ``config`` of the warm start's run, ``judges``, run folders by arm, and ``settings``, the fields of a
            `SearchSettings`.
        folder: Folder of the job.

    Raises:
        StudyError: An episode has no outcome.
    """
    settings, config = SearchSettings.model_validate(work["settings"]), RunConfig.model_validate(work["config"])
    player = _Player(config, settings, folder, {name: Path(run) for name, run in work["judges"].items()})
    attempts = []
    for number in range(settings.attempts):
        note_progress(folder, number, settings.attempts, f"attempt {number}")
        path = folder / f"attempt-{number}.json"
        if not path.exists():
            write_atomically(path, json.dumps(player.attempt(number)) + "\n")
        attempts.append(json.loads(path.read_text(encoding="utf-8")))
    note_progress(folder, settings.attempts, settings.attempts, "played")
    note = f"one attempt {percent(float(np.mean([attempt['solved'] for attempt in attempts])))}"
    budgets = sorted({config.evaluation.max_steps, *settings.budgets})
    result = {"note": note, "budgets": budgets, "cut": settings.cut, "attempts": attempts}
    write_atomically(folder / "result.json", json.dumps(result) + "\n")


class _Player:
    """Plays the games of the panel."""

    def __init__(self, config: RunConfig, settings: SearchSettings, folder: Path, judges: Mapping[str, Path]) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.parts = RunParts.assemble(config, RunFolder(folder), Reporter())
        self.parts.learners.policy.load_weights(weights_of(RunFolder(judges[WARM])) / "policy")
        supervision = get_step_supervision(config.domain)
        panel = config.evaluation.model_copy(update={"episodes": settings.games})
        self.tasks = panel_tasks(self.parts.domain, panel.panels[0], panel)
        payloads = {task.id: task.payload for task in self.tasks}
        self.judges: dict[str, Judge] = {
            HEURISTIC: heuristic_judge(supervision),
            **{name: model_judge(self.parts, run, config.judge.votes) for name, run in judges.items()},
            TRUTH: true_judge(supervision, payloads),
        }

    def attempt(self, number: int) -> dict[str, Any]:
        """Play every game once: outcomes, steps, and each judge's mean vote on each step."""
        evaluation = self.config.evaluation
        seed = seed_of(self.config.seed, "attempt", number)
        workers = LocalWorkers(self.config, self.parts.learners, self.parts.envs)
        played = workers.play(self.tasks, Play(evaluation.max_steps, seed, evaluation.temperature))
        return {
            "solved": [_solved(episode) for episode in played],
            "steps": [len(episode.steps) for episode in played],
            "scores": {arm: self._scores(arm, seed, played) for arm in ARMS},
        }

    def _scores(self, arm: str, seed: int, shown: Sequence[Trajectory]) -> list[list[float]]:
        """Mean vote on each step of each episode."""
        votes = self.judges[arm](shown, seed_of(seed, 0))
        return [[float(mean) for mean in mean_votes(found)] if len(found) else [] for found in votes]


def _solved(episode: Trajectory) -> int:
    if episode.outcome is None:
        raise StudyError(f"an episode on {episode.task_id} has no outcome: {episode.error}")
    return int(episode.outcome == 1)
