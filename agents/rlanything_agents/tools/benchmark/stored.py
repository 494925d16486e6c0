"""Stored episodes of a run or a benchmark, read to be judged again: each with its task, or the reason why it has none.

Records are untrusted. A task counts as the one whose content has the stored id, an outcome is never taken from a
record, and settings of a folder choose neither a sandbox nor a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rlanything_agents.config import RunConfig
from rlanything_agents.config.load import explain
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import MAX_LINE, unpacked_lines
from rlanything_agents.runs.stored.values import mapping, readable
from rlanything_agents.tools.benchmark.episode import Key, Result, is_count
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.replay import Replay, ReplayWorld
from rlanything_agents.tools.view.tasks import open_pool
from rlanything_envs.views import get_view
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.panel import load_panel, panel_names

__all__ = ["StoredEpisode", "of_benchmark", "of_run", "tasks_of"]

JUDGED: dict[str, tuple[str, ...]] = {
    "alfworld": ("max_episode_steps",),
    "coding": ("max_turns", "action_format", "languages", "packages"),
    "osworld": ("screen", "strict"),
}
"""Domains whose episodes can be judged again, with the stored arguments of their environment that judging depends on.
The others, such as the backend of a sandbox, are for who runs the command."""
MOST_TURNS = 10_000
"""Largest limit of turns that a stored setting is believed."""
MAX_RESULTS = 256 << 20
"""Maximum bytes of ``results.jsonl``."""

Source = Callable[[str], Task]
"""Finds a task by its id; raises `LookupError` or `ValueError`."""
_FILES = re.compile(r"[0-9]{4,9}\.jsonl\.gz")


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """A stored episode.

    Attributes:
        key: Identity of the episode.
        outcome: The stored outcome.
        replay: What is judged again; None where nothing can be.
        reason: Why nothing can be.
        goal: Goal of the task, where it is known.
    """

    key: Key
    outcome: Literal[1, -1] | None = None
    replay: Replay | None = None
    reason: str = ""
    goal: str = ""


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    action: str


class _Record(BaseModel):
    """What is read of the record of an episode."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    task_id: str
    goal: str = ""
    outcome: Literal[1, -1] | None
    error: str = ""
    turns: tuple[_Answer, ...] = Field(max_length=100_000)


@contextmanager
def tasks_of(folder: SafeFolder, panel: str | None, pool: Path | None) -> Iterator[Source]:
    """What finds the tasks of a folder: the panel or pool that is given, else the run's own pool or a shipped panel."""
    if panel is not None and pool is not None:
        raise BenchmarkError("give one of --panel and --pool")
    if pool is not None:
        with TaskPool.open(pool) as opened:
            yield opened.task
        return
    if panel is None and not folder.mark("benchmark.json")[1]:
        with open_pool(folder) as own:
            if own is None:
                raise BenchmarkError(f"{folder.root} has no task pool: name the tasks with --panel or --pool")
            yield own.task
        return
    if panel is None and (panel := folder.json("benchmark.json").get("panel")) not in panel_names():
        raise BenchmarkError(
            f"{folder.root} played {readable(panel, 200)!r}, which is not a shipped panel: name its tasks with --panel "
            "FILE or --pool POOL"
        )
    played = mapping(folder.json("results.json").get("panel")).get("tasks")  # a hint: later ones take time to generate
    limit = played if isinstance(played, int) and is_count(played) and played else None
    tasks = {entry.task.id: entry.task for entry in load_panel(str(panel), limit).entries}
    yield tasks.__getitem__


def of_benchmark(
    folder: SafeFolder, source: Source, given: Mapping[str, Any]
) -> tuple[ReplayWorld, list[StoredEpisode]]:
    """The episodes of a benchmark: outcomes from ``results.jsonl``, answers from ``episodes/``."""
    settings = folder.json("benchmark.json")
    seed = settings.get("seed")
    if not isinstance(seed, int) or not is_count(seed):
        raise BenchmarkError(f"{folder.root / 'benchmark.json'} names no seed: it is not the file of a benchmark")
    results = _results(folder)
    domain = next((task.domain for key in results if isinstance(task := _found(source, key[1]), Task)), "")
    arguments = _arguments(domain, mapping(settings.get("environment")), given)
    limit = _one_turn(domain, arguments)
    answered = not str(settings.get("agent")).startswith("run:")  # of these the actions of a view are stored
    stored = []
    for place, (key, result) in enumerate(results.items()):
        name = f"episodes/{result.task}-{seed_of(seed, 'episode', result.task, result.episode)}"
        record: _Record | str = "its answers are not stored"
        try:
            record = _read(folder.read(f"{name}.json", MAX_LINE)) if answered else record
        except FileNotFoundError:
            pass
        except RunFolderError as error:
            record = str(error)
        kept = f"{name}.results.gz" if folder.mark(f"{name}.results.gz")[1] else ""
        replay = _replay(key, _found(source, result.task), record, limit, place, kept)
        stored.append(_judgeable(key, result.outcome, result.error, replay))
    return ReplayWorld(domain, arguments, folder=str(folder.root)), stored


