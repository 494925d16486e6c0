"""What the studies of a judge have in common: for each seed a warm-started policy with its judge, and a trained judge.

Both are made by the study's own runs, or taken from the folder of another study.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from rlanything_agents.runs.folder import RunFolder, write_atomically
from studies.jobs import Job, Key, Progress, has_ended, run_path, training_jobs
from studies.plan import BEFORE, Plan, StudyError, StudyFile, make_plan
from studies.study import run_board, run_study

__all__ = [
    "TRAINED",
    "WARM",
    "AlignmentSettings",
    "JudgeFile",
    "Kind",
    "SearchSettings",
    "note_progress",
    "run_on_judges",
    "stored_progress",
]

WARM, TRAINED = "warm judge", "trained judge"
PROGRESS = "progress.json"
Kind = Literal["align", "search"]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AlignmentSettings(_Settings):
    """Settings of the comparison of update directions."""

    folds: Annotated[int, Field(ge=2)] = 8
    """Independent parts of the reference, each with one block of episodes."""
    blocks: Annotated[int, Field(ge=1)] = 2
    """Blocks of episodes that are cut into small batches."""
    episodes: Annotated[int, Field(ge=2)] = 8
    """Of each task of the pool in a block; a multiple of every group size."""
    batch: Annotated[int, Field(ge=2)] = 128
    """Episodes of a small batch, whatever its group size."""
    sizes: tuple[Annotated[int, Field(ge=2)], ...] = (2, 4, 8)
    """Group sizes."""
    lams: tuple[Annotated[float, Field(gt=0)], ...] = (0.2, 1.0)
    """Weights of the step rewards."""


class SearchSettings(_Settings):
    """Settings of best of n at test time."""

    games: Annotated[int, Field(ge=1)] = 96
    """Held-out games: the first of the study's first panel."""
    attempts: Annotated[int, Field(ge=1)] = 10
    """Whole episodes of each game."""
    budgets: tuple[Annotated[int, Field(ge=1)], ...] = (36, 84)
    """Environment steps for each game, at which best of n is reported; and those of one attempt."""
    cut: Annotated[int, Field(ge=1)] = 6
    """Steps after which the best of the unfinished attempts is chosen."""


class JudgeFile(_Settings):
    """The content of a judge file."""

    study: StudyFile
    """Makes the warm start, and, as its one trained arm, the trained judge."""
    alignment: AlignmentSettings = AlignmentSettings()
    search: SearchSettings = SearchSettings()


def run_on_judges(
    file: JudgeFile,
    kind: Kind,
    folder: Path,
    write: Callable[[Path], Path],
    *,
    seeds: int | None,
    workers: int,
    command: str,
    warm: Path | None = None,
    judge: str | None = None,
    overrides: Sequence[str] = (),
) -> int:
    """Make the warm starts and trained judges that are missing, run one job of a kind on each seed, and write the page.

    Args:
        file: The study.
        kind: Of the jobs, see `studies.worker`.
        folder: Where everything goes.
        write: Writes the page of what is in the folder, and returns it.
        seeds: Number of seeds; as the file says if None.
        workers: Processes in parallel.
        command: The user's command line.
        warm: Folder of another study, whose warm starts are used, and its trained judges where it has them.
        judge: Arm of ``warm`` whose reward model is the trained judge; the arm of this study's name if None.
        overrides: ``key.subkey=value``, for every run.

    Returns:
        The number of jobs that failed or could not be begun.

    Raises:
        StudyError: The folder holds a study with other settings, or ``warm`` lacks a warm start or the judge.
    """
    if judge is not None and warm is None:
        raise StudyError(f"--judge {judge} is an arm of another study: name its folder with --warm")
    plan, console = make_plan(file.study, seeds=seeds, overrides=overrides), Console(highlight=False, markup=False)
    settings = (file.alignment if kind == "align" else file.search).model_dump(mode="json")
    making = _making_jobs(plan, folder, command, warm, judge)
    of = {"judge": judge, "warm": None if warm is None else str(warm.resolve())}
    _keep_settings(folder / f"{kind}.json", settings | {key: value for key, value in of.items() if value is not None})
    try:
        failed = run_study(plan, folder, workers=workers, command=command, jobs=making)
        jobs = [_job(plan, kind, settings, folder, warm, judge, seed) for seed in plan.seeds]
        ready = [job for job in jobs if all(has_ended(RunFolder(Path(run))) for run in job.work["judges"].values())]
        title = f"{kind}: {len(ready)} seeds, {workers} workers"
        return failed + run_board(title, ready, stored_progress, _note, workers, console)
    finally:
        console.print(f"Page: {write(folder)}", soft_wrap=True)


def _making_jobs(plan: Plan, folder: Path, command: str, warm: Path | None, judge: str | None) -> list[Job]:
    """Runs that make warm starts and trained judges; with ``warm`` only what that study lacks."""
    jobs = training_jobs(plan, folder, command)
    if warm is None:
        return jobs
    kept = []
    for job in jobs:
        regime, arm, seed = job.key
        source = run_path(warm, regime, arm if arm == BEFORE else judge or arm, seed)
        if arm != BEFORE:
            if not has_ended(RunFolder(source)):
                if judge is not None:
                    raise StudyError(f"--judge {judge}: {source} is no finished run: let that study come to it")
                kept.append(job)
            continue
        if not (source / "stages" / "warm_start.json").exists():
            raise StudyError(
                f"--warm {warm}: {source} has no warm start: let that study come to it, or leave --warm out"
            )
        config = dict(job.work["config"])
        config["warm_start"] = {**config["warm_start"], "reuse": str(source.resolve())}
        kept.append(replace(job, work={**job.work, "config": config}))
    return kept


def _job(
    plan: Plan, kind: Kind, settings: Mapping[str, Any], folder: Path, warm: Path | None, judge: str | None, seed: int
) -> Job:
    (regime,), (arm,) = plan.regimes, plan.arms
    before, trained = run_path(folder, regime, BEFORE, seed), run_path(folder, regime, arm, seed)
    if warm is not None and (judge is not None or not has_ended(RunFolder(trained))):
        trained = run_path(warm, regime, judge or arm, seed)
    place = folder / kind / f"seed-{seed}"
    return Job(
        key=Key(regime, kind, seed),
        work={
            "kind": kind,
            "config": plan.config(regime, BEFORE, seed).model_dump(mode="json"),
            "folder": str(place),
            "judges": {WARM: str(before), TRAINED: str(trained)},
            "settings": dict(settings),
        },
        log=place / "log.txt",
        results=(place / "result.json",),
    )


def _keep_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Store the settings of the jobs; refuse a folder whose jobs have others."""
    text = json.dumps(settings, indent=1) + "\n"
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != json.loads(text):
        raise StudyError(
            f"{path.parent} holds a study with other settings ({path.name}); give this one another --out, or delete "
            f"{path.parent}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)


def note_progress(folder: Path, done: int, of: int, note: str) -> None:
    """Store how far a job is, for `stored_progress`."""
    write_atomically(folder / PROGRESS, json.dumps({"done": done, "of": of, "note": note}))


def stored_progress(job: Job) -> Progress:
    """Read how far a job is from its folder."""
    try:
        state = json.loads((Path(job.work["folder"]) / PROGRESS).read_text(encoding="utf-8"))
    except OSError:
        return Progress(0.0, "starts")
    return Progress(state["done"] / state["of"], state["note"])


def _note(job: Job) -> str:
    note: str = json.loads(job.results[0].read_text(encoding="utf-8"))["note"]
    return note
