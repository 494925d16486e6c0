"""A run from beginning to end: warm start, evaluation, the loop, evaluation, report.

Each stage stores its result in the run folder and is skipped when the result is already there; the loop stores a
checkpoint after each iteration. So the same command continues a run that was interrupted anywhere.
"""

from __future__ import annotations

import gc
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from rich.markup import escape
from rich.table import Table
from transformers.utils import logging as transformers_logging

from rlanything_agents.config import RunConfig
from rlanything_agents.feedback.percent import percent
from rlanything_agents.rollout.workers import LocalWorkers, Workers, open_workers
from rlanything_agents.runs.evaluate import Evaluation
from rlanything_agents.runs.folder import RunFolder, RunFolderError, write_atomically
from rlanything_agents.runs.hooks import DropRejected, Hook
from rlanything_agents.runs.lead import check_launch, leading
from rlanything_agents.runs.loop import Loop
from rlanything_agents.runs.monitors.hook import MonitorHook
from rlanything_agents.runs.parts import RunParts
from rlanything_agents.runs.player import make_player
from rlanything_agents.runs.preflight import collections_of, preflight
from rlanything_agents.runs.progress import Reporter, duration
from rlanything_agents.runs.records import RecordHook, ScreenHook, ServiceHook
from rlanything_agents.runs.report import write_report
from rlanything_agents.runs.rewriting import make_curriculum, make_summariser, open_rewriter, service_of
from rlanything_agents.runs.stopping import RunStopped, resumably
from rlanything_agents.runs.storage import storing
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.summary import accepted_rewrites, at_service, installed_versions, summarise
from rlanything_agents.runs.tracking import Tracking, evaluation_metrics, iteration_metrics
from rlanything_agents.runs.warm_start import warm_start
from rlanything_agents.training.ranks.channel import Ranks
from rlanything_envs.curriculum.prompting import plain
from rlanything_task_pools import PoolError, TaskPool

__all__ = ["Run", "RunStopped", "open_run", "train", "warm_up"]


def train(
    config: RunConfig,
    folder: RunFolder,
    reporter: Reporter,
    *,
    command: str,
    ranks: Ranks | None = None,
    hooks: Sequence[Hook] = (),
) -> dict[str, Any]:
    """Run, or continue, the run of ``config`` in ``folder``.

    Args:
        config: All settings.
        folder: Folder of the run.
        reporter: Shows progress; `Reporter.silent` shows none.
        command: Command line of the user, for the report.
        ranks: All training processes, where there are several and this one leads; the others call
            `rlanything_agents.runs.follow.follow`.
        hooks: Called between the steps of each iteration, in this order; they are no part of the stored settings.

    Returns:
        The content of ``summary.json``.

    Raises:
        TrainingError: There are several processes and none of them leads, or they cannot train together.
        RunFolderError: The folder belongs to another run or is in use, or the reused warm start does not fit.
        UnknownName: The domain is not installed, or has no such view.
        ValueError: The domain rejects its knobs or operators.
        MissingKey, MissingExtra: The service of an LLM rewriter cannot be used, or a tracker is not installed.
        RunStopped: The disk is full, the service of a rewriter is lost, or a monitor stopped the run; finished work is
            kept, and the same call continues.
    """
    with open_run(config, folder, reporter, ranks) as run:
        run.warm_start()
        before = run.evaluate("before")
        try:
            run.iterate(hooks)
        except RunStopped as stopped:
            run.report(before, None, command, stopped=str(stopped))
            raise
        after = run.evaluate("after")
        return run.finish(before, after, command)


def warm_up(config: RunConfig, folder: RunFolder, reporter: Reporter) -> dict[str, Any]:
    """Run only the warm start and its evaluation, for runs that name this folder in ``warm_start.reuse``.

    Returns:
        Result of the evaluation.
    """
    with open_run(config, folder, reporter) as run:
        run.warm_start()
        return run.evaluate("before")


