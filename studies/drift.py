"""``study drift``: where tasks go over many cycles of adaptation, for a player that stays the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from rlanything_agents.config import CurriculumConfig, LLMConfig
from rlanything_agents.runs.folder import write_atomically
from studies.drift_report import SCRIPTED_ONLY, draw_drift, end_table, success_table
from studies.drifting import Following
from studies.figures import save_figure
from studies.jobs import Job, Key, Progress
from studies.plan import Name, StudyError, load_file
from studies.report import write_frame
from studies.study import run_board
from studies.tables import Table

__all__ = ["DriftFile", "load_drift", "read_drift", "run_drift", "with_service", "write_drift"]

SETTINGS = "drift.json"
LLM = "llm"


class DriftArm(BaseModel):
    """One way to adapt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    meaning: str
    curriculum: CurriculumConfig


class DriftFile(BaseModel):
    """The content of a drift file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    meaning: str
    seeds: Annotated[int, Field(gt=0)]
    following: Following = Following()
    arms: Annotated[dict[Name, DriftArm], Field(min_length=1)]

    @property
    def asks_a_model(self) -> bool:
        """Whether any arm has its tasks rewritten by a language model."""
        return any(arm.curriculum.rewriter == "llm" for arm in self.arms.values())


def load_drift(path: Path) -> DriftFile:
    """Read a drift file.

    Raises:
        StudyError: It is missing, not YAML, or a key or value is not allowed.
    """
    return load_file(path, DriftFile)


def with_service(file: DriftFile, service: LLMConfig) -> DriftFile:
    """The file with an arm ``llm``: its last arm with a language model as the rewriter."""
    name, last = list(file.arms.items())[-1]
    settings = last.curriculum.model_copy(update={"rewriter": "llm", "llm": service})
    arm = DriftArm(meaning=f"{name}, rewritten by {service.model}.", curriculum=settings)
    return file.model_copy(update={"arms": {**file.arms, LLM: arm}})


def run_drift(
    file: DriftFile,
    folder: Path,
    *,
    arms: Sequence[str] = (),
    seeds: int | None,
    workers: int,
    command: str,
    policy: Path | None = None,
) -> int:
    """Follow every curriculum, and write tables and figure.

    Returns:
        The number of jobs that failed.

    Raises:
        StudyError: No such arm, or the folder holds a study with other settings.
    """
    if unknown := set(arms) - set(file.arms):
        raise StudyError(f"--arms: there is no {', '.join(sorted(unknown))}; there are {', '.join(file.arms)}")
    chosen = {name: arm for name, arm in file.arms.items() if not arms or name in arms}
    _prepare(file, folder, command, policy)
    jobs = [
        _job(file, folder, name, arm, seed, policy)
        for seed in range(file.seeds if seeds is None else seeds)
        for name, arm in chosen.items()
    ]
    console = Console(highlight=False, markup=False)
    title = f"{file.name}: {file.following.cycles} cycles, {len(jobs)} curricula, {workers} workers"
    try:
        return run_board(title, jobs, _progress, _note, workers, console)
    finally:
        console.print(f"Tables: {write_drift(folder)}", soft_wrap=True)


def _prepare(file: DriftFile, folder: Path, command: str, policy: Path | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored, new = folder / SETTINGS, json.loads(file.model_dump_json())
    new["policy"] = None if policy is None else str(policy)
    if stored.exists():
        old = json.loads(stored.read_text(encoding="utf-8"))
        known = {name: arm for name, arm in new["arms"].items() if name in old["arms"]}
        alike = {**new, "seeds": old["seeds"], "arms": {**old["arms"], **known}}
        if alike != old:
            raise StudyError(
                f"{folder} holds a drift study with other settings; give this one another --out, or delete {folder}"
            )
        new["arms"] = {**old["arms"], **new["arms"]}
    write_atomically(stored, json.dumps(new, indent=1) + "\n")
    write_atomically(folder / "command.txt", command + "\n")


def _job(file: DriftFile, study: Path, name: str, arm: DriftArm, seed: int, policy: Path | None) -> Job:
    folder = study / "runs" / "drift" / f"seed-{seed}" / name
    return Job(
        key=Key("drift", name, seed),
        work={
            "kind": "drift",
            "config": {"threads": 1},
            "folder": str(folder),
            "following": file.following.model_dump(),
            "curriculum": arm.curriculum.model_dump(mode="json"),
            "seed": seed,
            "policy": None if policy is None else str(policy.resolve()),
        },
        log=folder / "log.txt",
        results=(folder / "cycles.json",),
    )


def _progress(job: Job) -> Progress:
    path = Path(job.work["folder"]) / "progress.json"
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        return Progress(0.0, "starts")
    return Progress(state["cycle"] / (state["cycles"] + 1), f"cycle {state['cycle']}")


def _note(job: Job) -> str:
    last = json.loads(job.results[0].read_text(encoding="utf-8"))[-1]
    return f"{last['accepted']} accepted"


def read_drift(folder: Path) -> pd.DataFrame:
    """One row for each measured number: arm, seed, cycle, metric, value."""
    rows = []
    for path in sorted(folder.glob("runs/drift/seed-*/*/cycles.json")):
        arm, seed = path.parent.name, int(path.parent.parent.name.removeprefix("seed-"))
        for row in json.loads(path.read_text(encoding="utf-8")):
            numbers = {k: v for k, v in row.items() if isinstance(v, int | float) and k != "cycle"}
            rows += [(arm, seed, row["cycle"], metric, float(value)) for metric, value in numbers.items()]
    return pd.DataFrame(rows, columns=["arm", "seed", "cycle", "metric", "value"])


def write_drift(folder: Path) -> Path:
    """Write results.parquet, drift.md, drift.tex and the figure from the results so far; return the Markdown."""
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    settings.pop("policy")
    file = DriftFile.model_validate(settings)
    results = read_drift(folder)
    write_frame(results, folder / "results.parquet")
    arms = [arm for arm in file.arms if arm in set(results.arm)]
    tables: list[Table] = []
    if arms:
        tables = [
            end_table(results, arms, file.name, "" if file.asks_a_model else SCRIPTED_ONLY),
            success_table(results, arms),
        ]
        save_figure(draw_drift(results, arms), folder / "figures" / "drift")
    write_atomically(folder / "drift.tex", "\n".join(table.latex() for table in tables) or "% nothing yet\n")
    lines = [f"`{arm}`: {file.arms[arm].meaning}" for arm in arms]
    text = "\n".join([*(table.markdown() for table in tables), *lines]) or "No curriculum has been followed yet."
    page = folder / "drift.md"
    write_atomically(page, f"{text}\n")
    return page
