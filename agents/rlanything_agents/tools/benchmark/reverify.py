"""Stored episodes judged again with the verifiers as they are now; nothing is written.

AlfWorld's stored answers are replayed in the game of their task. In coding the program of the last answer is judged on
the hidden tests. Of a desktop the results that `rlanything benchmark --keep-results` kept are evaluated.

Records are untrusted. A task counts as the one whose content has the stored id, an outcome is never taken from a
record, and settings of a folder choose neither a sandbox nor a file.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
from pydantic import BaseModel, ConfigDict, Field, ValidationError

import rlanything_envs  # noqa: F401  (registers the environments)
from rlanything_agents.config import RunConfig
from rlanything_agents.config.load import explain
from rlanything_agents.config.seeds import seed_of
from rlanything_agents.feedback.percent import percent
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.lines import MAX_LINE, unpacked_lines
from rlanything_agents.runs.stored.values import mapping, readable
from rlanything_agents.tools.audit.agents import AuditWorld, Refusals
from rlanything_agents.tools.benchmark.episode import Episode, Key, Result, World, is_count
from rlanything_agents.tools.benchmark.errors import BenchmarkError, Outgrown
from rlanything_agents.tools.benchmark.parallel import play_in_parallel
from rlanything_agents.tools.benchmark.player import Response
from rlanything_agents.tools.benchmark.scripted import Scripted
from rlanything_agents.tools.view.tasks import POOL, open_pool
from rlanything_envs.conversation import Conversation, Turn
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task, TaskPool, get_domain
from rlanything_task_pools.panel import load_panel, panel_names

if TYPE_CHECKING:
    from rlanything_envs.osworld.env import OSWorldEnv

__all__ = ["reverify"]

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
MAX_KEPT = 64 << 20
"""Maximum bytes of the kept results of one desktop."""

_Source = Callable[[str], Task]
"""Finds a task by its id; raises `LookupError` or `ValueError`."""
_FILES = re.compile(r"[0-9]{4,9}\.jsonl\.gz")


@dataclass(frozen=True, slots=True)
class _Replay(Episode):
    """A stored episode with what the verifier judges: its answers, or the file with the kept results of a desktop."""

    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Stored:
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
    replay: _Replay | None = None
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


def reverify(
    path: Path,
    *,
    panel: str | None = None,
    pool: Path | None = None,
    environment: Mapping[str, Any] | None = None,
    workers: int | None = None,
    reporter: Reporter | None = None,
) -> dict[str, Any]:
    """Judge the stored episodes of a run or of a benchmark again.

    Args:
        path: Folder of the run or of the benchmark.
        panel: Name of a panel with the tasks, or its JSON file; for a shipped one, and for a run, it may be left out.
        pool: A pool with the tasks, or the folder of its run.
        environment: Arguments of the environment besides the stored ones that judging depends on.
        workers: Episodes in parallel; the number of processors, at most 8, if None.
        reporter: Shows progress.

    Returns:
        ``episodes`` and, of them, ``judged`` again; ``changed``, an entry for each episode whose outcome is another one
        now: ``task``, ``group``, ``episode``, ``goal``, ``was`` and ``now`` (1 or -1), ``why``; ``solved``, the number
        of solved ones among those judged, ``before`` and ``now``; ``not_judged``, how many by reason.

    Raises:
        BenchmarkError: The folder is neither, its tasks are not to be had, its domain cannot be judged again, or not
            one of its episodes can be.
        RunFolderError: A file of the folder cannot be read.
        UnsafeSandbox, SandboxUnsupported: The machine has no sandbox for stored programs.
    """
    if workers is not None and workers < 1:
        raise BenchmarkError("workers is at least 1")
    agent, reporter, folder = _Replayer(), reporter or Reporter.silent(), SafeFolder(path)
    if not path.is_dir():
        raise BenchmarkError(f"there is no folder {path}: name the folder of a run or of a benchmark")
    read = _benchmark if folder.mark("benchmark.json")[1] else _run
    if read is _run and not folder.mark("config.json")[1]:
        raise BenchmarkError(f"{path} is neither a run (config.json) nor a benchmark (benchmark.json)")
    with _tasks(folder, panel, pool) as source:
        world, stored = read(folder, source, environment or {})
    left = [episode.replay for episode in stored if episode.replay is not None]
    results: dict[Key, Result] = {}
    with (
        closing(play_in_parallel(agent, world, left, workers or agent.parallel)) as judging,
        reporter.stage(f"{len(left)} of {len(stored)} episodes", len(left)) as stage,
    ):
        for result in judging:
            results[result.key] = result
            stage.reach(len(results))
    return {"path": str(path), "domain": world.domain, **_summary(world.domain, stored, results)}


def _summary(domain: str, stored: Sequence[_Stored], results: Mapping[Key, Result]) -> dict[str, Any]:
    lost: Counter[str] = Counter()
    changed: list[dict[str, Any]] = []
    before = now = 0
    for episode in stored:
        result = results.get(episode.key)
        if result is None or result.outcome is None:
            lost[readable(episode.reason if result is None else result.error, 300)] += 1
            continue
        before, now = before + (episode.outcome == 1), now + (result.outcome == 1)
        if result.outcome != episode.outcome and episode.replay is not None:
            group, task, number = episode.key
            changed.append(
                {"task": task, "group": readable(group, 60), "episode": number, "goal": readable(episode.goal, 300)}
                | {"was": episode.outcome, "now": result.outcome, "why": _why(domain, episode.replay, result)}
            )
    judged = len(stored) - lost.total()
    if not judged:
        told = "; ".join(f"{count} times: {reason}" for reason, count in lost.most_common(3)) or "it holds none"
        raise BenchmarkError(f"not one of {len(stored)} episodes can be judged again: {told}")
    return {
        "episodes": len(stored),
        "judged": judged,
        "changed": sorted(changed, key=lambda row: (row["task"], row["group"], row["episode"])),
        "solved": {"before": before, "now": now},
        "not_judged": dict(lost.most_common()),
    }


def _why(domain: str, replay: _Replay, result: Result) -> str:
    """What the verifier says of the end of an episode."""
    if domain == "alfworld":
        count = len(replay.answers)
        return (
            f"the goal holds after answer {result.steps} of {count}"
            if result.outcome == 1
            else f"the goal does not hold after the {count} answers"
        )
    if domain == "coding":
        passed = f"{percent(result.score)} of the hidden tests pass"
        return "the last answer submits no program" if result.outgrown else passed
    return f"the evaluator's score is {result.score:.3g}"


# -- what is stored ------------------------------------------------------------------------------------------


@contextmanager
def _tasks(folder: SafeFolder, panel: str | None, pool: Path | None) -> Iterator[_Source]:
    """What finds the tasks of a folder: the panel or pool that is given, else the run's own pool or a shipped panel."""
    if panel is not None and pool is not None:
        raise BenchmarkError("give one of --panel and --pool")
    if pool is not None:
        with TaskPool.open(pool / POOL if pool.is_dir() else pool) as opened:
            yield opened.task
        return
    if panel is None and not folder.mark("benchmark.json")[1]:
        with open_pool(folder) as own:
            if own is None:
                raise BenchmarkError(f"{folder.root} has no {POOL}: name the tasks with --panel or --pool")
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


