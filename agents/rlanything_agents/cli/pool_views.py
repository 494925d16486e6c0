"""How a pool is shown on a terminal. Goals, critiques and reasons come from models and files: nothing here reads
markup, and everything passes `printable`.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from rlanything_agents.cli.untrusted import printable
from rlanything_envs.curriculum.acceptance import Tally
from rlanything_envs.curriculum.monitor import CurriculumRow, DriftAlarm
from rlanything_task_pools import Event, OutcomeRecord, Task, TaskPool, UnknownDomain, Version, get_domain

WIDTH = 100
"""Columns used where the output is no terminal."""
ROWS = 20
"""Rows of metrics aimed at when the user names no number of groups."""
MAX_LINES = 12
"""Lines of a world's difference shown under an edge of the tree."""
_ARROWS = {"harder": "▲ harder", "easier": "▼ easier"}
_STATES = {"accepted": "green", "rejected": "red", "pending": "yellow"}


def console() -> Console:
    """A console that neither reads markup nor guesses at highlights."""
    return Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else WIDTH)


# -- show ----------------------------------------------------------------------------------------------------


def slot_rows(pool: TaskPool) -> list[dict[str, Any]]:
    """One plain record for each slot."""
    with pool.snapshot():
        since = {event.slot: event.index for event in pool.events(kind="accepted")}
        depth = {slot: len(pool.events(slot, kind="accepted")) for slot in since}
        outcomes = _by_task(pool.outcomes(errors=False))
        rows = []
        for slot in pool.slots:
            root, active, candidate = pool.root(slot), pool.active(slot), pool.candidate(slot)
            played = [
                record.outcome
                for record in outcomes.get((slot, active.id, "active"), ())
                if record.event >= since.get(slot, 0)
            ]
            tally = Tally.of(played)
            rows.append(
                {
                    "slot": slot,
                    "root": {"id": root.id, "goal": root.goal},
                    "active": {"id": active.id, "goal": active.goal},
                    "depth": depth.get(slot, 0),
                    "successes": tally.successes,
                    "episodes": tally.n,
                    "candidate": None if candidate is None else {"id": candidate.id, "goal": candidate.goal},
                }
            )
    return rows


def print_slots(pool: TaskPool, rows: Sequence[Mapping[str, Any]]) -> None:
    """The table of slots."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("slot", justify="right")
    table.add_column("task", ratio=1, overflow="fold")
    table.add_column("depth", justify="right")
    table.add_column("success", justify="right", no_wrap=True)
    for row in rows:
        task = _text(row["active"]["goal"])
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


# -- log -----------------------------------------------------------------------------------------------------


def event_rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """One plain record for each event."""
    return [
        {"event": e.index, "kind": e.kind, "slot": e.slot, "task": e.task_id, "reason": e.reason, "stats": e.stats}
        for e in events
    ]


def print_events(events: Sequence[Event]) -> None:
    """The table of events."""
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
            _text(event.reason),
            _text(event.task_id, style="dim"),
            _text(_numbers(event.stats), style="dim"),
        )
    console().print(table if events else "no events")


def _numbers(stats: Mapping[str, Any]) -> str:
    """The stats of an event in a few words: ``3/8 won`` for a tally, the rest by name."""
    rest = dict(stats)
    words = []
    if isinstance(rest.get("n"), int) and isinstance(rest.get("successes"), int):
        words.append(f"{rest.pop('successes')}/{rest.pop('n')} won")
    for name, value in rest.items():
        shown = f"{value:.3g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)
        words.append(shown if name == "detail" else f"{name} {shown}")
    return ", ".join(words)


# -- lineage -------------------------------------------------------------------------------------------------


def print_lineages(pool: TaskPool, which: Sequence[str]) -> None:
    """The trees of slots, given by number or by a task they had; of all slots with a rewrite if none is given."""
    out = console()
    slots = sorted({slot for name in which for slot in _slots_of(pool, name)} if which else _tried(pool))
    if not slots:
        out.print("no slot has seen a rewrite yet")
    for slot in slots:
        with pool.snapshot():
            versions, outcomes = pool.versions(slot), _by_task(pool.outcomes(slot, errors=False))
        out.print(_tree(slot, versions, outcomes))
        out.print()


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
        Group(Text.assemble((f"slot {slot}", "bold"), "  ", _text(root.task.goal)), _text(root.task.id, style="dim")),
        guide_style="dim",
    )
    nodes, by_index = {root.index: tree}, {version.index: version for version in versions}
    for version in rest:
        parent = by_index[version.parent] if version.parent is not None else root
        before, after = _before_and_after(version, parent, outcomes)
        nodes[version.index] = nodes[parent.index].add(_edge(version, parent, before, after))
    return tree


def _before_and_after(
    version: Version, parent: Version, outcomes: Mapping[Any, Sequence[OutcomeRecord]]
) -> tuple[Tally, Tally]:
    """How the parent did while it was active until the decision, and the candidate on trial."""
    start = parent.decided.index if parent.decided is not None else 0
    proposed = version.proposed.index if version.proposed is not None else 0
    end = version.decided.index if version.decided is not None else sys.maxsize
    old = outcomes.get((version.slot, parent.task.id, "active"), ())
    new = outcomes.get((version.slot, version.task.id, "candidate"), ())
    return (
        Tally.of(record.outcome for record in old if start <= record.event < end),
        Tally.of(record.outcome for record in new if proposed <= record.event < end),
    )


def _edge(version: Version, parent: Version, before: Tally, after: Tally) -> RenderableType:
    rewrite = version.task.rewrite
    direction = _ARROWS.get(rewrite.direction, "") if rewrite else ""
    verdict = version.state if version.decided is None else f"{version.state}: {printable(version.decided.reason, 60)}"
    head = Text.assemble(
        (direction, "bold"), "  ", (verdict, _STATES.get(version.state, "")), "  ",
        _rate(before), " → ", _rate(after),
        (f"  by {printable(rewrite.author, 60)}" if rewrite else "", "dim"),
        (f"  {version.task.id}", "dim"),
    )  # fmt: skip
    lines: list[RenderableType] = [head]
    if parent.task.goal != version.task.goal:
        lines.append(_word_diff(parent.task.goal, version.task.goal))
    else:
        lines += _world_diff(parent.task, version.task)[:MAX_LINES]
    if rewrite and rewrite.critique:
        lines.append(_text(f"“{rewrite.critique}”", style="italic"))
    return Group(*lines)


# -- diff ----------------------------------------------------------------------------------------------------


def print_difference(one: Task, other: Task) -> None:
    """What differs between two tasks, part by part."""
    out = console()
    out.print(Text.assemble(("− ", "red"), _text(one.id), ("\n+ ", "green"), _text(other.id)))
    traits = ([f"{name}: {value}" for name, value in sorted(task.traits.items())] for task in (one, other))
    parts: tuple[tuple[str, list[Text]], ...] = (
        ("goal", [_word_diff(one.goal, other.goal)] if one.goal != other.goal else []),
        ("world", _world_diff(one, other)),
        ("proof", _line_diff(one.proof, other.proof)),
        ("traits", _line_diff(*traits)),
    )
    for name, lines in parts:
        if lines:
            out.print(Text(name, style="bold"))
            for line in lines:
                out.print(Padding(line, (0, 0, 0, 2)))
    if not any(lines for _, lines in parts):
        out.print("no difference")


def _world_diff(one: Task, other: Task) -> list[Text]:
    """The domain's own description of the two worlds, compared; without the domain, their data."""
    if one.domain == other.domain:
        try:
            domain = get_domain(one.domain)
            lines = [domain.describe(task).splitlines() for task in (one, other)]
            return _line_diff(*lines)
        except (UnknownDomain, ValueError):
            pass  # a foreign or broken task is still worth comparing
    data = (json.dumps(task.payload, indent=1, sort_keys=True).splitlines() for task in (one, other))
    return _line_diff(*data)


