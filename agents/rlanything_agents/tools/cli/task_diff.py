"""Differences of two tasks, as text."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import Any

from rich.padding import Padding
from rich.text import Text

from rlanything_agents.tools.cli.screen import console, plain_text
from rlanything_task_pools import Task, UnknownDomain, get_domain
from rlanything_verifiers.plain_text import printable

__all__ = ["difference", "print_difference", "word_diff", "world_diff"]


def print_difference(one: Task, other: Task) -> None:
    """Print the differences of two tasks, part by part."""
    out = console()
    out.print(Text.assemble(("− ", "red"), plain_text(one.id), ("\n+ ", "green"), plain_text(other.id)))
    parts = _parts(one, other)
    for name, lines in parts.items():
        if lines:
            out.print(Text(name, style="bold"))
            for line in lines:
                out.print(Padding(line, (0, 0, 0, 2)))
    if not any(parts.values()):
        out.print("no difference")


def difference(one: Task, other: Task) -> dict[str, Any]:
    """Differences of two tasks as plain data: per part the removed (``-``), added (``+``) and surrounding lines."""
    parts = {name: [line.plain for line in lines] for name, lines in _parts(one, other).items()}
    return {"one": one.id, "other": other.id, "same": not any(parts.values()), **parts}


def _parts(one: Task, other: Task) -> dict[str, list[Text]]:
    traits = ([f"{name}: {value}" for name, value in sorted(task.traits.items())] for task in (one, other))
    return {
        "goal": [word_diff(one.goal, other.goal)] if one.goal != other.goal else [],
        "world": world_diff(one, other),
        "proof": _line_diff(one.proof, other.proof),
        "traits": _line_diff(*traits),
    }


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
