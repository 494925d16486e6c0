"""Views of a pool on the terminal. Goals, critiques and reasons are untrusted: markup is off, and all text passes
`printable`.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rlanything_agents.feedback.metrics import wilson
from rlanything_agents.feedback.percent import percent
from rlanything_agents.tools.cli.output import console, plain_text
from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.monitor import CurriculumRow
from rlanything_envs.curriculum.patterns import replaced
from rlanything_task_pools import Event, OutcomeRecord, Task, TaskPool, Version, get_domain
from rlanything_task_pools.errors import UnknownName
from rlanything_verifiers.plain_text import printable

ROWS = 20
"""Approximate rows of metrics."""
MAX_LINES = 12
"""Maximum lines of the difference of two worlds under an edge of the tree."""
BAR = 40
"""Maximum length of a bar of a histogram, in characters."""
_ARROWS = {"harder": "▲ harder", "easier": "▼ easier"}
_MARKS = {"-": "red", "+": "green", "": ""}
_BRACKETS = {"-": "[-{}-]", "+": "{{+{}+}}", "": "{}"}
_STATES = {"accepted": "green", "rejected": "red", "pending": "yellow"}


# -- show ----------------------------------------------------------------------------------------------------


def slot_rows(pool: TaskPool) -> list[dict[str, Any]]:
    """One record per slot, as plain data; ``interval`` is the 95 % Wilson interval of the success rate."""
    with pool.snapshot():
        accepted: dict[int, list[Event]] = {}
        for event in pool.events(kind="accepted"):
            accepted.setdefault(event.slot, []).append(event)
        outcomes = _by_task(pool.outcomes(errors=False))
        rows = []
        for slot in pool.slots:
            root, active, candidate = pool.root(slot), pool.active(slot), pool.candidate(slot)
            events = accepted.get(slot, [])
            since, latest = events[-1].index if events else 0, [event.task_id for event in reversed(events)]
            played = [
                record.outcome for record in outcomes.get((slot, active.id, "active"), ()) if record.event >= since
            ]
            tally = Tally.of(played)
            rows.append(
                {
                    "slot": slot,
                    "root": {"id": root.id, "goal": root.goal},
                    "active": {"id": active.id, "goal": active.goal},
                    # An accepted fresh task is the slot's new root.
                    "depth": latest.index(root.id) if root.id in latest else len(latest),
                    "successes": tally.successes,
                    "episodes": tally.n,
                    "interval": wilson(tally.successes, tally.n) if tally.n else None,
                    "candidate": None if candidate is None else {"id": candidate.id, "goal": candidate.goal},
                }
            )
    return rows


def print_slots(pool: TaskPool, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table of slots."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("slot", justify="right")
    table.add_column("task", ratio=1, overflow="fold")
    table.add_column("depth", justify="right")
    table.add_column("success", justify="right", no_wrap=True)
    for row in rows:
        task = plain_text(row["active"]["goal"])
        if row["active"]["id"] != row["root"]["id"]:
            task.append(f"\n  root: {printable(row['root']['goal'])}", style="dim")
        if row["candidate"] is not None:
            task.append(f"\n  on trial: {printable(row['candidate']['goal'])}", style="yellow")
        depth = str(row["depth"]) if row["depth"] else Text("·", style="dim")
        table.add_row(str(row["slot"]), task, depth, _rate(Tally(row["successes"], row["episodes"])))
    out = console()
    out.print(table)
    counts = pool.counts()
    out.print(
        f"{counts['slots']} slots, {counts['rewritten']} hold a rewrite, {counts['pending']} on trial; "
        f"{counts['proposed']} proposed, {counts['accepted']} accepted, {counts['rejected']} rejected, "
        f"{counts['discarded']} never tried; {counts['outcomes']} episodes, {counts['errors']} broken"
    )


def print_profile(pool: TaskPool, band: tuple[float, float]) -> None:
    """Print how many tasks were never solved, solved less than in the band, within it, more, and always."""
    low, high = band
    bins: tuple[tuple[str, Callable[[float], bool]], ...] = (
        ("never", lambda rate: rate == 0),
        (f"below {percent(low, 0)}", lambda rate: 0 < rate < low),
        (f"{percent(low, 0)} to {percent(high, 0)}", lambda rate: low <= rate <= high),
        (f"above {percent(high, 0)}", lambda rate: high < rate < 1),
        ("always", lambda rate: rate == 1),
    )
    tallies = [Tally.of(pool.last_group(slot)) for slot in pool.slots]
    rates = [tally.accuracy for tally in tallies if tally.n]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("solved", "tasks", ""):
        table.add_column(name, justify="right" if name == "tasks" else "left")
    for name, within in bins:
        count = sum(map(within, rates))
        table.add_row(name, str(count), "█" * round(BAR * count / max(1, len(rates))))
    console().print(table)


# -- log -----------------------------------------------------------------------------------------------------


def event_rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """One record per event, as plain data."""
    return [
        {"event": e.index, "kind": e.kind, "slot": e.slot, "task": e.task_id, "reason": e.reason, "stats": e.stats}
        for e in events
    ]


def print_events(events: Sequence[Event]) -> None:
    """Print the table of events."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("event", justify="right")
    table.add_column("slot", justify="right")
    table.add_column("what")
    table.add_column("reason", overflow="fold")
    table.add_column("task", no_wrap=True)
    table.add_column("numbers", ratio=1, overflow="fold")
    for event in events:
        table.add_row(
            str(event.index),
            str(event.slot),
            Text(event.kind, style=_STATES.get(event.kind, "")),
            plain_text(event.reason),
            plain_text(event.task_id, style="dim"),
            plain_text(_numbers(event.stats), style="dim"),
        )
    console().print(table if events else "no events")


