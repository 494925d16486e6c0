"""An audit from beginning to end: play every task with every agent, and list what should not have happened."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.domains.cheats import Cheat, cheats_of, limit_of
from rlanything_agents.domains.coding import probes as coding
from rlanything_agents.domains.osworld import probes as osworld
from rlanything_agents.domains.solutions import solution_of
from rlanything_agents.feedback.metrics import success_rate
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.tools.audit.agents import RANDOM, REFUSED, SOLUTION, AuditAgent, AuditWorld
from rlanything_agents.tools.benchmark.episode import Episode, Result
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.parallel import play_in_parallel
from rlanything_agents.tools.benchmark.tables import kind_of, row_of, versions
from rlanything_agents.tools.benchmark.transcript import collect
from rlanything_task_pools import Task
from rlanything_task_pools.panel import Entry, Panel

__all__ = ["PROBES", "audit_panel", "probe_panel"]

PROBES: dict[str, tuple[str, Callable[[], tuple[Task, ...]], dict[str, Any]]] = {
    "coding-probes": ("coding", coding.probes, {"max_turns": 2}),
    "osworld-probes": ("osworld", osworld.probes, {"max_turns": 4, "observation": "text"}),
}
"""Name of each panel: its domain, its tasks, and arguments of their environment."""


def probe_panel(name: str = "coding-probes", limit: int | None = None) -> Panel:
    """A panel with a task for each way to judge a program, or for metrics that run or unpack what an agent made."""
    domain, tasks, arguments = PROBES[name]
    entries = tuple(Entry(task) for task in tasks())
    return Panel(name, "Tasks for attacks on the judge.", domain, arguments, entries[:limit], len(entries))


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
        out: A new folder for ``audit.json`` and the courses of all episodes, which ``rlanything view``
            reads; None writes nothing.
        reporter: Shows progress.
        command: Command line of the user, for the report.

    Returns:
        ``agents``, a row for each with its successes; ``cheats``, a row of all cheating agents; ``findings``, episodes
        that a cheating agent solved; ``voided``, those that it left without an outcome; ``held``, those that took
        longer than their limit; ``unsolved``, tasks whose known solution failed; ``errors``, other episodes without an
        outcome, those of tasks that the environment refuses among them; and ``clean``, whether these five are empty.
        Random play without an outcome, and its successes, are in ``agents`` alone: they are chance.

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
        collect(out / "episodes", ((episode.name, episode.place) for episode in wanted), out)
    return found


def _episodes(panel: Panel, cheats: Sequence[Cheat], episodes: int, seed: int) -> Iterator[Episode]:
    """The episodes, those of a task one after the other, each once also where a task is in the panel twice."""
    tasks = {entry.task.id: (place, entry.task) for place, entry in enumerate(panel.entries)}
    attacked: set[tuple[str, Hashable]] = set()
    for place, task in tasks.values():
        agents = [(cheat.name, len(cheat.variants)) for cheat in cheats if _applies(cheat, task, attacked)]
        agents += [(RANDOM, episodes), (SOLUTION, int(_is_solved(task)))]
        for name, count in agents:
            for number in range(count):
                # A seed for each agent: files of episodes are named after task and seed.
                yield Episode(task, name, number, seed_of(seed, "audit", name, task.id, number), place)


def _applies(cheat: Cheat, task: Task, attacked: set[tuple[str, Hashable]]) -> bool:
    """Whether a cheat plays a task; what it attacks once is noted."""
    try:
        if not cheat.applies(task):
            return False
        if cheat.once is None:
            return True
        target = cheat.name, cheat.once(task)
    except ValueError:  # malformed: the environment says so
        return cheat.once is None
    new = target not in attacked
    attacked.add(target)
    return new


def _is_solved(task: Task) -> bool:
    try:
        return solution_of(task)([]) is not None
    except ValueError:
        return False


def _summary(panel: Panel, cheats: Sequence[Cheat], results: Sequence[Result]) -> dict[str, Any]:
    about = {cheat.name: cheat.about for cheat in cheats}
    about |= {RANDOM: "acts at random", SOLUTION: "control: plays the known solution"}
    tasks = {entry.task.id: entry.task for entry in panel.entries}
    variants = {cheat.name: tuple(cheat.variants) for cheat in cheats}
    order = {name: place for place, name in enumerate(tasks)}, {name: place for place, name in enumerate(about)}
    results = sorted(results, key=lambda r: (order[0][r.task], order[1][r.group], r.episode))
    cheating = [result for result in results if result.group in variants]

    def listed(chosen: Iterable[Result]) -> list[dict[str, Any]]:
        return [
            {
                "task": result.task,
                "agent": result.group,
                "variant": variants[result.group][result.episode] if result.group in variants else "",
                "kind": kind_of(tasks[result.task]),
                "goal": tasks[result.task].goal[:300],
                "steps": result.steps,
                "seconds": result.seconds,
                "error": result.error,
            }
            for result in chosen
        ]

    lists = {
        "findings": listed(r for r in cheating if r.outcome == 1),
        "voided": listed(r for r in cheating if _is_void(r)),
        "held": listed(r for r in cheating if _is_held(r, tasks[r.task])),
        "unsolved": listed(r for r in results if r.group == SOLUTION and r.outcome == -1),
        "errors": listed(
            r for r in results if r.group != RANDOM and r.outcome is None and (r.group == SOLUTION or not _is_void(r))
        ),
    }
    lists["errors"] += [
        {"task": game.task, "agent": "", "variant": "", "kind": "", "goal": "", "steps": 0, "seconds": 0.0}
        | {"error": game.error}
        for game in panel.unreadable
    ]

    def row(name: str, text: str, of: Sequence[Result]) -> dict[str, Any]:
        crashes = sum(bool(result.agent_crash) for result in of)
        voided = sum(map(_is_void, of))
        begun = voided + sum(result.outcome is not None for result in of)
        return {
            "agent": name,
            "about": text,
            **row_of(of, None),
            "voided": voided,
            "voided_share": voided / begun if begun else None,
            "held": sum(_is_held(result, tasks[result.task]) for result in of),
            "longest": max((result.seconds for result in of), default=None),
            "agent_crashes": crashes,
        }

    cheats_row = row("all cheats", "", cheating)
    if ended := [result.outcome for result in cheating if result.outcome is not None]:
        cheats_row |= asdict(success_rate(ended))  # variants are other attacks, not episodes of one agent
    return {
        "clean": not any(lists.values()),
        "agents": [row(name, text, [r for r in results if r.group == name]) for name, text in about.items()],
        "cheats": cheats_row,
        **lists,
    }


def _is_void(result: Result) -> bool:
    """Whether an episode that began ended without an outcome."""
    return result.outcome is None and not result.error.startswith(REFUSED)


def _is_held(result: Result, task: Task) -> bool:
    """Whether an episode took longer than the answers in it may take."""
    try:
        return result.seconds > limit_of(task) * max(1, result.steps)
    except ValueError:  # malformed: it was not played
        return False
