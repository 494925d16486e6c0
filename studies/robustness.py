"""``study robustness``: detection of corrupted trajectories by judges, and the cost of corrupted feedback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

import pandas as pd  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, model_validator
from rich.console import Console

from rlanything_agents.config import CorruptConfig
from rlanything_agents.runs.folder import RunFolder, write_atomically
from studies.figures import save_figure
from studies.jobs import Job, Key, Progress, has_ended, run_path, stored_runs
from studies.plan import Arm, Plan, StudyFile, load_file, make_plan
from studies.report import panels_of, read_study, write_frame
from studies.results import read_results
from studies.robustness_report import (
    JUDGES,
    LEARNERS,
    arm_name,
    detection_table,
    draw_robustness,
    noise_table,
    votes_table,
)
from studies.study import run_board, run_study
from studies.tables import Table

__all__ = ["RobustnessFile", "load_robustness", "run_robustness", "write_robustness"]

SETTINGS = "robustness.json"


class Detection(BaseModel):
    """Settings of the examination of judges."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: Annotated[int, Field(ge=1)] = 2
    """Corrupted in each trajectory."""
    votes: Annotated[int, Field(ge=1, le=32)] = 8
    """On each step, so that a mean vote is finer than in the loop."""

    @property
    def label(self) -> str:
        """A name that tells these settings from others, fit for a folder."""
        return f"{self.steps}-steps-{self.votes}-votes"


class RobustnessFile(BaseModel):
    """The content of a robustness file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    study: StudyFile
    """Has the variants ``outcome`` and ``integrated``; those with corrupted feedback are made of them."""
    shares: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.1, 0.3)
    """Shares of flipped outcomes and votes."""
    detection: Detection = Detection()

    @model_validator(mode="after")
    def _has_the_learners(self) -> Self:
        if missing := [name for name in LEARNERS if name not in self.study.variants]:
            raise ValueError(f"study.variants: {', '.join(missing)} is missing; both learners are compared")
        return self

    def expanded(self) -> StudyFile:
        """The study with an arm for each learner and each share of corrupted feedback."""
        variants, arms = dict(self.study.variants), [*self.study.arms]
        for learner in LEARNERS:
            for what in CorruptConfig.model_fields:
                if learner == "outcome" and what == "votes":
                    continue  # no vote reaches it
                for share in self.shares:
                    name, base = arm_name(learner, what, share), self.study.variants[learner]
                    meaning = f"{learner}, with {100 * share:g} % of the {what} flipped."
                    variants[name] = Arm(meaning=meaning, config={**base.config, "corrupt": {what: share}})
                    arms.append(name)
        return self.study.model_copy(update={"variants": variants, "arms": tuple(dict.fromkeys(arms))})


def load_robustness(path: Path) -> RobustnessFile:
    """Read a robustness file.

    Raises:
        StudyError: It is missing, not YAML, or a key or value is not allowed.
    """
    return load_file(path, RobustnessFile)


def run_robustness(
    file: RobustnessFile,
    folder: Path,
    *,
    seeds: int | None,
    workers: int,
    command: str,
    overrides: Sequence[str] = (),
) -> int:
    """Train all learners, show their judges corrupted trajectories, and write tables and figure.

    Returns:
        The number of jobs that failed or could not be begun.

    Raises:
        StudyError: The file cannot be run, or the folder holds a study with other settings.
    """
    plan = make_plan(file.expanded(), seeds=seeds, overrides=overrides)
    failed = run_study(plan, folder, workers=workers, command=command)
    write_atomically(folder / SETTINGS, file.model_dump_json(indent=1) + "\n")
    console = Console(highlight=False, markup=False)
    try:
        jobs = detection_jobs(plan, folder, file.detection)
        failed += run_board("Judges on corrupted trajectories", jobs, _progress, _note, workers, console)
    finally:
        console.print(f"Tables: {write_robustness(folder)}", soft_wrap=True)
    return failed


def detection_jobs(plan: Plan, study: Path, settings: Detection) -> list[Job]:
    """One job for each seed whose runs have ended."""
    (regime,) = plan.regimes
    jobs = []
    for seed in plan.seeds:
        judges = {name: run_path(study, regime, arm, seed) for name, arm in JUDGES.items()}
        if not all(has_ended(RunFolder(path)) for path in judges.values()):
            continue
        result = study / "detection" / settings.label / f"seed-{seed}.parquet"
        jobs.append(
            Job(
                key=Key(regime, "judges", seed),
                work={
                    "kind": "detect",
                    "config": RunFolder(judges["warm start"]).config(),
                    "folder": str(judges["warm start"]),
                    "judges": {name: str(path) for name, path in judges.items()},
                    "settings": settings.model_dump(),
                    "result": str(result),
                },
                log=study / "detection" / "logs" / f"seed-{seed}.txt",
                results=(result,),
            )
        )
    return jobs


def _progress(job: Job) -> Progress:
    return Progress(1.0 if job.done else 0.0, "judging")


def _note(job: Job) -> str:
    return f"{len(pd.read_parquet(job.results[0], columns=['seed'])):,} places"


def write_robustness(folder: Path) -> Path:
    """Write detection.parquet, robustness.md, robustness.tex and the figure from the results so far; return the
    Markdown.

    Raises:
        StudyError: It is not the folder of a study.
    """
    study = read_study(folder)
    file = RobustnessFile.model_validate_json((folder / SETTINGS).read_text(encoding="utf-8"))
    found = [
        pd.read_parquet(path) for path in sorted((folder / "detection" / file.detection.label).glob("seed-*.parquet"))
    ]
    tables: list[Table] = []
    places = pd.concat(found, ignore_index=True) if found else None
    if places is not None:
        write_frame(places, folder / "detection.parquet")
        tables += [detection_table(places), votes_table(places)]
    results = read_results(folder)
    regime = next(iter({key.regime: None for key, _ in stored_runs(folder)}), next(iter(study.regimes)))
    if len(results):
        panels = panels_of(folder, regime)
        tables += [noise_table(results, regime, panel, file.shares) for panel in panels]
        figure = draw_robustness(places, results, regime, panels[0], file.shares)
        save_figure(figure, folder / "figures" / "robustness")
    write_atomically(folder / "robustness.tex", "\n".join(table.latex() for table in tables) or "% nothing yet\n")
    page = folder / "robustness.md"
    write_atomically(page, "\n".join(table.markdown() for table in tables) or "No run has ended yet.\n")
    return page
