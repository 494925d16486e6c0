"""A benchmark from beginning to end: play the missing episodes, store their results, write the reports."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from rlanything_agents.models.checkpoint import is_hub_name
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.progress import Reporter, Stage
from rlanything_agents.tools.benchmark import qwen3vl
from rlanything_agents.tools.benchmark.agent import Lockstep, Solo
from rlanything_agents.tools.benchmark.episode import Episode, World, episodes_of, has_screens, most_turns
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.parallel import play_in_parallel
from rlanything_agents.tools.benchmark.record import ResultFolder
from rlanything_agents.tools.benchmark.report import write_report
from rlanything_agents.tools.benchmark.settings import ChatSettings
from rlanything_agents.tools.benchmark.tables import summarise, versions
from rlanything_agents.tools.benchmark.transcript import collect
from rlanything_envs.llm.budget import Price
from rlanything_task_pools.panel import Panel

__all__ = ["FORMS", "run_benchmark"]

FORMS = ("random", "expert", "openai:MODEL", "qwen3vl:MODEL", "hf:CHECKPOINT", "run:FOLDER", "python:MODULE:NAME")
"""Forms of the names of agents."""

FIRST_S, LATER_S = 8.0, 30.0
"""Seconds until the pace of an agent is shown, and between later times."""


def run_benchmark(
    panel: Panel,
    agent: str,
    out: Path,
    *,
    episodes: int = 1,
    seed: int = 0,
    environment: Mapping[str, Any] | None = None,
    chat: ChatSettings | None = None,
    workers: int | None = None,
    restart: bool = False,
    keep_results: bool = False,
    reporter: Reporter | None = None,
    command: str = "",
) -> dict[str, Any]:
    """Play a panel, or continue the same benchmark after an interruption.

    The result of an episode depends on its task, its number and ``seed``, not on ``workers``; for batched models that
    holds up to the rounding of their arithmetic.

    Args:
        panel: The tasks.
        agent: One of the `FORMS`.
        out: Folder of the results.
        episodes: Episodes per task.
        seed: Seed of the benchmark.
        environment: Arguments of the environment besides the panel's.
        chat: Settings of chat agents.
        workers: Episodes in parallel; the agent's default if None.
        restart: Delete the content of the folder and begin again.
        keep_results: Keep what the evaluator of a desktop read, for `rlanything_agents.tools.benchmark.reverify`.
        reporter: Shows progress.
        command: Command line of the user, for the report.

    Returns:
        Content of ``results.json``. It is written, with the reports, even after an error or Ctrl-C.

    Raises:
        BenchmarkError: The folder belongs to another benchmark, or a number is out of range.
        BenchmarkError: There is no such agent, or it cannot play these tasks.
        GenerationStopped: A service refuses to answer, or the budget is spent; the same command continues.
    """
    if episodes < 1 or (workers is not None and workers < 1) or seed < 0:
        raise BenchmarkError("episodes and workers are at least 1, and a seed at least 0")
    chat, reporter = chat or ChatSettings(), reporter or Reporter.silent()
    own = qwen3vl.ENVIRONMENT if agent.startswith("qwen3vl:") else {}
    world = World(
        panel.domain, {**panel.environment, **own, **(environment or {})}, str(out / "episodes"), keep_results
    )
    with replace(world, record="").open() as conversation:  # fails early where the environment rejects its arguments
        turns, screens = most_turns(conversation.env), has_screens(conversation.env)
        _check_files(panel, conversation.env)
        root = getattr(conversation.env.unwrapped, "root", None)
    if panel.root is not None and root != panel.root:
        theirs = f"the root folder {root}" if root else "no root folder (rlanything desktop install)"
        reporter.say(f"{panel.name} was measured on the root folder {panel.root}, this is {theirs}: screens may differ")
    settings = {
        "panel": panel.name,
        "hash": panel.hash,
        "agent": agent,
        "episodes": episodes,
        "seed": seed,
        "environment": dict(world.arguments),
        "chat": chat.result_settings(agent, screens),
        **({} if root is None else {"root": root}),
    }
    wanted = episodes_of(panel, episodes, seed)
    with ResultFolder.open(out, settings, restart=restart) as folder:
        results = folder.results()
        left = [episode for episode in wanted if episode.key not in results or results[episode.key].outcome is None]
        with contextlib.closing(_open_agent(agent, chat, folder.prompts, turns)) as player:
            if screens and not player.sees:
                raise BenchmarkError(
                    f"{agent} reads text alone, and the observations hold screenshots: add --env observation=text"
                )
            player.check(wanted)
            folder.claim(settings)  # not earlier: a mistyped agent must not bind the folder
            used: ChatSettings = getattr(player, "settings", chat)
            arguments = {**getattr(player, "environment", {}), **world.arguments}
            settings = {**settings, "chat": used.result_settings(agent, screens), "environment": arguments}
            title = f"{agent} on {len(wanted)} episodes"
            if chat.max_tokens != used.max_tokens:
                title += f", answers of at most {used.max_tokens} tokens"
            try:
                if left:
                    with reporter.stage(title, len(left)) as stage, _pace_shown(player, stage):
                        _play(player, world, left, folder, workers, stage)
            finally:
                summary = _summary(panel, settings, wanted, folder, chat.price, command)
                write_atomically(folder.summary, json.dumps(summary, indent=1) + "\n")
                write_report(folder.page, summary)
                collect(out / "episodes", ((episode.name, episode.place) for episode in wanted), out)
        return summary


def _check_files(panel: Panel, env: gym.Env[Any, Any]) -> None:
    """Raise `BenchmarkError` with the files that are missing, of all tasks; each would otherwise fail at its reset."""
    missing_files = getattr(env.unwrapped, "missing_files", None)
    if missing_files is None or not (missing := missing_files(entry.task for entry in panel.entries)):
        return
    total = len({url for urls in missing.values() for url in urls})
    lines = [f"{task}: {', '.join(urls)}" for task, urls in missing.items()]
    raise BenchmarkError(
        f"{total} files of {len(missing)} of the {len(panel.entries)} tasks are missing; fetch them with `rlanything "
        "desktop fetch-assets TASKS`, or leave these tasks out:\n" + "\n".join(lines)
    )


def _play(
    agent: Solo | Lockstep, world: World, left: list[Episode], folder: ResultFolder, workers: int | None, stage: Stage
) -> None:
    won = ended = broken = 0
    with contextlib.closing(play_in_parallel(agent, world, left, workers or agent.parallel)) as results:
        for result in results:
            folder.append(result)
            broken += result.outcome is None
            ended += result.outcome is not None
            won += result.outcome == 1
            stage.reach(ended + broken, f"solved {won} of {ended}" + (f", {broken} without outcome" if broken else ""))


@contextlib.contextmanager
def _pace_shown(agent: Solo | Lockstep, stage: Stage) -> Iterator[None]:
    """Show the pace of an agent that measures it, while the block plays."""
    ended = threading.Event()

    def work() -> None:
        pause = FIRST_S
        while not ended.wait(pause) and (text := agent.progress()):
            stage.note(text)
            pause = LATER_S

    thread = threading.Thread(target=work, name="pace", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _open_agent(name: str, settings: ChatSettings, log: Path, turns: int) -> Solo | Lockstep:
    """Open the agent of a name in one of the `FORMS`, and import the packages of its kind; ``log`` gets its prompts.

    Raises:
        BenchmarkError: There is no agent of this name, or it cannot be opened.
        MissingExtra, MissingKey: The service cannot be used.
    """
    from rlanything_agents.tools.benchmark.scripted import Expert, RandomAgent

    kind, colon, rest = name.partition(":")
    match kind, bool(colon and rest):
        case "random", False:
            return RandomAgent()
        case "expert", False:
            return Expert()
        case ("openai" | "qwen3vl") as service, True:
            from rlanything_agents.tools.benchmark.service import ServiceAgent

            return ServiceAgent(rest, settings, log, kind=service)
        case "hf", True:
            if not (is_hub_name(rest) or os.path.exists(rest)):  # noqa: PTH110  (told before seconds of imports)
                raise BenchmarkError(f"{name:.200}: there is no such folder or file, and it is no name on the hub")
            from rlanything_agents.tools.benchmark.checkpoint import CheckpointAgent

            return CheckpointAgent(rest, settings, log, turns)
        case "run", True:
            if not os.path.isdir(rest):  # noqa: PTH112  (pathlib raises over long names)
                raise BenchmarkError(f"{name:.200} holds no run that can be played: there is no such folder")
            from rlanything_agents.tools.benchmark.policy import RunAgent

            return RunAgent(rest, settings)
        case "python", True:
            from rlanything_agents.tools.benchmark.own_code import PythonAgent

            return PythonAgent(rest, settings)
    raise BenchmarkError(f"no agent is called {name!r:.200}: choose one of {', '.join(FORMS)}")


def _packages_of(name: str) -> tuple[str, ...]:
    """Packages that an agent of this kind needs besides those of the environments."""
    models = ("torch", "transformers")
    return {"openai": ("openai",), "qwen3vl": ("openai",), "hf": models, "run": models}.get(name.partition(":")[0], ())


def _summary(
    panel: Panel,
    settings: Mapping[str, Any],
    wanted: list[Episode],
    folder: ResultFolder,
    price: Price | None,
    command: str,
) -> dict[str, Any]:
    return {
        "panel": {
            "name": panel.name,
            "meaning": panel.meaning,
            "domain": panel.domain,
            "hash": panel.hash,
            "tasks": len(panel.ids),
            "unreadable": len(panel.unreadable),
            "of": panel.total,
        },
        "agent": settings["agent"],
        "settings": dict(settings),
        "command": command,
        "price": asdict(price) if price else None,
        "versions": versions(_packages_of(settings["agent"])),
        **summarise(panel, wanted, folder.results(), price),
    }
