"""First page of a run: settings, progress, and results."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rlanything_agents.feedback.metrics import wilson
from rlanything_agents.runs.monitors import SIGNATURES, health, verdict
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.curves import READING
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.values import integer, mapping, number, readable, sequence

__all__ = ["overview", "run_line"]

Rows = Sequence[Mapping[str, Any]]
MAX_SETTINGS = 400
MAX_POINTS = 1_000
"""Maximum evaluations of a run, and episodes of a task, that are read."""
MAX_TASKS = 10_000


def overview(folder: SafeFolder, rows: Rows, problems: Sequence[str]) -> dict[str, Any]:
    """First page of a run, without its curves.

    Args:
        folder: Folder of the run.
        rows: Metrics rows.
        problems: Messages about unreadable metrics; those about other files are added.
    """
    notes = list(problems)
    files = {name: _read(folder, f"{name}.json", notes) for name in ("config", "summary", "versions")}
    before, after = (_read(folder, f"stages/{name}.json", notes) for name in ("before", "after"))
    config, summary = files["config"], files["summary"]
    points = list(_evaluations(folder, rows, before, after, notes))
    if benchmark := _is_benchmark(folder):
        config, summary, points = _benchmark(folder, notes)
    panels, found = _panels(points), health(list(map(_alarms, rows)))
    measured = {panel["name"]: panel["points"] for panel in panels}
    return {
        **_line(config, summary, rows),
        "verdict": None if benchmark else asdict(verdict(measured, found, len(rows), finished=bool(after))),
        "benchmark": benchmark,
        "rates": _rates(folder, notes) if benchmark else [],
        "command": readable(summary.get("command"), 2_000),
        "note": readable(summary.get("note"), 2_000),
        "reading": READING,
        "table": [
            {key: readable(mapping(line).get(key), 300) for key in ("what", "on", "before", "after", "change", "clear")}
            for line in sequence(summary.get("table"), 50)
        ],
        "panels": panels,
        "judge": [{"at": at, **_numbers(mapping(found.get("judge")))} for at, found in points if found.get("judge")],
        "rows": [_row(row) for row in rows],
        "health": [line.to_dict() for line in found if line.iterations],
        "seconds": number(summary.get("seconds"))
        or number(sum(sum(_numbers(row.get("seconds")).values()) for row in rows)),
        "counts": _numbers(rows[-1].get("tasks")) if rows else {},
        "settings": list(itertools.islice(_flat(config), MAX_SETTINGS)),
        "versions": {readable(k, 60): readable(v, 60) for k, v in list(files["versions"].items())[:40]},
        "problems": notes[:20],
    }


def run_line(folder: SafeFolder, rows: Rows) -> dict[str, Any]:
    """The run as an entry of a list.

    Raises:
        RunFolderError: A file of the run cannot be read.
    """
    notes: list[str] = []
    config, summary = folder.json("config.json"), folder.json("summary.json")
    points: list[tuple[Any, Mapping[str, Any]]] = [
        (at, found)
        for at, name in (("before", "before"), ("after", "after"))
        if (found := _read(folder, f"stages/{name}.json", notes))
    ]
    if _is_benchmark(folder):
        config, summary, points = _benchmark(folder, notes)
    success = [number(mapping(row.get("success")).get("active")) for row in rows]
    return {
        **_line(config, summary, rows),
        "panels": _panels(points),
        "success": [None if value is None else round(value, 3) for value in success[-200:]],
        "counts": _numbers(rows[-1].get("tasks")) if rows else {},
        "problems": notes,
    }


def _is_benchmark(folder: SafeFolder) -> bool:
    """Whether it is of a benchmark or an audit."""
    return not folder.mark("config.json")[1] and any(folder.mark(n)[1] for n in ("benchmark.json", "audit.json"))


def _benchmark(
    folder: SafeFolder, notes: list[str]
) -> tuple[dict[str, Any], dict[str, Any], list[tuple[Any, Mapping[str, Any]]]]:
    """Settings, summary and the one evaluation of a benchmark or an audit, in the form of a run's."""
    if not folder.mark("benchmark.json")[1]:
        found = _read(folder, "audit.json", notes)
        of = mapping(found.get("panel"))
        config = {"name": f"audit of {readable(of.get('name'), 60)}", "domain": of.get("domain")}
        rates = {"panels": {"all cheats": mapping(found.get("cheats"))}}
        return config, {"command": found.get("command")}, [(0, rates)]
    settings, results = _read(folder, "benchmark.json", notes), _read(folder, "results.json", notes)
    total, panel = mapping(results.get("total")), readable(settings.get("panel"), 60)
    name = f"{readable(settings.get('agent'), 100)} on {panel}"
    config = {**settings, "name": name, "domain": mapping(results.get("panel")).get("domain")}
    summary = {"command": results.get("command"), "seconds": total.get("seconds"), "left": integer(results.get("left"))}
    return config, summary if results else {}, [(0, {"panels": {panel: total}})] if results else []