def _results(folder: SafeFolder) -> dict[Key, Result]:
    """Last result of each episode of a benchmark."""
    place = folder.root / "results.jsonl"
    try:
        lines = folder.read(place.name, MAX_RESULTS).split(b"\n")[:-1]  # the last one is empty, or torn
    except FileNotFoundError:
        raise BenchmarkError(f"{place} does not exist: the benchmark has no results yet") from None
    results = {}
    for number, line in enumerate(lines, 1):
        try:
            result = Result.from_json(line)
        except (BenchmarkError, RecursionError) as error:
            raise BenchmarkError(f"{place}, line {number}: {error}") from None
        results[result.key] = result
    return results


def _found(source: Source, task_id: str) -> Task | str:
    """The task of an id, or why there is none."""
    try:
        return source(task_id)
    except (LookupError, ValueError):
        return "its task is not in the panel or pool"


def of_run(folder: SafeFolder, source: Source, given: Mapping[str, Any]) -> tuple[ReplayWorld, list[StoredEpisode]]:
    """The training episodes of a run."""
    try:
        config = RunConfig.model_validate(folder.json("config.json"))
    except ValidationError as error:
        raise BenchmarkError(f"{folder.root / 'config.json'} is not a run's configuration: {explain(error)}") from None
    view = get_view(get_domain(config.domain).env_id, config.view)
    arguments = _arguments(config.domain, {**view.arguments, **config.environment_arguments}, given)
    limit = min(_one_turn(config.domain, arguments), config.rollout.max_steps)
    if config.domain == "alfworld":
        arguments["max_episode_steps"] = min(arguments.get("max_episode_steps", 50), config.rollout.max_steps)
    stored: list[StoredEpisode] = []
    for name in folder.names("trajectories", _FILES):
        group = f"iteration {int(name.split('.')[0])}"
        try:
            with folder.open(f"trajectories/{name}") as file:
                for number, line in unpacked_lines(file):
                    record = "its record is too long" if line is None else _read(line)
                    stored.append(_stored(group, number, record, limit, len(stored), source))
        except RunFolderError as error:
            stored.append(StoredEpisode((group, "", -1), reason=f"trajectories/{name}: {error}"))
    return ReplayWorld(config.domain, arguments, view=config.view), stored


def _stored(group: str, number: int, record: _Record | str, limit: int, place: int, source: Source) -> StoredEpisode:
    if isinstance(record, str):
        return StoredEpisode((group, "", number), reason=record)
    key = (group, record.task_id, number)
    replay = _replay(key, _found(source, record.task_id), record, limit, place)
    return _judgeable(key, record.outcome, record.error, replay)


def _judgeable(key: Key, outcome: Literal[1, -1] | None, error: str, replay: Replay | str) -> StoredEpisode:
    if outcome is None:
        return StoredEpisode(key, reason=f"it ended without an outcome: {error}")
    if isinstance(replay, str):
        return StoredEpisode(key, outcome, reason=replay)
    return StoredEpisode(key, outcome, replay, goal=replay.task.goal)


def _replay(key: Key, task: Task | str, record: _Record | str, limit: int, place: int, kept: str = "") -> Replay | str:
    """What is judged of an episode, or why nothing is; in place of a task or a record stands why there is none."""
    if isinstance(task, str) or isinstance(record, str):
        return task if isinstance(task, str) else str(record)
    if task.domain not in JUDGED:
        raise BenchmarkError(f"the domain {task.domain} cannot be judged again: {', '.join(JUDGED)} can")
    if record.task_id != task.id or record.goal not in ("", task.goal):
        return "its record is of another task"
    if not (answers := tuple(turn.action for turn in record.turns)):
        return "it has no answers"
    group, _, number = key
    if task.domain == "osworld":
        if not kept:
            return "the results of its desktop are not kept (rlanything benchmark --keep-results)"
        answers = (kept,)
    if task.domain == "coding":
        if len(answers) > limit:
            return f"it has more answers than the {limit} turns of an episode"
        answers = answers[-1:]  # what came before informed the agent alone
    return Replay(task, group, number, 0, place, answers)


def _read(line: bytes) -> _Record | str:
    """The record of an episode, or what is wrong with it."""
    try:
        return _Record.model_validate(json.loads(line))  # pydantic's own parser refuses letters that agents write
    except (ValueError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            return "its record is not JSON"
        first = error.errors(include_url=False, include_input=False)[0]
        place = re.sub(r"[0-9]+", "N", ".".join(map(str, first["loc"]))) or "the whole"
        return f"its record is malformed: {place}: {first['msg']}"


def _arguments(domain: str, stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the environment that judges.

    Raises:
        BenchmarkError: A limit is not one.
    """
    ours = {"coding": {"reward": "fraction"}, "osworld": {"observation": "text"}}.get(domain, {})
    arguments = {name: stored[name] for name in JUDGED.get(domain, ()) if name in stored} | ours | dict(given)
    for name in ("max_episode_steps", "max_turns"):
        if name in arguments and not (is_count(arguments[name]) and 1 <= arguments[name] <= MOST_TURNS):
            raise BenchmarkError(f"{name} is not a number from 1 to {MOST_TURNS}: give it with --env")
    return arguments


def _one_turn(domain: str, arguments: dict[str, Any]) -> int:
    """Leave a coding episode the turn of its last answer; returns the maximum turns that it had.

    That turn is one of two where it was one of several: the only turn of an episode is read otherwise.
    """
    limit: int = arguments.get("max_turns", 8)
    if domain == "coding":
        arguments["max_turns"] = min(limit, 2)
    return limit
