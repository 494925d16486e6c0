"""Plays the saved policies of a study on any panel, after the fact: the official games, say, once and at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.rollout.workers import LocalWorkers
from rlanything_agents.runs.evaluate import panel_result, panel_tasks, play_panel
from rlanything_agents.runs.folder import RunFolder, write_atomically
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from rlanything_task_pools.panel import Unreadable, load_games
from studies.panels import Panel, official_files
from studies.plan import BEFORE, StudyError

__all__ = ["evaluate_run", "weights_of"]


def weights_of(folder: RunFolder) -> Path:
    """Where the weights of a run are at its end; of a run that was only warmed up, those of the warm start.

    Raises:
        StudyError: The run has not come to them.
        RunFolderError: They are damaged.
    """
    if checkpoint := folder.final_weights():
        return checkpoint
    warm = folder.path / "stages" / "warm_start"
    if folder.path.name == BEFORE and folder.stage("warm_start") is not None:
        return warm
    raise StudyError(f"{folder.path} has no final weights: let the study come to its end, or leave this run out")


def evaluate_run(config: RunConfig, folder: RunFolder, panels: Sequence[Mapping[str, Any]], reporter: Reporter) -> None:
    """Play the policy of a run on panels; each leaves its result at its ``path`` as soon as it is known.

    Args:
        config: Of the run.
        folder: Of the run.
        panels: Fields of a `Panel` and ``path``.
        reporter: Shows progress.
    """
    torch.set_num_threads(config.threads)
    parts = RunParts.assemble(config, folder, reporter)
    parts.learners.load(weights_of(folder))
    for record in panels:
        panel, path = Panel.model_validate(record["panel"]), Path(record["path"])
        if path.exists():
            continue
        changed: dict[str, Any] = {"episodes": panel.episodes or 1, "max_steps": panel.max_steps, "seed": panel.seed}
        if panel.knobs is not None:
            changed["knobs"] = panel.knobs
        settings = config.evaluation.model_copy(update=changed)
        unreadable: list[Unreadable] = []
        if panel.official:
            tasks, unreadable = load_games(parts.domain, official_files(parts.domain, panel))
            for game in unreadable:
                reporter.say(f"a game cannot be read and counts as an error: {game.error}")
        else:
            tasks = panel_tasks(parts.domain, panel.name, settings)
        with parts.learners.averaged(), reporter.stage(f"Panel {panel.name}", len(tasks)) as stage:
            workers = LocalWorkers(config, parts.learners, parts.envs)
            trajectories = play_panel(workers, tasks, settings, stage.add)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(panel_result(trajectories, unreadable)) + "\n")
