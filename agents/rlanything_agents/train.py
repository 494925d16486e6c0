"""A run from beginning to end: warm start, evaluation, the loop, evaluation, report.

Each stage leaves its result in the run folder and is skipped when it is already there; the loop leaves a
checkpoint after each iteration. So the same command continues a run that was interrupted anywhere.
"""

from __future__ import annotations

import gzip
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from rich.table import Table
from transformers.utils import logging as transformers_logging

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.config import RunConfig
from rlanything_agents.dialect import Step, get_dialect
from rlanything_agents.evaluate import measure_judge, panel_tasks, play_panel
from rlanything_agents.learners import Learner, Learners
from rlanything_agents.loop import Loop
from rlanything_agents.metrics import success_rate
from rlanything_agents.progress import Reporter
from rlanything_agents.report import write_report
from rlanything_agents.rollout import rollout
from rlanything_agents.run_folder import RunFolder, write_atomically
from rlanything_agents.seeds import seed_of
from rlanything_agents.summary import accepted_rewrites, installed_versions, summarise
from rlanything_agents.trajectory import Trajectory
from rlanything_agents.warmstart import Row, demonstrate, fit, judge_rows
from rlanything_envs.curriculum.monitor import DriftWarning
from rlanything_task_pools import Domain, Task, TaskPool, get_domain

__all__ = ["train"]


def train(config: RunConfig, folder: RunFolder, reporter: Reporter, *, command: str) -> dict[str, Any]:
    """Run, or continue, the run of ``config`` in ``folder``.

    Args:
        config: All settings.
        folder: Where everything is written.
        reporter: Shows progress.
        command: What the user typed; goes into the report.

    Returns:
        The content of ``summary.json``.

    Raises:
        RunFolderError: The folder belongs to another run.
        UnknownDomain, UnknownDialect: The domain is not installed, or has no small model.
    """
    torch.set_num_threads(config.threads)
    transformers_logging.disable_progress_bar()
    if folder.prepare(config.model_dump(mode="json")):
        reporter.say(f"Continuing {folder.path}")
    write_atomically(folder.path / "versions.json", json.dumps(installed_versions(), indent=2) + "\n")
    run = _Run(config, folder, reporter)
    run.warm_start()
    before = run.evaluate("before")
    run.iterate()
    after = run.evaluate("after")
    return run.finish(before, after, command)