def _numbers(stats: Mapping[str, Any]) -> str:
    """Statistics of an event as text: ``3/8 solved`` for a tally, the others by name."""
    rest = dict(stats)
    words = []
    if isinstance(rest.get("n"), int) and isinstance(rest.get("successes"), int):
        words.append(f"{rest.pop('successes')}/{rest.pop('n')} solved")
    for name, value in rest.items():
        shown = f"{value:.3g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
        words.append(shown if name == "detail" else f"{name} {shown}")
    return ", ".join(words)


# -- lineage -------------------------------------------------------------------------------------------------


def print_lineages(pool: TaskPool, which: Sequence[str]) -> None:
    """Print the lineage trees of slots, given by number or by a task; of all slots with a rewrite if none is given."""
    out = console()
    found = False
    for slot, versions, outcomes in _lineages(pool, which):
        found = True
        out.print(_tree(slot, versions, outcomes))
        out.print()
    if not found:
        out.print("no slot has seen a rewrite yet")


def lineage_rows(pool: TaskPool, which: Sequence[str]) -> Iterator[dict[str, Any]]:
    """One record per version of the slots that `print_lineages` prints, as plain data: a task and its decision."""
    for slot, versions, outcomes in _lineages(pool, which):
        by_index = {version.index: version for version in versions}
        for version in versions:
            parent = None if version.parent is None else by_index[version.parent]
            rewrite, task = version.task.rewrite, version.task
            row: dict[str, Any] = {
                "slot": slot,
                "version": version.index,
                "task": task.id,
                "goal": task.goal,
                "state": version.state,
                "reason": version.decided.reason if version.decided is not None else "",
                "parent_version": version.parent,
                "parent": None if parent is None else parent.task.id,
                "direction": rewrite.direction if rewrite else None,
                "author": rewrite.author if rewrite else None,
                "critique": rewrite.critique if rewrite else None,
                "critic": rewrite.critic if rewrite else None,
                "replaced": _replacement(versions[0].task, task).strip(),
            }
            if parent is not None:
                before, after = _before_and_after(version, parent, outcomes)
                row["before"] = {"successes": before.successes, "episodes": before.n}
                row["after"] = {"successes": after.successes, "episodes": after.n}
            yield row


