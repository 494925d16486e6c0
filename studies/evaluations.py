"""The jobs that play saved policies on other panels, and their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]

from rlanything_agents.config import RunConfig
from rlanything_task_pools import get_domain
from studies.jobs import Job, Key, Progress, has_ended, run_path, stored_runs
from studies.panels import Panel, make_panel, official_files
from studies.plan import StudyError

__all__ = [
    "evaluation_jobs",
    "evaluation_note",
    "evaluation_path",
    "evaluation_progress",
    "panel_job",
    "read_evaluations",
]


def evaluation_jobs(
    study: Path,
    panels: Sequence[str],
    arms: Sequence[str] = (),
    seeds: int | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    panel_seed: int | None = None,
) -> list[Job]:
    """One job for each finished run, seed by seed.

    Raises:
        StudyError: No such panel or arm, or no run has ended.
    """
    runs = list(stored_runs(study))
    if unknown := set(arms) - {key.arm for key, _ in runs}:
        raise StudyError(f"{study} has no runs of the arm {', '.join(sorted(unknown))}")
    jobs = []
    for key, run in sorted(runs, key=lambda entry: (entry[0].seed, entry[0].regime)):
        if not has_ended(run) or (arms and key.arm not in arms) or (seeds is not None and key.seed >= seeds):
            continue
        config = RunConfig.model_validate(run.config())
        chosen = [
            make_panel(name, config.evaluation, episodes=episodes, max_steps=max_steps, seed=panel_seed)
            for name in panels
        ]
        for panel in chosen:
            if panel.official:
                official_files(get_domain(config.domain), panel)  # absent games are to be known before anything runs
        jobs.append(panel_job(study, key, config, chosen))
    if not jobs:
        raise StudyError(f"{study}: no run of these arms and seeds has ended")
    return jobs


def panel_job(study: Path, key: Key, config: RunConfig, panels: Sequence[Panel]) -> Job:
    """The job that plays the policy of a finished run on panels."""
    paths = tuple(evaluation_path(study, panel, key) for panel in panels)
    return Job(
        key=key,
        work={
            "kind": "evaluate",
            "config": config.model_dump(mode="json"),
            "folder": str(run_path(study, *key)),
            "panels": [
                {"panel": panel.model_dump(), "path": str(path)} for panel, path in zip(panels, paths, strict=True)
            ],
        },
        log=study / "evaluations" / "logs" / f"{key.regime}-{key.seed}-{key.arm}.txt",
        results=paths,
    )


def evaluation_progress(job: Job) -> Progress:
    """Number of played panels of a job."""
    done = sum(path.exists() for path in job.results)
    return Progress(done / len(job.results), f"{done} of {len(job.results)}")


def evaluation_note(job: Job) -> str:
    """Success on each panel of a job."""
    return " ".join(f"{100 * json.loads(path.read_text(encoding='utf-8'))['rate']:.1f}" for path in job.results)


def read_evaluations(study: Path) -> pd.DataFrame:
    """One row for each panel a policy was played on, with the columns of `read_results`."""
    rows = []
    for path in sorted(study.glob("evaluations/*/*/seed-*/*.json")):
        regime, seed, arm = path.parts[-3], path.parent.name.removeprefix("seed-"), path.stem
        result = json.loads(path.read_text(encoding="utf-8"))
        rows.append((regime, arm, int(seed), path.parts[-4], "success", result["rate"], result["episodes"]))
    return pd.DataFrame(rows, columns=["regime", "arm", "seed", "panel", "metric", "value", "episodes"])


def evaluation_path(study: Path, panel: Panel, key: Key) -> Path:
    """Where the result of a run on a panel is, once it is known."""
    return study / "evaluations" / panel.label / key.regime / f"seed-{key.seed}" / f"{key.arm}.json"