class _Run:
    """The stages of one run."""

    def __init__(self, config: RunConfig, folder: RunFolder, reporter: Reporter) -> None:
        self.config = config
        self.folder = folder
        self.reporter = reporter
        self.domain: Domain = get_domain(config.domain)
        self.dialect = get_dialect(config.domain)
        self.learners = Learners(config, self.dialect)
        lanes = config.rollout.tasks * config.rollout.rollouts
        self.envs: list[gym.Env[Any, Any]] = [
            gym.make(self.domain.env_id, disable_env_checker=True) for _ in range(lanes)
        ]

    def warm_start(self) -> None:
        """Teach the policy the expert's manner and the judge a rule of thumb."""
        weights = self.folder.folder("warm_start")
        if self.folder.stage("warm_start") is None:
            settings, start = self.config.warm_start, time.perf_counter()
            tasks = self._train_tasks("demonstrations", settings.demonstrations)
            with self.reporter.stage("Demonstrations", len(tasks)) as stage:
                rows = demonstrate(
                    self.dialect,
                    self.envs[0],
                    tasks,
                    max_steps=settings.max_steps,
                    seed=self._seed("expert"),
                    progress=stage.add,
                )
            policy_losses = self._fit("policy", self.learners.policy, rows, settings.epochs)
            judge_losses = self._fit("judge", self.learners.judge, self._judge_rows(), settings.judge_epochs)
            self.learners.save(weights)
            result = {
                "demonstrations": len(rows),
                "policy_losses": policy_losses,
                "judge_losses": judge_losses,
                "seconds": time.perf_counter() - start,
            }
            self.folder.finish_stage("warm_start", result)
        self.learners.load(weights)

    def evaluate(self, when: str) -> dict[str, Any]:
        """Play the panels and measure the judge; ``when`` is ``before`` or ``after``."""
        stored = self.folder.stage(when)
        if stored is not None:
            return stored
        settings, start = self.config.evaluation, time.perf_counter()
        panels: dict[str, Any] = {}
        for number, split in enumerate(settings.panels):
            tasks = panel_tasks(self.domain, split, settings.episodes)
            with self.reporter.stage(f"Evaluation {when}, {split}", len(tasks)) as stage:
                trajectories = play_panel(
                    self.learners.policy.model,
                    self.dialect,
                    self.envs,
                    tasks,
                    settings,
                    constrained=self.config.rollout.constrained,
                    progress=stage.add,
                )
            panels[split] = asdict(success_rate([t.outcome for t in trajectories]))
            if number == 0 and when == "before":
                self._store_judge_panel(trajectories[: settings.judge_episodes], tasks)
        with self.reporter.stage(f"Evaluation {when}, judge", 1):
            judge = self._judge_quality()
        result = {"panels": panels, "judge": judge, "seconds": time.perf_counter() - start}
        self.folder.finish_stage(when, result)
        return result

    def iterate(self) -> None:
        """Run the loop from the newest checkpoint to the last iteration."""
        checkpoint = self.folder.latest_checkpoint()
        done = 0
        if checkpoint is None:
            for leftover in self.folder.path.glob(f"{self.folder.pool.name}*"):
                leftover.unlink()
            roots = self._train_tasks("pool", self.config.curriculum.pool_size, **self.config.curriculum.knobs)
            pool = TaskPool.create(self.folder.pool, roots)
        else:
            done, path = checkpoint
            self.learners.load(path)
            pool = TaskPool.open(self.folder.pool)
            pool.restore(path / "pool.sqlite")
        self.folder.rewind(done)
        with pool, self.reporter.stage("Closed loop", self.config.iterations) as stage, warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftWarning)  # `finish` says it once, for all slots
            loop = Loop(self.config, self.learners, pool, self.envs)
            stage.reach(done)
            for iteration in range(done + 1, self.config.iterations + 1):
                result = loop.iterate(iteration)
                self._store(result.metrics, result.episodes)
                with self.folder.checkpoint(iteration) as scratch:
                    self.learners.save(scratch)
                    pool.copy(scratch / "pool.sqlite")
                stage.reach(iteration, _note(result.metrics))

    def finish(self, before: Mapping[str, Any], after: Mapping[str, Any], command: str) -> dict[str, Any]:
        """Write summary and report, and show the table."""
        rows = self.folder.rows()
        with TaskPool.open(self.folder.pool) as pool:
            counts, rewrites = pool.counts(), list(accepted_rewrites(pool))
        warm = self.folder.stage("warm_start") or {}
        summary = summarise(self.config, warm, before, after, rows, counts, command)
        write_atomically(self.folder.summary, json.dumps(summary, indent=2) + "\n")
        write_report(
            self.folder.report,
            summary=summary,
            rows=rows,
            rewrites=rewrites,
            episodes=self._example_episodes(),
        )
        table = Table(title=f"{self.config.name}, seed {self.config.seed}")
        for column in ("", "measured on", "before", "after", "change"):
            table.add_column(column)
        for line in summary["table"]:
            table.add_row(*(line[key] for key in ("what", "on", "before", "after", "change")))
        self.reporter.console.print(table)
        if far := rows[-1]["curriculum"]["far"]:
            self.reporter.say(f"{len(far)} tasks are far from their roots: rlanything pool lineage {self.folder.path}")
        self.reporter.say(f"{summary['seconds']:.0f} s. Report: {self.folder.report}")
        return summary

    def _seed(self, *path: str | int) -> int:
        return seed_of(self.config.seed, *path)

    def _train_tasks(self, purpose: str, count: int, **knobs: Any) -> list[Task]:
        return [self.domain.generate(self._seed(purpose, number), split="train", **knobs) for number in range(count)]

    def _fit(self, role: str, learner: Learner, rows: Sequence[Row], epochs: int) -> list[float]:
        settings = self.config.warm_start
        steps = epochs * -(-len(rows) // settings.batch_size)
        with self.reporter.stage(f"Warm start, {role}", steps) as stage:
            return fit(
                learner.model,
                rows,
                epochs=epochs,
                batch_size=settings.batch_size,
                learning_rate=settings.learning_rate,
                seed=self._seed(role, "fit"),
                progress=lambda step, _, loss: stage.reach(step, f"loss {loss:.3f}"),
            )

    def _judge_rows(self) -> list[Row]:
        """Steps of the warm-started policy, labelled by the rule of thumb with noise."""
        settings = self.config.warm_start
        average = max(1, self.config.rollout.max_steps // 2)
        tasks = self._train_tasks("judge", -(-settings.judge_steps // average))
        trajectories = rollout(
            self.learners.policy.model,
            self.dialect,
            self.envs,
            tasks,
            max_steps=self.config.rollout.max_steps,
            seed=self._seed("judge", "rollout"),
            temperature=self.config.rollout.temperature,
            constrained=self.config.rollout.constrained,
        )
        return judge_rows(
            self.dialect,
            trajectories,
            steps=settings.judge_steps,
            label_noise=settings.label_noise,
            seed=self._seed("judge", "labels"),
        )

    @property
    def _judge_panel(self) -> Path:
        return self.folder.folder("before") / "judge_panel.json"

    def _store_judge_panel(self, trajectories: Sequence[Trajectory], tasks: Sequence[Task]) -> None:
        payloads = {task.id: task.payload for task in tasks}
        panel = [{**t.to_dict(), "payload": payloads[t.task_id]} for t in trajectories if t.outcome is not None]
        write_atomically(self._judge_panel, json.dumps(panel))

    def _judge_quality(self) -> dict[str, Any]:
        panel = json.loads(self._judge_panel.read_text(encoding="utf-8"))
        return measure_judge(
            self.learners.reward_model,
            [_stored_trajectory(record) for record in panel],
            {record["task_id"]: record["payload"] for record in panel},
            votes=self.config.judge.votes,
            temperature=self.config.judge.temperature,
            seed=seed_of(0, "judge panel"),
        ).to_dict()

    def _store(self, metrics: Mapping[str, Any], episodes: Sequence[Mapping[str, Any]]) -> None:
        path = self.folder.trajectories / f"{metrics['iteration']:04d}.jsonl.gz"
        scratch = path.with_suffix(".part")
        with gzip.open(scratch, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(episode) + "\n" for episode in episodes)
        scratch.replace(path)
        self.folder.append_metrics(metrics)

    def _example_episodes(self) -> list[dict[str, Any]]:
        """One won and one lost episode of the last iteration, short ones first."""
        newest = max(self.folder.trajectories.glob("*.jsonl.gz"), default=None)
        if newest is None:
            return []
        with gzip.open(newest, "rt", encoding="utf-8") as file:
            episodes = sorted((json.loads(line) for line in file), key=lambda e: len(e["turns"]))
        won = [e for e in episodes if e["outcome"] == 1 and len(e["turns"]) >= 5]
        lost = [e for e in episodes if e["outcome"] == -1]
        return won[:1] + lost[:1]


def _stored_trajectory(record: Mapping[str, Any]) -> Trajectory:
    """The readable half of a trajectory; enough to be judged."""
    return Trajectory(
        task_id=record["task_id"],
        tag=record["tag"],
        opening=record["opening"],
        steps=tuple(Step(**step) for step in record["steps"]),
        outcome=record["outcome"],
        error=record["error"],
        score=record["score"],
        prompt_ids=[],
        completion_ids=[],
        step_of_token=[],
        logprobs=[],
        allowed=[],
    )


def _note(metrics: Mapping[str, Any]) -> str:
    success, tasks = metrics["success"]["active"], metrics["tasks"]
    seconds = sum(metrics["seconds"].values())
    won = "  – " if success is None else f"{success:4.0%}"
    return f"won {won}  tasks +{tasks['accepted']} -{tasks['rejected']}  {seconds:.1f} s"
