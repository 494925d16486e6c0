"""Differences of two tasks, as pairs of a mark (``-``, ``+`` or empty) and a text; the texts are untrusted."""

from __future__ import annotations

import difflib
import json

from rlanything_task_pools import Task, UnknownDomain, get_domain

__all__ = ["word_diff", "world_diff"]


def world_diff(one: Task, other: Task) -> list[tuple[str, str]]:
    """Different lines, with one of context, of the domain's descriptions of two worlds; of their data where the domain
    is not installed.
    """
    old, new = (json.dumps(task.payload, indent=1, sort_keys=True).splitlines() for task in (one, other))
    if one.domain == other.domain:
        try:
            domain = get_domain(one.domain)
            old, new = (domain.describe(task).splitlines() for task in (one, other))
        except (UnknownDomain, ValueError):
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
