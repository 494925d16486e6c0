"""A study from its plan to its page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml
from rich.console import Console

from rlanything_agents.runs.folder import differences, write_atomically
from rlanything_agents.runs.summary import installed_versions
from studies.jobs import Job, Progress, training_jobs, training_progress
from studies.plan import BEFORE, Plan, StudyError
from studies.report import write_study_report
from studies.runner import Board, Screen, State, run_jobs, tail

__all__ = ["run_board", "run_study"]


def run_study(plan: Plan, folder: Path, *, workers: int, command: str, jobs: Sequence[Job] | None = None) -> int:
    """Run, or continue, every run of a plan, and write the report.

    Args:
        plan: The runs.
        folder: Of the study; may hold a part of it already.
        workers: Runs in parallel.
        command: The user's command line.
        jobs: Jobs of the runs; one for each run if None.

    Returns:
        The number of jobs that failed or could not be begun.

    Raises:
        StudyError: The folder holds runs of the same name with other settings.
        KeyboardInterrupt: The report of the results so far has been written.
    """
    console = Console(highlight=False, markup=False)
    _prepare(plan, folder, command, console)
    jobs = training_jobs(plan, folder, command) if jobs is None else jobs
    title = f"{plan.study.name}: {', '.join(plan.regimes)}, {len(plan.seeds)} seeds, {workers} workers"
    try:
        return run_board(title, jobs, training_progress, _outcome, workers, console)
    finally:
        page = write_study_report(folder)
        console.print(f"Report: {page}", soft_wrap=True)


def run_board(
    title: str,
    jobs: Sequence[Job],
    progress: Callable[[Job], Progress],
    outcome: Callable[[Job], str],
    workers: int,
    console: Console,
) -> int:
    """Run jobs, show them, and say which failed.

    Args:
        title: First line.
        jobs: In the order of their importance.
        progress: Progress of a running job.
        outcome: Result of a finished job, in a few characters.
        workers: Processes in parallel.
        console: Where to show them.

    Returns:
        The number of jobs that failed or could not be begun.
    """
    console.print(title, soft_wrap=True)
    return _show_failures(run_jobs(jobs, workers, Screen(progress, outcome, console).show), console)


def _show_failures(board: Board, console: Console) -> int:
    """Print the ends of the logs of failed jobs, each once; return how many jobs are not done."""
    by_end: dict[str, list[Job]] = {}
    for job in board.failures():
        by_end.setdefault(tail(job), []).append(job)
    for end, jobs in by_end.items():
        names = ", ".join(str(job.key) for job in jobs)
        console.print(f"Failed: {names}; the end of {jobs[0].log}:", style="red", soft_wrap=True)
        console.print(end, soft_wrap=True)
    if blocked := board.count(State.blocked):
        console.print(f"{blocked} more could not begin: what they need has failed")
    return board.count(State.failed) + board.count(State.blocked)


def _prepare(plan: Plan, folder: Path, command: str, console: Console) -> None:
    """Store what the report needs; refuse a folder whose runs have other settings."""
    settings, stored = folder / "configs", folder / "study.json"
    old = json.loads(stored.read_text(encoding="utf-8"))["variants"] if stored.exists() else {}
    for regime, by_arm in plan.configs.items():
        (settings / regime).mkdir(parents=True, exist_ok=True)
        for arm, config in by_arm.items():
            path, new = settings / regime / f"{arm}.yaml", config.model_dump(mode="json")
            changed = sorted(differences(yaml.safe_load(path.read_text()), new)) if path.exists() else []
            if path.exists() and arm in old and old[arm].get("votes") != plan.study.variants[arm].votes:
                changed.append("votes")
            if changed:
                raise StudyError(
                    f"{folder} holds a study with other settings ({regime}, {arm}: {', '.join(changed)}); "
                    f"give this one another --out, or delete {folder}"
                )
            write_atomically(path, yaml.safe_dump(new, sort_keys=False))
    write_atomically(stored, plan.study.model_dump_json(indent=1) + "\n")
    _note_versions(folder, console)
    commands = folder / "command.txt"
    typed = commands.read_text().splitlines() if commands.exists() else []
    if command not in typed:
        write_atomically(commands, "\n".join([*typed, command]) + "\n")


def _note_versions(folder: Path, console: Console) -> None:
    """Store what the runs are made with; say when that is not what the earlier ones were made with."""
    path, new = folder / "versions.json", installed_versions()
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else new
    if changed := sorted(name for name in new if old.get(name) != new[name]):
        console.print(f"{folder} was begun with other versions ({', '.join(changed)}): its runs are not all alike")
    write_atomically(path, json.dumps(new, indent=2) + "\n")


def _outcome(job: Job) -> str:
    """Success on the panels of a finished run."""
    name = "before.json" if job.key.arm == BEFORE else "after.json"
    result = json.loads((Path(job.work["folder"]) / "stages" / name).read_text())
    return " ".join(f"{100 * panel['rate']:.1f}" for panel in result["panels"].values())
