"""Shows corrupted trajectories to judges: to a study's reward models, to the rule of thumb and to the planner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import torch

from rlanything_agents.config import RunConfig
from rlanything_agents.config.seeds import rng_of, seed_of
from rlanything_agents.domains.supervision import get_step_supervision
from rlanything_agents.reward_models.step_reviewer import stored_trajectory
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.runs.evaluate import panel_tasks
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.progress import Reporter
from studies.corruption import CORRUPTIONS, Corrupted, corrupt
from studies.detection import COLUMNS
from studies.judges import Judge, Votes, heuristic_judge, model_judge, true_judge, true_labels
from studies.plan import StudyError

__all__ = ["ORACLE", "RULE", "detect"]

RULE, ORACLE = "rule of thumb", "planner"
"""Judges without weights: `StepSupervision.heuristic_labels`, and `StepSupervision.true_labels`, which replays the
commands in the world and reads no answers."""


def detect(
    config: RunConfig, warm: RunFolder, judges: Mapping[str, str], settings: Mapping[str, Any], result: Path
) -> None:
    """Judge the trajectories of a warm start, in order and corrupted, and write a frame of places.

    Args:
        config: Of the run the trajectories are from.
        warm: Its folder.
        judges: Run folders whose reward models judge, by what they are called.
        settings: ``steps`` to corrupt in each trajectory and ``votes`` on each step.
        result: The Parquet file to write.

    Raises:
        StudyError: The run has not been evaluated with a judge, or the truth about its steps is not known.
        Unsupervised: Its reward model does not judge steps.
    """
    torch.set_num_threads(config.threads)
    parts = RunParts.assemble(config, warm, Reporter())
    supervision = get_step_supervision(config.domain)
    trajectories, payloads = _played(parts)
    labels = [true_labels(supervision, payloads, t) for t in trajectories]
    right = [[i for i, label in enumerate(row) if label == 1] for row in labels]
    corrupted: dict[str, list[Corrupted]] = {
        kind: corrupt(kind, trajectories, right, rng_of(config.seed, "corruption", kind), steps=settings["steps"])
        for kind in CORRUPTIONS
    }
    rows: list[tuple[Any, ...]] = []
    found: dict[str, Judge] = {
        **{name: model_judge(parts, Path(run), int(settings["votes"])) for name, run in judges.items()},
        RULE: heuristic_judge(supervision),
        ORACLE: true_judge(supervision, payloads),
    }
    for name, judge in found.items():
        with parts.reporter.stage(f"Judge {name}", len(CORRUPTIONS) + 1) as stage:
            clean = judge(trajectories, seed_of(config.seed, "in order"))
            stage.add(1)
            for kind, cases in corrupted.items():
                votes = judge([case.trajectory for case in cases], seed_of(config.seed, "corrupted", kind))
                rows += [(config.seed, name, kind, *row) for row in _places(cases, clean, votes, trajectories)]
                stage.add(1)
    result.parent.mkdir(parents=True, exist_ok=True)
    scratch = result.with_suffix(".part")
    pd.DataFrame(rows, columns=list(COLUMNS)).to_parquet(scratch, index=False)
    scratch.replace(result)


def _played(parts: RunParts) -> tuple[list[Trajectory], dict[str, Mapping[str, Any]]]:
    """The episodes of the warm start that the study's judges are measured on, and the worlds of their tasks."""
    file = parts.folder.folder("before") / "judge_panel.json"
    if not file.exists():
        raise StudyError(f"{parts.folder.path} has no judged episodes: its configuration must ask a reward model")
    trajectories = [stored_trajectory(record) for record in json.loads(file.read_text(encoding="utf-8"))]
    settings = parts.config.evaluation
    tasks = panel_tasks(parts.domain, settings.panels[0], settings, settings.judge_episodes)
    return trajectories, {task.id: task.payload for task in tasks}


def _places(
    cases: Sequence[Corrupted], clean: Votes, votes: Votes, trajectories: Sequence[Trajectory]
) -> list[tuple[int, float, float, float, float]]:
    """Trajectory, scores in order and corrupted, and shares of negative votes, of each corrupted place."""
    rows = []
    for case, shown in zip(cases, votes, strict=True):
        if not case.steps:  # the outcome
            true, said = trajectories[case.source].outcome or 0, case.trajectory.outcome or 0
            before, after = true * clean[case.source].mean(), said * shown.mean()
            rows.append((case.source, float(before), float(after), float(before < 0), float(after < 0)))
            continue
        for step, origin in zip(case.steps, case.origins, strict=True):
            before, after = clean[origin.trajectory][origin.step], shown[step]
            scores = float(before.mean()), float(after.mean())
            rows.append((case.source, *scores, float((before < 0).mean()), float((after < 0).mean())))
    return rows
