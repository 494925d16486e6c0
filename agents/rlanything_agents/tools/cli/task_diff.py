"""Differences of two tasks, as text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence

from rich.text import Text

from rlanything_agents.tools.cli.screen import plain_text
from rlanything_task_pools import Task, UnknownDomain, get_domain
from rlanything_verifiers.plain_text import printable

__all__ = ["word_diff", "world_diff"]


def world_diff(one: Task, other: Task) -> list[Text]:
    """Difference of the domain's descriptions of two worlds; of their data where the domain is not installed."""
    if one.domain == other.domain:
        try:
            domain = get_domain(one.domain)
            lines = [domain.describe(task).splitlines() for task in (one, other)]
            return _line_diff(*lines)
        except (UnknownDomain, ValueError):
            pass  # tasks of an unknown domain, and broken ones, are compared by their data
    data = (json.dumps(task.payload, indent=1, sort_keys=True).splitlines() for task in (one, other))
    return _line_diff(*data)


def _line_diff(old: Sequence[str], new: Sequence[str]) -> list[Text]:
    """Different lines with one line of context, without difflib's file names."""
    styles = {"-": "red", "+": "green", "@": "dim"}
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    return [plain_text(line, style=styles.get(line[:1], "")) for line in lines if not line.startswith("@@")]


def word_diff(old: str, new: str) -> Text:
    """One sentence with removed words as ``[-words-]`` and added words as ``{+words+}``."""
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