@contextmanager
def open_run(config: RunConfig, folder: RunFolder, reporter: Reporter, ranks: Ranks | None = None) -> Iterator[Run]:
    """Open a run for its stages; see `train` for the arguments, the stages and the errors."""
    check_launch(config, ranks)
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    transformers_logging.disable_progress_bar()
    try:
        with resumably(folder):
            preflight(config, folder)
            with folder.alone():
                tracking = Tracking(config.trackers, reporter.say)
                parts = RunParts.assemble(config, folder, reporter)
                if folder.prepare(config.model_dump(mode="json")):
                    reporter.say(f"Continuing {folder.path}")
                    for message in folder.drop_damaged_stages():
                        _say(reporter, message)
                write_atomically(folder.path / "versions.json", json.dumps(installed_versions(), indent=2) + "\n")
                try:
                    with leading(config, parts.learners, ranks), open_workers(config, parts.learners) as workers:
                        yield Run(parts, tracking, workers)
                finally:
                    tracking.finish()
                    parts.close()
    finally:
        torch.set_num_threads(threads)


def _say(reporter: Reporter, text: str) -> None:
    """Print one line of untrusted text from a service, a model or a file."""
    reporter.say(escape(plain(text, 1000)))


class Run:
    """The stages of one run."""

    def __init__(self, parts: RunParts, tracking: Tracking, workers: Workers | None) -> None:
        self.parts = parts
        self.tracking = tracking
        self.config = parts.config
        self.folder = parts.folder
        self.reporter = parts.reporter
        self.workers = workers
        self.evaluation = Evaluation(parts, workers)

    def warm_start(self) -> None:
        """Warm up both models."""
        warm_start(self.parts)

    def evaluate(self, when: str) -> dict[str, Any]:
        """Evaluate policy and reward model; ``when`` is ``before`` or ``after``."""
        return self.evaluation.before() if when == "before" else self.evaluation.run(when)

    def iterate(self, hooks: Sequence[Hook] = ()) -> None:
        """Run the loop from the newest checkpoint until the budget is used up."""
        with self.loop(hooks) as step:
            while step():
                pass

    @contextmanager
    def loop(self, hooks: Sequence[Hook] = ()) -> Iterator[Callable[[], bool]]:
        """Loop that resumes from the newest checkpoint.

        Yields:
            Function that runs one iteration and stores its checkpoint, or returns False where the budget is used up.
        """
        config, parts, folder = self.config, self.parts, self.folder
        done, pool, checkpoint = self._resume()
        rows = folder.rows()
        if len(rows) != done:
            raise RunFolderError(
                f"{folder.metrics} has {len(rows)} of the {done} iterations before the checkpoint: restore it "
                f"from a copy, or start over with --restart"
            )
        self.tracking.start(config.name, folder.path, config.model_dump(mode="json"), done)
        with (
            pool,
            open_rewriter(config.curriculum, folder.prompts, self._say) as rewriter,
            self.reporter.stage("Closed loop", config.iterations) as stage,
        ):
            summariser = make_summariser(config, rewriter, parts.judge_model)
            curriculum = make_curriculum(config, pool, rewriter)
            screens = ScreenHook(parts.envs, config.rollout.screenshots, folder)
            workers = self.workers or LocalWorkers(config, parts.learners, screens.envs)
            player = make_player(config, workers, parts.reviewer, curriculum, parts.learners)
            monitors = MonitorHook(rows, config, self._say)
            loop = Loop(
                parts.learners,
                parts.reviewer,
                curriculum,
                player,
                used=config.used,
                seed=config.seed,
                adapt=config.curriculum.adapt,
                summariser=summariser,
                summarise_first=config.summariser == "judge",
                hooks=[
                    *([DropRejected(curriculum)] if config.curriculum.rejected == "drop" else []),
                    *hooks,
                    ServiceHook(service_of(rewriter), summariser),
                    monitors,
                    screens,
                    RecordHook(folder, parts.learners, player, pool),
                ],
            )
            if checkpoint is not None:
                player.load(checkpoint)

            def step() -> bool:
                if (used := config.used(rows)) >= 1:
                    return False
                stage.reach(round(used * config.iterations), _note(rows))
                self._evaluate_during_loop(len(rows))
                self.tracking.reach(len(rows), self._tracked)
                rows.append(loop.iterate(rows).row)
                monitors.stop()
                if len(rows) == done + 1:
                    self._say_time_left(rows)
                return True

            with _out_of_collections():
                yield step
            stage.reach(config.iterations, _note(rows))

    def _resume(self) -> tuple[int, TaskPool, Path | None]:
        """Restore models and pool from the newest undamaged checkpoint, or begin without one.

        Returns:
            The iterations done, the pool, and the folder of the checkpoint; None without one.
        """
        if (checkpoint := self.folder.checkpoints.latest()) is None:
            self._delete_pool()
            self.folder.rewind(0)
            for key, found in collections_of(self.config):
                for place, reason in list(found.refused.items())[:1]:
                    self._say(f"{key}: {len(found.refused)} of its files are refused, as {place}: {reason}")
            tasks = self.parts.train_tasks("pool", self.config.curriculum.pool_size)
            return 0, TaskPool.create(self.folder.pool, tasks), None
        done, path = checkpoint
        copy = path / self.folder.pool.name
        if damaged := self.folder.checkpoints.damaged():
            self._say(f"going on after iteration {done}, for a later checkpoint is damaged: {'; '.join(damaged)}")
        self.parts.learners.load(path)
        try:
            pool = TaskPool.open(self.folder.pool)
            pool.restore(copy)
        except (PoolError, sqlite3.DatabaseError):  # the pool is damaged or missing; its copy is not
            self._delete_pool()
            with storing(self.folder.pool):
                shutil.copyfile(copy, self.folder.pool)
            pool = TaskPool.open(self.folder.pool)
            pool.restore(copy)
        self.folder.rewind(done)
        return done, pool, path

    def _delete_pool(self) -> None:
        for leftover in self.folder.path.glob(f"{self.folder.pool.name}*"):
            leftover.unlink()

    def _say_time_left(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Say how long the rest takes, by the newest iteration and the evaluation before the loop."""
        iterations = len(rows) / self.config.used(rows)
        loop = (iterations - len(rows)) * sum(rows[-1]["seconds"].values())
        whole = (self.folder.stage("before") or {}).get("seconds", 0.0)
        evaluations = whole * (1 + self.config.evaluation.share_during(round(iterations), len(rows)))
        if loop > 0:
            parts = f"{duration(loop)} of iterations, {duration(evaluations)} of evaluations"
            self._say(f"About {duration(loop + evaluations)} left: {parts}")

    def _say(self, text: str) -> None:
        _say(self.reporter, text)

    def _evaluate_during_loop(self, done: int) -> None:
        settings = self.config.evaluation
        if settings.every and done and done % settings.every == 0:
            self.evaluation.run(_point(done), settings.every_episodes)

    def report(
        self, before: Mapping[str, Any], after: Mapping[str, Any] | None, command: str, stopped: str = ""
    ) -> dict[str, Any]:
        """Write the report of the run so far; returns the content of ``summary.json``.

        Args:
            before: Evaluation before the loop.
            after: Evaluation after the loop; None of an unfinished run.
            command: Command line of the user.
            stopped: Reason of an early end; empty without one.
        """
        rows = self.folder.rows()
        with TaskPool.open(self.folder.pool) as pool:
            counts, rewrites = pool.counts(), list(accepted_rewrites(pool))
        warm = self.folder.stage("warm_start") or {}
        points, reviewer = list(self._curve(rows)), self.parts.reviewer
        summary = summarise(self.config, warm, before, after, rows, counts, command, reviewer, points, stopped)
        write_report(
            self.folder.report, summary=summary, rows=rows, rewrites=rewrites, episodes=self._example_episodes()
        )
        return summary

    def finish(self, before: Mapping[str, Any], after: Mapping[str, Any], command: str) -> dict[str, Any]:
        """Write summary and report, and show the table."""
        rows, summary = self.folder.rows(), self.report(before, after, command)
        self.tracking.reach(len(rows), self._tracked)
        self.tracking.finish(self.folder.report)
        # Last, because a folder with a summary is a finished run.
        write_atomically(self.folder.summary, json.dumps(summary, indent=2) + "\n")
        table = Table(title=f"{self.config.name}, seed {self.config.seed}")
        for column in ("", "measured on", "before", "after", "change"):
            table.add_column(column)
        for line in summary["table"]:
            table.add_row(*(line[key] for key in ("what", "on", "before", "after", "change")))
        self.reporter.show(table)
        self._say(summary["verdict"]["text"])
        for reason in summary["verdict"]["why"]:
            self._say(f"- {reason}")
        if summary["service"]:
            self.reporter.say(summary["service"])
        if far := rows[-1]["curriculum"]["far"]:
            self.reporter.say(f"{len(far)} tasks are far from their roots: rlanything pool lineage {self.folder.path}")
        self.reporter.say(f"{summary['seconds']:.0f} s. Report: {self.folder.report}")
        return summary

    def _tracked(self, step: int) -> dict[str, float]:
        """Metrics of an iteration for trackers, with those of the evaluations after it; step 0 is before the loop."""
        rows = self.folder.rows()
        numbers = iteration_metrics(rows[step - 1]) if step else {}
        stages = ["before"] if step == 0 else [_point(step), *(["after"] if step == len(rows) else [])]
        found = [result for name in stages if (result := self.folder.stage(name))]
        return {**numbers, **_merged(map(evaluation_metrics, found))}

    def _curve(self, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """Evaluations during the loop, in order."""
        env_steps = 0
        for row in rows:
            env_steps += row["env_steps"]
            if point := self.folder.stage(_point(row["iteration"])):
                yield {"iteration": row["iteration"], "env_steps": env_steps, **point}

    def _example_episodes(self) -> list[dict[str, Any]]:
        """One solved and one failed episode of the last iteration, the shortest ones; the solved one of at least five
        turns, where there is one.
        """
        if (newest := max(self.folder.trajectories.glob("*.jsonl.gz"), default=None)) is None:
            return []
        try:
            episodes = sorted(
                (episode.model_dump() for episode in read_episodes(newest)), key=lambda e: len(e["turns"])
            )
        except RunFolderError as error:
            self._say(f"the report shows no episodes: {error}")
            return []
        solved = [e for e in episodes if e["outcome"] == 1]
        solved = [e for e in solved if len(e["turns"]) >= 5] or solved
        failed = [e for e in episodes if e["outcome"] == -1]
        return solved[:1] + failed[:1]


@contextmanager
def _out_of_collections() -> Iterator[None]:
    """Keep what is loaded by now out of garbage collections: transformers' trainer makes one before every update."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _merged(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """All parts in one mapping; a later part replaces values of an earlier one."""
    return {name: value for part in parts for name, value in part.items()}


def _point(iteration: int) -> str:
    """Name of the stage that evaluates the models after an iteration."""
    return f"iteration-{iteration:04d}"


def _note(rows: Sequence[Mapping[str, Any]]) -> str:
    """Success and accepted tasks of the last iteration, as a note of the progress bar."""
    if not rows:
        return ""
    success, tasks = rows[-1]["success"]["active"], rows[-1]["tasks"]
    seconds = sum(rows[-1]["seconds"].values())
    solved = "–" if success is None else percent(success, 0)
    service = at_service(rows[-1:])
    line = f"solved {solved}  tasks: {tasks['accepted']} accepted, {tasks['rejected']} rejected  {seconds:.1f} s"
    return f"{line}  {service}" if service else line