def _lineages(
    pool: TaskPool, which: Sequence[str]
) -> Iterator[tuple[int, Sequence[Version], Mapping[Any, Sequence[OutcomeRecord]]]]:
    slots = sorted({slot for name in which for slot in _slots_of(pool, name)} if which else _tried(pool))
    for slot in slots:
        with pool.snapshot():
            versions, outcomes = pool.versions(slot), _by_task(pool.outcomes(slot, errors=False))
        yield slot, versions, outcomes


def _slots_of(pool: TaskPool, name: str) -> list[int]:
    if name.isdecimal():
        pool.root(int(name))  # raises for an unknown slot
        return [int(name)]
    pool.task(name)
    return [slot for slot in pool.slots if any(version.task.id == name for version in pool.versions(slot))]


def _tried(pool: TaskPool) -> set[int]:
    return {event.slot for event in pool.events(kind="proposed")}


def _tree(slot: int, versions: Sequence[Version], outcomes: Mapping[Any, Sequence[OutcomeRecord]]) -> Tree:
    root, *rest = versions
    tree = Tree(
        Group(
            Text.assemble((f"slot {slot}", "bold"), "  ", plain_text(root.task.goal)),
            plain_text(root.task.id, style="dim"),
        ),
        guide_style="dim",
    )
    nodes, by_index = {root.index: tree}, {version.index: version for version in versions}
    for version in rest:
        if version.parent is None:
            nodes[version.index] = tree.add(_fresh(version))
            continue
        parent = by_index[version.parent]
        before, after = _before_and_after(version, parent, outcomes)
        nodes[version.index] = nodes[parent.index].add(_edge(version, parent, root.task, before, after))
    return tree


def _before_and_after(
    version: Version, parent: Version, outcomes: Mapping[Any, Sequence[OutcomeRecord]]
) -> tuple[Tally, Tally]:
    """Tallies of the parent while it was active before the decision, and of the candidate on trial."""
    start = parent.decided.index if parent.decided is not None else 0
    proposed = version.proposed.index if version.proposed is not None else 0
    end = version.decided.index if version.decided is not None else sys.maxsize
    old = outcomes.get((version.slot, parent.task.id, "active"), ())
    new = outcomes.get((version.slot, version.task.id, "candidate"), ())
    return (
        Tally.of(record.outcome for record in old if start <= record.event < end),
        Tally.of(record.outcome for record in new if proposed <= record.event < end),
    )


def _replacement(root: Task, task: Task) -> str:
    """What a rewrite is called whose goal shares nothing with its root's; empty for any other."""
    if task.rewrite is None or not replaced(root.goal, task.goal):
        return ""
    return "  replaced" if "scene" in task.rewrite.change else "  replaced in the same scene"


def _verdict(version: Version) -> Text:
    """Decision on a version with its reason."""
    words = version.state if version.decided is None else f"{version.state}: {printable(version.decided.reason, 60)}"
    return Text(words, style=_STATES.get(version.state, ""))


def _fresh(version: Version) -> RenderableType:
    """A task without a parent that took the slot."""
    return Group(Text.assemble(_verdict(version), (f"  {version.task.id}", "dim")), plain_text(version.task.goal))


def _edge(version: Version, parent: Version, root: Task, before: Tally, after: Tally) -> RenderableType:
    rewrite = version.task.rewrite
    direction = _ARROWS.get(rewrite.direction, "") if rewrite else ""
    head = Text.assemble(
        (direction, "bold"), (_replacement(root, version.task), "yellow"), "  ", _verdict(version), "  ",
        _rate(before), " → ", _rate(after),
        (f"  by {printable(rewrite.author, 60)}" if rewrite else "", "dim"),
        (f"  {version.task.id}", "dim"),
    )  # fmt: skip
    lines: list[RenderableType] = [head]
    if parent.task.goal != version.task.goal:
        pieces = word_diff(parent.task.goal, version.task.goal)
        lines.append(Text(" ").join(plain_text(_BRACKETS[mark].format(words), _MARKS[mark]) for mark, words in pieces))
    else:
        for mark, line in world_diff(parent.task, version.task)[:MAX_LINES]:
            lines.append(plain_text(f"{mark or ' '}{line}", _MARKS[mark]))
    if rewrite and rewrite.critique:
        said = f"“{rewrite.critique}” ({rewrite.critic or 'author unknown'})".splitlines()
        lines += [plain_text(line, style="italic") for line in said]
    return Group(*lines)