def _line_diff(old: Sequence[str], new: Sequence[str]) -> list[Text]:
    """The lines that differ, with one line around them, without difflib's file names."""
    styles = {"-": "red", "+": "green", "@": "dim"}
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    return [_text(line, style=styles.get(line[:1], "")) for line in lines if not line.startswith("@@")]


def _word_diff(old: str, new: str) -> Text:
    """One sentence with what went as ``[-words-]`` and what came as ``{+words+}``."""
    a, b = old.split(), new.split()
    text = Text()
    for operation, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        pieces = [(" ".join(a[i:j]), "")] if operation == "equal" else []
        if operation in ("delete", "replace"):
            pieces.append((f"[-{' '.join(a[i:j])}-]", "red"))
        if operation in ("insert", "replace"):
            pieces.append((f"{{+{' '.join(b[k:m])}+}}", "green"))
        for words, style in pieces:
            text.append((" " if text else "") + printable(words), style=style)
    return text


# -- metrics -------------------------------------------------------------------------------------------------


def rows_of(pool: TaskPool) -> int:
    """Groups in a row such that the whole series has about `ROWS` rows; whole batches of 16."""
    groups = len({record.batch for record in pool.outcomes()})
    return 16 * max(1, round(groups / (16 * ROWS)))


def print_metrics(rows: Sequence[CurriculumRow], alarms: Sequence[DriftAlarm]) -> None:
    """The series as a table; reasons and alarms under it."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for name in (
        "groups", "accepted\n▲ / ▼", "rejec-\nted", "below\nband", "in\nband", "above\nband", "won", "won,\nnew",
        "re-\nwritten", "drift\nmean", "drift\nmax", "shift", "diver-\nsity", "dupli-\ncates",
    ):  # fmt: skip
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.groups), f"{row.accepted_harder} / {row.accepted_easier}", str(sum(row.rejected.values())),
            _percent(row.below), _percent(row.inside), _percent(row.above), _percent(row.accuracy),
            _percent(row.new_accuracy), _percent(row.rewritten), f"{row.drift:.2f}", f"{row.drift_max:.2f}",
            f"{row.shift:.2f}", f"{row.diversity:.2f}", str(row.duplicates),
        )  # fmt: skip
    out = console()
    out.print(table)
    for name, reasons in (("rejected", rows[-1].rejected), ("never tried", rows[-1].discarded)):
        if reasons:
            most = sorted(reasons.items(), key=lambda item: -item[1])
            out.print(_text(f"{name}: " + ", ".join(f"{reason} {number}" for reason, number in most)))
    for alarm in alarms:
        out.print(
            Text.assemble(
                ("drift: ", "bold yellow"),
                f"slot {alarm.slot} came {alarm.distance:.2f} away from its root with ",
                _text(alarm.task_id),
                f" (limit {alarm.limit:.2f})",
            )  # fmt: skip
        )


# -- small parts ---------------------------------------------------------------------------------------------


def _by_task(records: Iterable[OutcomeRecord]) -> dict[tuple[int, str, str], list[OutcomeRecord]]:
    found: dict[tuple[int, str, str], list[OutcomeRecord]] = {}
    for record in records:
        found.setdefault((record.slot, record.task_id, record.outcome.role), []).append(record)
    return found


def _text(value: str, style: str = "") -> Text:
    return Text(printable(value), style=style)


def _rate(tally: Tally) -> Text:
    return Text(f"{tally.accuracy:.0%} of {tally.n}" if tally.n else "–")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
