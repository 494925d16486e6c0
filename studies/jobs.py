"""The jobs of a study: their files, dependencies and progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.folder import RunFolder
from studies.plan import BEFORE, Plan, StudyError

__all__ = [
    "Job",
    "Key",
    "Progress",
    "has_ended",
    "run_path",
    "stored_runs",
    "training_jobs",
    "training_progress",
    "weights_of",
]


class Key(NamedTuple):
    """Key of a run of a study."""

    regime: str
    arm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.regime}/seed-{self.seed}/{self.arm}"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run: a share of the whole, and its text for a table."""

    share: float
    note: str


@dataclass(frozen=True, slots=True)
class Job:
    """One process to run.

    Attributes:
        key: Key of the job.
        work: Input of `studies.worker`.
        log: Where its output goes.
        results: Files that exist when it is done.
        needs: Jobs that must be done before.
    """

    key: Key
    work: Mapping[str, Any]
    log: Path
    results: tuple[Path, ...]
    needs: tuple[Key, ...] = ()

    @property
    def done(self) -> bool:
        """Everything it makes is there."""
        return all(path.exists() for path in self.results)


def run_path(study: Path, regime: str, arm: str, seed: int) -> Path:
    """The run folder of an arm and a seed."""
    return study / "runs" / str(Key(regime, arm, seed))


def stored_runs(study: Path) -> Iterator[tuple[Key, RunFolder]]:
    """Run folders that a study folder holds, finished or not."""
    for path in sorted(study.glob("runs/*/seed-*/*/config.json")):
        folder = path.parent
        seed = folder.parent.name.removeprefix("seed-")
        if seed.isdigit():
            yield Key(folder.parent.parent.name, folder.name, int(seed)), RunFolder(folder)


def has_ended(run: RunFolder) -> bool:
    """Whether a run, or a warm start that arms share, is complete."""
    return run.stage("before") is not None if run.path.name == BEFORE else run.summary.exists()


def weights_of(folder: RunFolder) -> Path:
    """Where the weights of a run are at its end; of a run that was only warmed up, those of the warm start.

    Raises:
        StudyError: The run has not come to them.
        RunFolderError: They are damaged.
    """
    if checkpoint := folder.final_weights():
        return checkpoint
    if folder.path.name == BEFORE and (warm := folder.warm_weights()):
        return warm
    raise StudyError(f"{folder.path} has no final weights: let the study come to its end, or leave this run out")


def training_jobs(plan: Plan, study: Path, command: str) -> list[Job]:
    """Every run of a plan in order; the arms of a seed wait for its warm start."""
    jobs = []
    for regime, arm, seed in plan.runs():
        path = run_path(study, regime, arm, seed)
        warm = run_path(study, regime, BEFORE, seed)
        before, config = arm == BEFORE, plan.config(regime, arm, seed)
        if not before:
            reused = config.warm_start.model_copy(update={"reuse": warm.resolve()})
            config = config.model_copy(update={"warm_start": reused})
        jobs.append(
            Job(
                key=Key(regime, arm, seed),
                work={
                    "kind": "warm" if before else "train",
                    "config": config.model_dump(mode="json"),
                    "folder": str(path),
                    "command": command,
                    "votes": None if before else plan.study.variants[arm].votes,
                },
                log=path / "log.txt",
                results=(path / "stages" / "before.json",) if before else (path / "summary.json",),
                needs=() if before else (Key(regime, BEFORE, seed),),
            )
        )
    return jobs


def training_progress(job: Job) -> Progress:
    """Read how far a run is from its folder."""
    folder = RunFolder(Path(job.work["folder"]))
    if job.key.arm == BEFORE:
        warm = (folder.path / "stages" / "warm_start.json").exists()
        return Progress(0.5 if warm else 0.0, "panels" if warm else "warm start")
    try:
        rows = folder.rows()
    except (OSError, json.JSONDecodeError):  # being rewritten by its process
        rows = []
    if not rows:
        return Progress(0.0, "starts")
    iteration, success = rows[-1]["iteration"], rows[-1]["success"]["active"]
    config = job.work["config"]
    share = iteration / config["iterations"]
    if budget := config["env_steps"]:
        share = max(share, sum(row["env_steps"] for row in rows) / budget)
    return Progress(min(1.0, share), f"it {iteration}" + ("" if success is None else f" {percent(success, 0)}"))
