"""The quality card of a panel: what was measured of it, under the properties that OpenEnv's RFC 008 asks for.

The numbers come from files that other commands leave: ``results.json`` of `rlanything benchmark`, ``audit.json`` of
`rlanything audit`, ``doctor.json`` with the output of `rlanything doctor --json`. What nobody has measured says so,
with the command that would measure it. Numbers in brackets are those of the RFC's checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rlanything_agents.tools.audit.agents import RANDOM, SOLUTION
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.report import plain_command, success_text, table_line
from rlanything_task_pools.panel import Recipe, panel_hash
from rlanything_verifiers.plain_file import read_plain

__all__ = ["Measured", "panel_card", "read_measured"]

MAX_BYTES = 50_000_000
"""Maximum bytes of a measured file; an episode of ``results.json`` takes about 400."""
NOT_MEASURED = "not measured"
PROBES = {"coding": "coding-probes", "osworld": "osworld-probes"}
"""Panel of attacks on the judge, by domain; AlfWorld runs nothing that an agent wrote."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Panel(BaseModel):
    name: str
    hash: str
    tasks: Count


class _Row(BaseModel):
    agent: str = ""
    episodes: Count
    successes: Count
    rate: Share | None
    low: Share | None
    high: Share | None
    score: float | None = None
    steps: Annotated[float, Field(ge=0)] | None = None
    seconds: Annotated[float, Field(ge=0)] = 0.0
    voided: Count = 0
    held: Count = 0


class _Task(BaseModel):
    task: str
    outcomes: tuple[int | None, ...]
    steps: tuple[int, ...]


class _Settings(BaseModel):
    """Settings of a benchmark: all of them are compared."""

    model_config = ConfigDict(extra="allow")
    seed: int = 0


class _File(BaseModel):
    panel: _Panel
    command: str
    versions: dict[str, str]


class _Results(_File):
    agent: str
    settings: _Settings
    total: _Row
    tasks: tuple[_Task, ...]


class _Audit(_File):
    agents: tuple[_Row, ...]
    cheats: _Row
    findings: tuple[Any, ...]
    voided: tuple[Any, ...]
    held: tuple[Any, ...]


class _Finding(BaseModel):
    topic: str
    state: str
    said: str