def _rates(folder: SafeFolder, notes: list[str]) -> list[dict[str, Any]]:
    """Success of each task of a benchmark with several episodes of one; empty without."""
    tasks = [mapping(task) for task in sequence(_read(folder, "results.json", notes).get("tasks"), MAX_TASKS)]
    ended = [[o for o in sequence(task.get("outcomes"), MAX_POINTS) if o in (1, -1)] for task in tasks]
    if max(map(len, ended), default=0) < 2:
        return []
    return [
        {"goal": readable(task.get("goal"), 300), "solved": outcomes.count(1), "played": len(outcomes)}
        | {"interval": wilson(outcomes.count(1), len(outcomes)) if outcomes else None}
        for task, outcomes in zip(tasks, ended, strict=True)
    ]


def _line(config: Mapping[str, Any], summary: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    return {
        "run": readable(config.get("name"), 100),
        "domain": readable(config.get("domain"), 60),
        "seed": integer(config.get("seed")),
        "feedback": readable(summary.get("feedback"), 60),
        "band": [number(side) for side in sequence(mapping(config.get("curriculum")).get("band"), 2)],
        "done": len(rows),
        "planned": integer(config.get("iterations")),
        "env_steps": sum(integer(row.get("env_steps")) for row in rows),
        "env_steps_planned": integer(config.get("env_steps")) or None,
        "finished": bool(summary) and not summary.get("left"),
        "alarms": sorted({name for row in rows for name in _alarms(row)["alarms"]}),
    }


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """An iteration as an entry of a list."""
    return {
        "iteration": integer(row.get("iteration")),
        "success": number(mapping(row.get("success")).get("active")),
        "candidate": number(mapping(row.get("success")).get("candidate")),
        "env_steps": integer(row.get("env_steps")),
        "inside": number(mapping(row.get("curriculum")).get("inside")),
        "accepted": integer(mapping(row.get("tasks")).get("accepted")),
        "rejected": integer(mapping(row.get("tasks")).get("rejected")),
        "masked": integer(mapping(row.get("feedback")).get("masked")),
    }


def _alarms(row: Mapping[str, Any]) -> dict[str, Any]:
    """Alarms of an iteration."""
    seen = mapping(row.get("alarms"))
    return {
        "iteration": integer(row.get("iteration")),
        "alarms": {
            signature.name: [readable(line, 300) for line in sequence(seen[signature.name], 20)]
            for signature in SIGNATURES
            if signature.name in seen
        },
    }


def _evaluations(
    folder: SafeFolder, rows: Rows, before: Mapping[str, Any], after: Mapping[str, Any], notes: list[str]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """All evaluations, each with the number of iterations before it."""
    if before:
        yield 0, before
    last = integer(rows[-1].get("iteration")) if rows else 0
    for iteration in range(1, min(last, MAX_POINTS * 10) + 1):
        name = f"stages/iteration-{iteration:04d}.json"
        if folder.mark(name)[1] and (found := _read(folder, name, notes)):
            yield iteration, found
    if after:
        yield last, after


def _panels(points: Sequence[tuple[Any, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Success of each panel with its interval, at each evaluation."""
    names = list(dict.fromkeys(name for _, found in points for name in list(mapping(found.get("panels")))[:20]))
    return [
        {
            "name": readable(name, 60),
            "points": [
                {"at": at, **{key: number(panel.get(key)) for key in ("rate", "low", "high", "episodes", "errors")}}
                for at, found in points
                if (panel := mapping(mapping(found.get("panels")).get(name)))
            ],
        }
        for name in names
    ]


def _numbers(value: object) -> dict[str, float]:
    return {
        readable(key, 60): found
        for key, item in list(mapping(value).items())[:60]
        if (found := number(item)) is not None
    }


def _flat(value: object, prefix: str = "", depth: int = 6) -> Iterator[tuple[str, str]]:
    """Settings as dotted keys and values."""
    if isinstance(value, dict) and value and depth:
        for key, item in value.items():
            name = readable(str(key), 60)
            yield from _flat(item, f"{prefix}.{name}" if prefix else name, depth - 1)
    else:
        yield prefix, readable(value if isinstance(value, str) else str(value), 300)


def _read(folder: SafeFolder, name: str, notes: list[str]) -> dict[str, Any]:
    try:
        return folder.json(name)
    except RunFolderError as error:
        notes.append(str(error))
        return {}