def _benchmark(folder: SafeFolder, source: _Source, given: Mapping[str, Any]) -> tuple[_World, list[_Stored]]:
    """The episodes of a benchmark: outcomes from ``results.jsonl``, answers from ``episodes/``."""
    settings = folder.json("benchmark.json")
    seed = settings.get("seed")
    if not isinstance(seed, int) or not is_count(seed):
        raise BenchmarkError(f"{folder.root / 'benchmark.json'} names no seed: it is not the file of a benchmark")
    results = _results(folder)
    domain = next((task.domain for key in results if isinstance(task := _found(source, key[1]), Task)), "")
    arguments = _arguments(domain, mapping(settings.get("environment")), given)
    limit = _one_turn(domain, arguments)
    stored = []
    for place, (key, result) in enumerate(results.items()):
        name = f"episodes/{result.task}-{seed_of(seed, 'episode', result.task, result.episode)}"
        record: _Record | str
        try:
            record = _read(folder.read(f"{name}.json", MAX_LINE))
        except FileNotFoundError:
            record = "its answers are not stored"
        except RunFolderError as error:
            record = str(error)
        kept = f"{name}.results.gz" if folder.mark(f"{name}.results.gz")[1] else ""
        replay = _replay(key, _found(source, result.task), record, limit, place, kept)
        stored.append(_judgeable(key, result.outcome, result.error, replay))
    return _World(domain, arguments, folder=str(folder.root)), stored


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


def _found(source: _Source, task_id: str) -> Task | str:
    """The task of an id, or why there is none."""
    try:
        return source(task_id)
    except (LookupError, ValueError):
        return "its task is not in the panel or pool"