class _Doctor(BaseModel):
    findings: tuple[_Finding, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """Files that were measured, as read from a folder."""

    results: tuple[_Results, ...]
    audits: tuple[_Audit, ...]
    doctors: tuple[_Doctor, ...]


def read_measured(folder: Path) -> Measured:
    """All ``results.json``, ``audit.json`` and ``doctor.json`` of a folder and the folders below it; untrusted files.

    Raises:
        BenchmarkError: A file is too large, malformed, or not a regular file; or there is none.
    """
    found: dict[str, list[Any]] = {"results.json": [], "audit.json": [], "doctor.json": []}
    kinds: dict[str, type[BaseModel]] = {"results.json": _Results, "audit.json": _Audit, "doctor.json": _Doctor}
    for path in sorted(folder.rglob("*.json")):
        if path.name not in kinds:
            continue
        try:
            content = read_plain(path, MAX_BYTES + 1)
            if len(content) > MAX_BYTES:
                raise BenchmarkError(f"{path} has more than {MAX_BYTES} bytes")
            found[path.name].append(kinds[path.name].model_validate_json(content))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            raise BenchmarkError(f"{path} is not what a command left there: {place}: {first['msg']}") from None
        except OSError as error:
            raise BenchmarkError(f"{path} cannot be read: {error}") from None
    if not any(found.values()):
        raise BenchmarkError(
            f"{folder} has no results.json, audit.json or doctor.json: name the folder that holds them"
        )
    return Measured(*(tuple(files) for files in found.values()))


@dataclass(frozen=True, slots=True)
class _Measure:
    """A row of a card; without a value it was not measured, and the command would measure it."""

    question: str
    what: str
    value: str | None
    command: str


def panel_card(recipe: Recipe, measured: Measured) -> str:
    """A panel's card as Markdown; only files of the same tasks, or of the first ones, count.

    Args:
        recipe: The panel.
        measured: Files, also of other panels.
    """
    named = [each for each in measured.results if each.panel.name == recipe.name]
    results = sorted((each for each in named if _is_of(each, recipe)), key=lambda each: -each.panel.tasks)
    audits = [each for each in measured.audits if _is_of(each, recipe)]
    probes = [each for each in measured.audits if each.panel.name == PROBES.get(recipe.domain)]
    findings = [finding for doctor in measured.doctors for finding in doctor.findings]
    rows = [
        *_scales(recipe, results),
        *_learnable(recipe, results),
        *_secure(recipe, audits, probes, findings),
        *_not_hackable(recipe, audits),
        *_self_describing(recipe, findings),
        *_reproducible(recipe, named, results),
    ]
    settings = ", ".join(f"{key}={value}" for key, value in recipe.environment.items())
    about = (
        f"{recipe.meaning} {recipe.count} tasks, `{recipe.hash or 'not pinned'}`{', ' if settings else ''}{settings}."
    )
    lines = [f"## {recipe.name}", "", about, "", "| question | measured | value | command |", "|---|---|---|---|"]
    question = ""
    for row in rows:
        cells = ("" if row.question == question else row.question, row.what, row.value or NOT_MEASURED, row.command)
        lines.append(table_line(cells, 600))
        question = row.question
    return "\n".join(lines) + "\n"


def _is_of(found: _File, recipe: Recipe) -> bool:
    """Whether the tasks are the panel's, or its first ones."""
    pinned = panel_hash(recipe.tasks[: found.panel.tasks]) if recipe.hash is not None else found.panel.hash
    return (found.panel.name, found.panel.hash) == (recipe.name, pinned) and found.panel.tasks <= recipe.count


def _benchmark(recipe: Recipe, agent: str) -> str:
    return f"`rlanything benchmark --panel {recipe.name} --agent {agent}`"


def _scales(recipe: Recipe, results: Sequence[_Results]) -> Iterator[_Measure]:
    question = "Scales"
    timed = {
        each.agent: each
        for each in reversed(results)
        if each.total.episodes and each.total.seconds and each.total.steps
    }
    for each in (timed[agent] for agent in ("expert", RANDOM) if agent in timed):
        total, machine = each.total, each.versions.get("machine", "unknown machine")
        seconds, steps = total.seconds / total.episodes, (total.steps or 0) * total.episodes / total.seconds
        text = f"{seconds:.3g} s an episode, {steps:.3g} steps a second ({machine})"
        yield _Measure(question, f"one copy, played by `{each.agent}` [11]", text, f"`{plain_command(each.command)}`")
    if not timed:
        yield _Measure(question, "one copy [11]", None, _benchmark(recipe, "expert"))
    yield _Measure(question, "many copies, memory of each [10, 11]", None, f"`python -m benchmarks.{recipe.domain}`")
    yield _Measure(question, "image: reproducible, small, signed [1-9]", None, "`docker build .`")


def _learnable(recipe: Recipe, results: Sequence[_Results]) -> Iterator[_Measure]:
    question = "Learnable"
    by = {each.agent: each for each in reversed(results)}
    for agent, what in (("expert", "reward can be reached: the proofs [13]"), (RANDOM, "random play [14]")):
        if (each := by.pop(agent, None)) is None:
            yield _Measure(question, what, None, _benchmark(recipe, agent))
        else:
            yield _Measure(question, what, _rate(each.total), f"`{plain_command(each.command)}`")
    for agent, each in sorted(by.items()):
        room = "" if each.total.rate is None else f"; {100 * (1 - each.total.rate):.3g} points of headroom"
        what = f"`{agent}` [14, 15]"
        yield _Measure(question, what, _rate(each.total) + room, f"`{plain_command(each.command)}`")
    if not by:
        yield _Measure(question, "a model: difficulty, headroom [14, 15]", None, _benchmark(recipe, "hf:CHECKPOINT"))
    if not any(agent.startswith("run:") for agent in by):
        what = "what some hundred steps of training change [17]"
        yield _Measure(question, what, None, _benchmark(recipe, "run:FOLDER"))


def _secure(
    recipe: Recipe, audits: Iterable[_Audit], probes: Iterable[_Audit], findings: Iterable[_Finding]
) -> Iterator[_Measure]:
    question = "Secure"
    yield from _attacks(question, "cheats: episodes without an outcome, held too long [19-21]", recipe.name, audits)
    if probe := PROBES.get(recipe.domain):
        yield from _attacks(question, "attacks on the judge [18-22]", probe, probes)
    topic = {"coding": "sandbox", "osworld": "bwrap desktop"}.get(recipe.domain)
    if topic is not None:
        seen = [f"{each.topic}: {each.state}" for each in findings if each.topic.startswith(topic)]
        yield _Measure(question, "isolation on the machine [18-20]", "; ".join(seen) or None, "`rlanything doctor`")


def _attacks(question: str, what: str, panel: str, audits: Iterable[_Audit]) -> Iterator[_Measure]:
    command = None
    for each in audits:
        cheats, command = each.cheats, f"`{plain_command(each.command)}`"
        text = f"{len(each.voided)} and {len(each.held)} of {cheats.episodes + cheats.voided} episodes"
        yield _Measure(question, what, f"{text}, {cheats.successes} solved", command)
    if command is None:
        yield _Measure(question, what, None, f"`rlanything audit --panel {panel}`")


def _not_hackable(recipe: Recipe, audits: Iterable[_Audit]) -> Iterator[_Measure]:
    question, command = "Not hackable", None
    for each in audits:
        command, rows = f"`{plain_command(each.command)}`", {row.agent: row for row in each.agents}
        tasks = f", {each.panel.tasks} of {recipe.count} tasks" * (each.panel.tasks < recipe.count)
        yield _Measure(question, f"solved by cheats [26-28]{tasks}", _rate(each.cheats), command)
        for agent, what in ((SOLUTION, "the known solutions [25]"), ("silent", "doing nothing [25]")):
            if agent in rows:
                score = "" if rows[agent].score is None else f", mean score {rows[agent].score:.3g}"
                yield _Measure(question, what, _rate(rows[agent]) + score, command)
    if command is None:
        yield _Measure(
            question, "cheats, solutions, doing nothing [25-28]", None, f"`rlanything audit --panel {recipe.name}`"
        )


def _self_describing(recipe: Recipe, findings: Iterable[_Finding]) -> Iterator[_Measure]:
    question = "Self-describing"
    played = next((f"{each.state}: {each.said}" for each in findings if each.topic == f"play {recipe.domain}"), None)
    played = played and re.sub(r"\S+: (?=\d+ steps)", "", played)
    yield _Measure(question, "observations and actions are in their spaces [29, 34]", played, "`rlanything doctor`")
    what = "hidden parts of tasks in prompts, views, exports [30]"
    yield _Measure(question, what, None, "`python -m pytest tests/test_canary.py` leaves no file")


def _reproducible(recipe: Recipe, named: Sequence[_Results], results: Sequence[_Results]) -> Iterator[_Measure]:
    question = "Reproducible"
    if recipe.hash is None:  # official games, which are compared with those that were found first
        results = [each for each in results if each.panel.hash == results[0].panel.hash]
    text = f"in {len(results)} of {len(named)} benchmarks" if named else None
    yield _Measure(question, "the same tasks, by their hash [42]", text, _benchmark(recipe, "AGENT"))
    pairs = [
        (one, other)
        for number, one in enumerate(results)
        for other in results[number + 1 :]
        if (one.agent, one.panel.hash, one.settings) == (other.agent, other.panel.hash, other.settings)
    ]
    for one, other in pairs:
        equal = sum(here == there for here, there in zip(one.tasks, other.tasks, strict=False))
        text = f"the same outcome and steps in {equal} of {len(one.tasks)} tasks"
        yield _Measure(
            question, f"`{one.agent}` played again, same seed [36, 37]", text, f"`{plain_command(one.command)}`, twice"
        )
    if not pairs:
        yield _Measure(
            question, "an agent played again, same seed [36, 37]", None, _benchmark(recipe, RANDOM) + ", twice"
        )


def _rate(row: _Row) -> str:
    return f"{success_text(row.model_dump())}, {row.successes} of {row.episodes} episodes"
