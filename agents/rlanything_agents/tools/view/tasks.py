"""Tasks of a run, read also while it writes to its pool: the table of slots, and the lineage tree of each."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.runs.stored.values import readable
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.cli.pool_views import lineage_rows, slot_rows, word_diff, world_diff
from rlanything_envs.curriculum.acceptance import Tally
from rlanything_task_pools import Event, OutcomeRecord, Task, TaskPool, Version, get_domain
from rlanything_task_pools.errors import UnknownName
from rlanything_task_pools.file import POOL_FILE

__all__ = ["open_pool", "pool_table", "slot_tree"]

PATIENCE = 200_000_000
"""Limit of SQLite instructions per connection: half a minute; a pool of 1,000 slots takes 1 % of it."""

MAX_DIFF = 60
"""Maximum lines of the difference of two worlds that are shown of one rewrite."""
MAX_PROOF = 200
ALIKE = 0.5
"""Least share of common words for a word-by-word comparison of two goals."""


class _WatchedPool(TaskPool):
    """A pool on a read-only connection, which does not block writers in write-ahead mode."""

    @property
    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = sqlite3.connect(
                f"file:{quote(str(self.path.absolute()))}?mode=ro",
                uri=True,
                timeout=self._timeout,
                isolation_level=None,
                check_same_thread=False,
            )
            # The file is untrusted: its schema must not run code, and no query may run forever.
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.set_progress_handler(lambda: 1, PATIENCE)
            self._connection, self._pid = connection, os.getpid()
        return self._connection


@contextmanager
def open_pool(folder: SafeFolder) -> Iterator[TaskPool | None]:
    """Open the current pool of a run; None where the run has none yet.

    Raises:
        RunFolderError: The file is no pool, or cannot be read.
    """
    try:
        for name in (POOL_FILE, f"{POOL_FILE}-wal", f"{POOL_FILE}-shm"):
            if name == POOL_FILE or (folder.root / name).is_symlink():
                folder.open(name).close()
    except FileNotFoundError:
        yield None
        return
    try:
        with _WatchedPool.open(folder.root / POOL_FILE, timeout=2.0) as pool, pool.snapshot():
            yield pool
    except (RunFolderError, BenchmarkError):  # of who reads it
        raise
    except (ValueError, LookupError, TypeError, RecursionError, sqlite3.Error) as error:
        # Any error that reading a damaged file may raise.
        raise RunFolderError(f"{POOL_FILE} cannot be read: {type(error).__name__}: {error}") from None


def pool_table(pool: TaskPool) -> dict[str, Any]:
    """One row per slot, counts, and the reasons of rejections."""
    tried: dict[int, Counter[str]] = {}
    reasons: dict[str, Counter[str]] = {"accepted": Counter(), "rejected": Counter(), "discarded": Counter()}
    for event in pool.events():
        tried.setdefault(event.slot, Counter())[event.kind] += 1
        if event.kind in reasons:
            reasons[event.kind][readable(event.reason, 60)] += 1
    rows = []
    for row in slot_rows(pool):
        root, active, candidate = row["root"], row["active"], row["candidate"]
        counts = tried.get(row["slot"], Counter())
        rows.append(
            {
                "slot": row["slot"],
                "goal": readable(active["goal"], 400),
                "task": active["id"],
                "root": readable(root["goal"], 400) if root["id"] != active["id"] else "",
                "trial": readable(candidate["goal"], 400) if candidate else "",
                "depth": row["depth"],
                "solved": row["successes"],
                "played": row["episodes"],
                "interval": row["interval"],
                "accepted": counts["accepted"],
                "rejected": counts["rejected"],
                "discarded": counts["discarded"],
            }
        )
    return {
        "slots": rows,
        "counts": pool.counts(),
        "reasons": {kind: counter.most_common(12) for kind, counter in reasons.items()},
    }


def slot_tree(pool: TaskPool, slot: int) -> dict[str, Any]:
    """Versions of a slot's task, each with its parent, the difference, the success of both and the decision.

    Raises:
        RunFolderError: The pool has no such slot.
    """
    if slot not in pool.slots:
        raise RunFolderError(f"the pool has no slot {slot}")
    versions, outcomes = pool.versions(slot), pool.outcomes(slot)
    active = pool.active(slot)
    by_index = {version.index: version for version in versions}
    tallies = {row["version"]: row for row in lineage_rows(pool, [str(slot)])}
    current = [v.index for v in versions if v.state in ("root", "accepted") and v.task.id == active.id][-1:]
    return {
        "slot": slot,
        "versions": [
            _version(version, by_index.get(version.parent or -1), tallies[version.index])
            | {"current": version.index in current, "played": _series(version, outcomes, versions)}
            for version in versions
        ],
        "discarded": [_discarded(event) for event in pool.events(slot, kind="discarded")[-100:]],
    }


def _version(version: Version, parent: Version | None, tallies: Mapping[str, Any]) -> dict[str, Any]:
    task, rewrite = version.task, version.task.rewrite
    shown: dict[str, Any] = {
        "index": version.index,
        "parent": version.parent,
        "state": version.state,
        "task": task.id,
        "goal": readable(task.goal, 4_000),
        "traits": {readable(name, 60): readable(str(value), 200) for name, value in list(task.traits.items())[:20]},
        "proof": [readable(action, 400) for action in task.proof[:MAX_PROOF]],
        "reason": readable(version.decided.reason, 200) if version.decided else "",
    }
    if parent is not None and rewrite is not None:
        shown |= {
            "direction": rewrite.direction,
            "replaced": tallies["replaced"],
            "author": readable(rewrite.author, 100),
            "critique": readable(rewrite.critique, 4_000),
            "critic": readable(rewrite.critic, 100),
            "change": [[readable(k, 60), readable(str(v), 400)] for k, v in list(rewrite.change.items())[:12]],
            "before": [tallies["before"][key] for key in ("successes", "episodes")],
            "trial": [tallies["after"][key] for key in ("successes", "episodes")],
            "goal_diff": _goal_diff(parent.task.goal, task.goal),
            "world_diff": _world_diff(parent.task, task),
        }
    else:
        shown["world"] = _described(task)
    return shown


def _series(version: Version, outcomes: Sequence[OutcomeRecord], versions: Sequence[Version]) -> list[list[int]]:
    """Solved and counted episodes of each group on a version while it was active, oldest first."""
    if version.state not in ("root", "accepted"):
        return []
    start = version.decided.index if version.decided else 0
    later = [v.decided.index for v in versions if v.state == "accepted" and v.decided and v.decided.index > start]
    end = min(later, default=sys.maxsize)
    groups: dict[int, list[OutcomeRecord]] = {}
    for record in outcomes:
        if record.task_id == version.task.id and record.outcome.role == "active" and start <= record.event < end:
            groups.setdefault(record.batch, []).append(record)
    tallies = [Tally.of(record.outcome for record in group) for group in groups.values()]
    return [[tally.successes, tally.n] for tally in tallies][-200:]


def _discarded(event: Event) -> dict[str, Any]:
    return {
        "index": event.index,
        "task": event.task_id,
        "reason": readable(event.reason, 200),
        "detail": readable(event.stats.get("detail"), 2_000),
    }


def _described(task: Task) -> str:
    try:
        return readable(get_domain(task.domain).describe(task), 20_000)
    except (UnknownName, ValueError):
        return ""  # tasks of an unknown domain, and broken ones, are shown without a description


def _world_diff(one: Task, other: Task) -> list[list[str]]:
    lines = world_diff(one, other)
    shown = [[mark, readable(line, 4_000)] for mark, line in lines[:MAX_DIFF]]
    return shown if len(lines) <= MAX_DIFF else [*shown, ["", f"[{len(lines) - MAX_DIFF} more lines]"]]


def _goal_diff(old: str, new: str) -> list[list[str]]:
    """Removed, added and common words of two goals; all of the old and the new one where little is common."""
    if old == new:
        return []
    pieces = word_diff(old, new)
    stayed = sum(len(words.split()) for mark, words in pieces if not mark)
    if stayed < ALIKE * max(len(old.split()), len(new.split())):
        return [["-", readable(old, 4_000)], ["", " "], ["+", readable(new, 4_000)]]
    return [[mark, (" " if k else "") + readable(words, 4_000)] for k, (mark, words) in enumerate(pieces)]
