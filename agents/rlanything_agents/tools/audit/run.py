"""An audit from beginning to end: play every task with every agent, and list what should not have happened."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.cheats import Cheat, cheats_of
from rlanything_agents.domains.solutions import solution_of
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.tools.audit.agents import RANDOM, SOLUTION, AuditAgent, AuditWorld
from rlanything_agents.tools.audit.report import audit_markdown
from rlanything_agents.tools.benchmark.episode import Episode, Result
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.parallel import play_in_parallel
from rlanything_agents.tools.benchmark.tables import kind_of, row_of, versions
from rlanything_agents.tools.benchmark.transcript import collect
from rlanything_task_pools import Task
from rlanything_task_pools.panel import Panel

__all__ = ["audit_panel"]


def audit_panel(
    panel: Panel,
    *,
    episodes: int = 1,
    seed: int = 0,
    environment: Mapping[str, Any] | None = None,
    workers: int | None = None,
    out: Path | None = None,
    reporter: Reporter | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Play each task with every cheating agent, with random play, and with its known solution.

    Args:
        panel: The tasks.
        episodes: Episodes of random play per task; the other agents play a task once, since they never vary.
        seed: Seed of environments and of random play.
        environment: Arguments of the environment besides the panel's.
        workers: Episodes in parallel; the number of processors, at most 8, if None.
        out: A new folder for ``audit.json``, ``audit.md`` and the courses of all episodes, which ``rlanything view``
            reads; None writes nothing.
        reporter: Shows progress.
        command: Command line of the user, for the report.

    Returns:
        ``agents``, a row for each with its successes; ``findings``, tasks that a cheating agent solved; ``unsolved``,
        tasks whose known solution failed; ``errors``, episodes without an outcome, those of tasks that the environment
        refuses among them; and ``clean``, whether these three
        are empty. Random play without an outcome, and its successes, are in ``agents`` alone: they are chance.

    Raises:
        BenchmarkError: A number is out of range, or the folder is not empty.
    """
    if episodes < 1 or (workers is not None and workers < 1) or seed < 0:
        raise BenchmarkError("episodes and workers are at least 1, and a seed at least 0")
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BenchmarkError(f"{out} is there and not empty: give another --out")
    agent, reporter = AuditAgent(), reporter or Reporter.silent()
    world = AuditWorld(panel.domain, {**panel.environment, **(environment or {})}, str(out / "episodes") if out else "")
    replace(world, record="").open().close()  # fails early where the environment rejects its arguments
    cheats = cheats_of(panel.domain)
    wanted = list(_episodes(panel, cheats, episodes, seed))
    results: list[Result] = []
    with (
        contextlib.closing(play_in_parallel(agent, world, wanted, workers or agent.parallel)) as playing,
        reporter.stage(f"audit of {len(panel.entries)} tasks", len(wanted)) as stage,
    ):
        for result in playing:
            results.append(result)
            stage.reach(len(results), result.group)
    found = {
        "panel": {"name": panel.name, "domain": panel.domain, "hash": panel.hash, "tasks": len(panel.ids)},
        "settings": {"episodes": episodes, "seed": seed, "environment": dict(world.arguments)},
        "command": command,
        "versions": versions(),
        **_summary(panel, cheats, results),
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / "audit.json", json.dumps(found, indent=1) + "\n")
        write_atomically(out / "audit.md", audit_markdown(found))
        collect(out / "episodes", ((episode.name, episode.place) for episode in wanted), out)
    return found


def _episodes(panel: Panel, cheats: Sequence[Cheat], episodes: int, seed: int) -> Iterator[Episode]:
    """The episodes, those of a task one after the other, each once also where a task is in the panel twice."""
    tasks = {entry.task.id: (place, entry.task) for place, entry in enumerate(panel.entries)}
    for place, task in tasks.values():
        agents = [(cheat.name, 1) for cheat in cheats if _applies(cheat, task)]
        agents += [(RANDOM, episodes), (SOLUTION, int(_is_solved(task)))]
        for name, count in agents:
            for number in range(count):
                # A seed of its own for each agent: files of episodes are named after task and seed.
                yield Episode(task, name, number, seed_of(seed, "audit", name, task.id, number), place)


def _applies(cheat: Cheat, task: Task) -> bool:
    try:
        return cheat.applies(task)
    except ValueError:  # malformed: the environment says so
        return True


def _is_solved(task: Task) -> bool:
    try:
        return solution_of(task)([]) is not None
    except ValueError:
        return False


def _summary(panel: Panel, cheats: Sequence[Cheat], results: Sequence[Result]) -> dict[str, Any]:
    about = {cheat.name: cheat.about for cheat in cheats}
    about |= {RANDOM: "acts at random", SOLUTION: "control: plays the known solution"}
    tasks = {entry.task.id: entry.task for entry in panel.entries}
    results = sorted(results, key=lambda result: (list(tasks).index(result.task), list(about).index(result.group)))

    def listed(chosen: Sequence[Result]) -> list[dict[str, Any]]:
        return [
            {
                "task": result.task,
                "agent": result.group,
                "kind": kind_of(tasks[result.task]),
                "goal": tasks[result.task].goal[:300],
                "steps": result.steps,
                "error": result.error,
            }
            for result in chosen
        ]

    findings = listed([r for r in results if r.group not in (RANDOM, SOLUTION) and r.outcome == 1])
    unsolved = listed([r for r in results if r.group == SOLUTION and r.outcome == -1])
    errors = listed([r for r in results if r.group != RANDOM and r.outcome is None])
    errors += [
        {"task": game.task, "agent": "", "kind": "", "goal": "", "steps": 0, "error": game.error}
        for game in panel.unreadable
    ]
    rows = []
    for name, text in about.items():
        of = [result for result in results if result.group == name]
        crashes = sum(bool(result.agent_crash) for result in of)
        rows.append({"agent": name, "about": text, **row_of(of, None), "agent_crashes": crashes})
    return {
        "clean": not (findings or unsolved or errors),
        "agents": rows,
        "findings": findings,
        "unsolved": unsolved,
        "errors": errors,
    }