def _run(folder: SafeFolder, source: _Source, given: Mapping[str, Any]) -> tuple[_World, list[_Stored]]:
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
    stored: list[_Stored] = []
    for name in folder.names("trajectories", _FILES):
        group = f"iteration {int(name.split('.')[0])}"
        try:
            with folder.open(f"trajectories/{name}") as file:
                for number, line in unpacked_lines(file):
                    record = "its record is too long" if line is None else _read(line)
                    stored.append(_of_run(group, number, record, limit, len(stored), source))
        except RunFolderError as error:
            stored.append(_Stored((group, "", -1), reason=f"trajectories/{name}: {error}"))
    return _World(config.domain, arguments, view=config.view), stored


def _of_run(group: str, number: int, record: _Record | str, limit: int, place: int, source: _Source) -> _Stored:
    if isinstance(record, str):
        return _Stored((group, "", number), reason=record)
    key = (group, record.task_id, number)
    replay = _replay(key, _found(source, record.task_id), record, limit, place)
    return _judgeable(key, record.outcome, record.error, replay)


def _judgeable(key: Key, outcome: Literal[1, -1] | None, error: str, replay: _Replay | str) -> _Stored:
    if outcome is None:
        return _Stored(key, reason=f"it ended without an outcome: {error}")
    if isinstance(replay, str):
        return _Stored(key, outcome, reason=replay)
    return _Stored(key, outcome, replay, goal=replay.task.goal)


def _replay(key: Key, task: Task | str, record: _Record | str, limit: int, place: int, kept: str = "") -> _Replay | str:
    """What is judged of an episode, or why nothing is.

    Args:
        key: Identity of the episode.
        task: Its task, or why it has none.
        record: Its record, likewise.
        limit: Maximum turns of an episode in coding.
        place: Its place among all of them.
        kept: Name of the file with the kept results of a desktop; empty without one.
    """
    if isinstance(task, str) or isinstance(record, str):
        return task if isinstance(task, str) else str(record)
    if task.domain not in JUDGED:
        raise BenchmarkError(f"the domain {task.domain} cannot be judged again: {', '.join(JUDGED)} can")
    if record.task_id != task.id or record.goal not in ("", task.goal):
        return "its record is of another task"
    answers = tuple(turn.action for turn in record.turns)
    if not answers:
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
    return _Replay(task, group, number, 0, place, answers)


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


# -- judging -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _World(AuditWorld):
    """The environment in which stored answers are judged: in a view of a run, or as a benchmark plays it.

    Attributes:
        view: Name of the view; empty for a benchmark.
        folder: Folder of the kept results of desktops.
    """

    view: str = ""
    folder: str = ""

    def open(self) -> Conversation:
        """Open a conversation with a new environment."""
        if self.domain == "osworld":
            return _Results(World.open(self).env, SafeFolder(Path(self.folder)))
        if not self.view:
            return AuditWorld.open(self)
        env_id = get_domain(self.domain).env_id
        try:
            return _Actions(Refusals(make_env(env_id, self.view, **self.arguments)))
        except (TypeError, ValueError) as error:
            raise BenchmarkError(f"{env_id} cannot be made with {dict(self.arguments)}: {error}") from error


class _Actions(Conversation):
    """A conversation whose answers are actions, as the records of runs hold them."""

    def answer(self, text: str) -> Turn:
        """Take an action."""
        return self._turn(*self.env.step(text))


class _Results(Conversation):
    """An episode of one turn, whose answer names the file with the kept results of a desktop."""

    def __init__(self, env: gym.Env[Any, Any], folder: SafeFolder) -> None:
        super().__init__(env)
        self._folder = folder
        self._task: Any = None

    def start(self, task: Task | Mapping[str, Any] | str | None = None, *, seed: int | None = None) -> Turn:
        """Begin with a task; no desktop is started."""
        self._task = task
        return Turn("", 0.0, False, False, {})

    def answer(self, text: str) -> Turn:
        """Evaluate kept results."""
        judge: OSWorldEnv = self.env.unwrapped  # type: ignore[assignment]
        try:
            with self._folder.open(text) as file:
                line = next((line for _, line in unpacked_lines(file, longest=MAX_KEPT)), None)
            score, outcome = judge.judge_again(self._task, line or b"")
        except Exception as error:  # as at the end of an episode on a desktop
            raise InfrastructureError(f"the evaluator has no score: {error}") from error
        return Turn("", score, True, False, {"outcome": outcome})


class _Replayer(Scripted):
    """Gives the stored answers of each episode again."""

    name = "reverify"

    def player(self, episode: Episode) -> _Again:
        """A player of one episode."""
        if not isinstance(episode, _Replay):
            raise TypeError("an episode without its answers")
        return _Again(episode.answers)


class _Again:
    counts = False

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = iter(answers)

    def act(self, turn: Turn) -> Response:
        answer = next(self._answers, None)
        if answer is None:
            raise Outgrown("overlong", "the stored answers end before the episode, which has not solved its task")
        return Response(answer)
