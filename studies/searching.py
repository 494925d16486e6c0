"""One seed of the search study: plays held-out games with best of n and with step-level search."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.feedback.percent import percent
from rlanything_agents.feedback.policy import mean_votes
from rlanything_agents.rollout.environments import make_envs
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.rollout.turns import Turns
from rlanything_agents.rollout.workers import LocalWorkers, Play
from rlanything_agents.runs.evaluate import panel_tasks
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from studies.branches import Branch, search_steps
from studies.evaluate import weights_of
from studies.judge_study import TRAINED, WARM, SearchSettings, note_progress
from studies.judges import Judge, heuristic_judge, model_judge, true_judge
from studies.plan import StudyError

__all__ = ["ARMS", "HEURISTIC", "TRUTH", "search"]

HEURISTIC, TRUTH = "heuristic labels", "true labels"
ARMS = (HEURISTIC, WARM, TRAINED, TRUTH)
"""Judges whose scores choose: the rule that the warm judge was taught, both judges, and the true labels."""
TOGETHER = 512
"""Most episodes that are searched in lock step."""


def search(work: Mapping[str, Any], folder: Path) -> None:
    """Play the games of one seed with every judge, and leave ``result.json``.

    The finished parts of an interrupted job are kept.

    Args:
        work: ``config`` of the warm start's run, ``judges``, run folders by arm, and ``settings``, the fields of a
            `SearchSettings`.
        folder: Folder of the job.

    Raises:
        StudyError: An episode has no outcome, or a game is not deterministic.
    """
    settings, config = SearchSettings.model_validate(work["settings"]), RunConfig.model_validate(work["config"])
    player = _Player(config, settings, folder, {name: Path(run) for name, run in work["judges"].items()})
    jobs: dict[str, Callable[[], Any]] = {
        f"attempt-{number}": partial(player.attempt, number) for number in range(settings.attempts)
    }
    for candidates, ahead in settings.searches:
        for arm in ARMS:
            name = f"search-{candidates}x{ahead}-{arm.replace(' ', '-')}"
            jobs[name] = partial(player.searched, candidates, ahead, arm)
    results = {}
    for done, (name, job) in enumerate(jobs.items()):
        note_progress(folder, done, len(jobs), name)
        path = folder / f"{name}.json"
        if not path.exists():
            write_atomically(path, json.dumps(job()) + "\n")
        results[name] = json.loads(path.read_text(encoding="utf-8"))
    note_progress(folder, len(jobs), len(jobs), "played")
    attempts = [results[f"attempt-{k}"] for k in range(settings.attempts)]
    searches = [part for name, part in results.items() if name.startswith("search-")]
    solved = float(np.mean([attempt["solved"] for attempt in attempts]))
    limit = config.evaluation.max_steps
    result = {"note": f"one attempt {percent(solved)}", "max_steps": limit, "attempts": attempts, "searches": searches}
    write_atomically(folder / "result.json", json.dumps(result) + "\n")


class _Player:
    """Plays the games of the panel."""

    def __init__(self, config: RunConfig, settings: SearchSettings, folder: Path, judges: Mapping[str, Path]) -> None:
        torch.set_num_threads(config.threads)
        self.config = config
        self.parts = RunParts.assemble(config, RunFolder(folder), Reporter())
        self.parts.learners.policy.load(weights_of(RunFolder(judges[WARM])) / "policy")
        supervision = get_step_supervision(config.domain)
        panel = config.evaluation.model_copy(update={"episodes": settings.games})
        self.tasks = panel_tasks(self.parts.domain, panel.panels[0], panel)
        payloads = {task.id: task.payload for task in self.tasks}
        self.judges: dict[str, Judge] = {
            HEURISTIC: heuristic_judge(supervision),
            **{name: model_judge(self.parts, run, config.judge.votes) for name, run in judges.items()},
            TRUTH: true_judge(supervision, payloads),
        }
        most = max((candidates for candidates, _ in settings.searches), default=1)
        self.envs = make_envs(config, min(TOGETHER // most, len(self.tasks)) * most)

    def attempt(self, number: int) -> dict[str, Any]:
        """Play every game once: outcomes, steps, and the mean vote of each judge."""
        evaluation = self.config.evaluation
        seed = seed_of(self.config.seed, "attempt", number)
        workers = LocalWorkers(self.config, self.parts.learners, self.envs)
        played = workers.play(self.tasks, Play(evaluation.max_steps, seed, evaluation.temperature))
        return {
            "solved": [_solved(episode) for episode in played],
            "steps": [len(episode.steps) for episode in played],
            "scores": {arm: self._scores(arm, seed, played, 0) for arm in ARMS},
        }

    def searched(self, candidates: int, ahead: int, arm: str) -> dict[str, Any]:
        """Search in every game with the scores of one judge: outcomes, and environment steps of all candidates."""
        evaluation, rollout = self.config.evaluation, self.config.rollout
        seed = seed_of(self.config.seed, "search", candidates, ahead)  # the same for all judges
        solved, env_steps, size = [], [], len(self.envs) // candidates
        for at in range(0, len(self.tasks), size):
            turns = Turns(
                self.parts.actor,
                seed,
                at * candidates,
                evaluation.temperature,
                rollout.top_p,
                rollout.stop,
                rollout.constrained,
            )
            envs = iter(self.envs)
            games = [
                [Branch(next(envs), task, "", self.parts.actor.renderer, rollout.stop) for _ in range(candidates)]
                for task in self.tasks[at : at + size]
            ]
            score = partial(self._scores, arm, seed_of(seed, "votes", at))
            found = search_steps(turns, games, score, ahead=ahead, max_steps=evaluation.max_steps)
            solved += [_solved(game.trajectory) for game in found]
            env_steps += [game.env_steps for game in found]
        return {"arm": arm, "candidates": candidates, "ahead": ahead, "solved": solved, "env_steps": env_steps}

    def _scores(self, arm: str, seed: int, shown: Sequence[Trajectory], since: int) -> list[float]:
        """Mean vote on the steps from ``since`` on."""
        votes = self.judges[arm](shown, seed_of(seed, since), since)
        return [float(mean_votes(found).mean()) if len(found) else 0.0 for found in votes]


def _solved(episode: Trajectory) -> int:
    if episode.outcome is None:
        raise StudyError(f"an episode on {episode.task_id} has no outcome: {episode.error}")
    return int(episode.outcome == 1)