# -- metrics -------------------------------------------------------------------------------------------------


def rows_of(pool: TaskPool) -> int:
    """Groups per row, in multiples of 16, so that the whole series has about `ROWS` rows."""
    groups = len({record.batch for record in pool.outcomes()})
    return 16 * max(1, round(groups / (16 * ROWS)))


def print_metrics(rows: Sequence[CurriculumRow]) -> None:
    """Print the series as a table, with reasons and the slots that are far from their roots below it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for name in (
        "groups", "accepted\n▲ / ▼", "rejec-\nted", "below\nband", "in\nband", "above\nband", "solved", "solved,\nnew",
        "re-\nwritten", "drift\nmean", "drift\nmax", "diver-\nsity", "dupli-\ncates",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.groups), f"{row.accepted_harder} / {row.accepted_easier}", str(sum(row.rejected.values())),
            _percent(row.below), _percent(row.inside), _percent(row.above), _percent(row.accuracy),
            _percent(row.new_accuracy), _percent(row.rewritten), f"{row.drift:.2f}", f"{row.drift_max:.2f}",
            f"{row.diversity:.2f}", str(row.duplicates),
        )  # fmt: skip
    out = console()
    out.print(table)
    for name, reasons in (("rejected", rows[-1].rejected), ("never tried", rows[-1].discarded)):
        if reasons:
            most = sorted(reasons.items(), key=lambda item: -item[1])
            out.print(plain_text(f"{name}: " + ", ".join(f"{reason} {number}" for reason, number in most)))
    if far := rows[-1].far:
        text = f"slots {', '.join(map(str, far))} are far from their roots; see `rlanything pool lineage`"
        out.print(Text.assemble(("drift: ", "bold yellow"), plain_text(text)))


# -- differences of two tasks, as pairs of a mark (`-`, `+` or empty) and a text ------------------------------


def world_diff(one: Task, other: Task) -> list[tuple[str, str]]:
    """Different lines, with one of context, of the domain's descriptions of two worlds; of their data where the domain
    is not installed.
    """
    old, new = (json.dumps(task.payload, indent=1, sort_keys=True).splitlines() for task in (one, other))
    if one.domain == other.domain:
        try:
            domain = get_domain(one.domain)
            old, new = (domain.describe(task).splitlines() for task in (one, other))
        except (UnknownName, ValueError):
            pass  # tasks of an unknown domain, and broken ones, are compared by their data
    different = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]  # without difflib's file names
    return [(line[:1].strip(), line[1:]) for line in different if not line.startswith("@@")]


def word_diff(old: str, new: str) -> list[tuple[str, str]]:
    """Removed, added and common words of two sentences."""
    a, b = old.split(), new.split()
    pieces: list[tuple[str, str]] = []
    for operation, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if operation == "equal":
            pieces.append(("", " ".join(a[i:j])))
            continue
        pieces += [(mark, " ".join(words)) for mark, words in (("-", a[i:j]), ("+", b[k:m])) if words]
    return pieces


# -- small parts ---------------------------------------------------------------------------------------------


def _by_task(records: Iterable[OutcomeRecord]) -> dict[tuple[int, str, str], list[OutcomeRecord]]:
    found: dict[tuple[int, str, str], list[OutcomeRecord]] = {}
    for record in records:
        found.setdefault((record.slot, record.task_id, record.outcome.role), []).append(record)
    return found


def _rate(tally: Tally) -> Text:
    return Text(f"{percent(tally.accuracy, 0)} of {tally.n}" if tally.n else "–")


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value, 0)
