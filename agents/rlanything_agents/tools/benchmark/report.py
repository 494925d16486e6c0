"""Report of a benchmark: tables as text, and one HTML page that needs neither network nor scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlanything_agents.feedback.percent import interval, percent
from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.report.page import page_templates
from rlanything_agents.tools.benchmark.episode import OUTGROWN
from rlanything_verifiers.plain_text import printable

__all__ = [
    "NOTHING",
    "actions_text",
    "changed_cells",
    "comparison_cells",
    "comparison_header",
    "markdown_row",
    "success_text",
    "table_of",
    "write_report",
]

HEADER = (
    *("", "tasks", "success", "no outcome", *OUTGROWN, "steps", "steps when solved", "readable", "admissible"),
    *("tokens in", "tokens out", "$", "seconds"),
)
ALWAYS = 3
"""Number of columns that are shown even when they are empty."""
NOTHING = "–"
USUAL = [{NOTHING, "100.0 %"} if name in ("readable", "admissible") else {NOTHING} for name in HEADER]
"""Values per column that hide the column where all its rows have one of them."""


def rows_of(summary: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Rows of the table: the property they are grouped by, its value, the numbers."""
    yield "", "all", summary["total"]
    for part, rows in summary["by"].items():
        for name, row in rows.items():
            yield part, name or NOTHING, row


def table_of(summary: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows as text, without columns of only `USUAL` values."""
    rows = [cells(f"{part} {name}".strip(), row) for part, name, row in rows_of(summary)]
    used = [place for place in range(len(HEADER)) if place < ALWAYS or {row[place] for row in rows} - USUAL[place]]
    return [HEADER[place] for place in used], [[row[place] for place in used] for row in rows]


def markdown_row(summary: Mapping[str, Any]) -> str:
    """A row of the table in ``docs/results.md``: all that one needs to read the figure, and the command behind it."""
    total, settings, panel = summary["total"], summary["settings"], summary["panel"]
    setup = [f"{key}={value}" for key, value in settings["environment"].items()]
    if total["tokens_out"]:
        setup += [f"{key}={value}" for key, value in settings["chat"].items() if value is not None]
    tokens = [_number(total[name]) for name in ("tokens_in", "tokens_out")]
    texts = (
        summary["agent"],
        f"{panel['name']} `{panel['hash']}`",
        ", ".join(setup),
        f"{success_text(total)}, {total['episodes']} episodes",
        str(settings["seed"]),
        _percent(total.get("readable")),
        NOTHING if tokens == [NOTHING, NOTHING] else " / ".join(tokens),
        _number(total["seconds"], 1),
        summary["versions"].get("machine", NOTHING),
        f"`{plain_command(summary['command'])}`",
    )
    return table_line(texts)


def table_line(cells: Sequence[str], longest: int = 400) -> str:
    """Row of a Markdown table, with at most so many characters of each cell."""
    return f"| {' | '.join(printable(cell, longest).replace('|', chr(92) + '|') for cell in cells)} |"


def plain_command(command: str) -> str:
    """A command line without the options that change no number: where results go, and how many workers play."""
    return re.sub(r" --(json|row|restart|(out|workers)[= ]('[^']*'|\S)+)", "", command)


def success_text(row: Mapping[str, Any]) -> str:
    """Success with its interval."""
    return NOTHING if row["rate"] is None else interval(row["rate"], row["low"], row["high"])


def cells(name: str, row: Mapping[str, Any]) -> list[str]:
    """A row as text, under `HEADER`."""
    return [
        name,
        str(row["tasks"]),
        success_text(row),
        str(row["errors"] or NOTHING),
        *(str(row.get(reason) or NOTHING) for reason in OUTGROWN),
        _number(row["steps"], 1),
        _number(row["steps_won"], 1),
        _percent(row.get("readable")),
        _percent(row.get("admissible")),
        _number(row["tokens_in"]),
        _number(row["tokens_out"]),
        _number(row["dollars"], 4),
        _number(row["seconds"], 1),
    ]


def difference_text(found: Mapping[str, float | None], *, shares: bool = False) -> str:
    """A difference with its interval; one of shares in percentage points."""

    def text(value: float) -> str:
        scaled = round(100 * value if shares else value, 1) + 0.0  # no minus before a zero
        return f"{scaled:+.1f}"

    mean, low, high = found["mean"], found["low"], found["high"]
    if mean is None:
        return NOTHING
    return text(mean) if low is None or high is None else f"{text(mean)} [{text(low)}, {text(high)}]"


def p_text(p: float) -> str:
    """A p-value: ``p = 0.032``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def write_report(file: Path, summary: Mapping[str, Any]) -> None:
    """Write ``report.html`` from the content of ``results.json``."""
    pages = page_templates()
    pages.filters["printable"] = printable
    header, texts = table_of(summary)
    page = pages.get_template("benchmark.html.j2").render(
        summary=summary,
        header=header,
        rows=[(*row, text) for row, text in zip(rows_of(summary), texts, strict=True)],
        outgrown=[about_outgrown(reason, count) for reason in OUTGROWN if (count := summary["total"].get(reason))],
        difference=difference_text,
        p_text=p_text,
    )
    write_atomically(file, page)


def actions_text(found: Mapping[str, Any]) -> str:
    """Shares of readable and of admissible actions of both agents; empty where one did not count them."""
    shares = {name: found.get(name) or [None] for name in ("readable", "admissible")}
    return ", ".join(
        f"{name} actions {' → '.join(map(_percent, values))}" for name, values in shares.items() if None not in values
    )


def comparison_header(agents: Sequence[str]) -> tuple[str, ...]:
    """Header of the table of `comparison_cells`."""
    return ("", "tasks", *agents, "difference, points", "gained / lost", "McNemar", "steps", "steps, both solved")


def comparison_cells(name: str, row: Mapping[str, Any]) -> list[str]:
    """One row of a comparison as text."""
    test = row["mcnemar"]
    return [
        name,
        f"{row['tasks']}" + (f" ({row['left_out']} left out)" if row["left_out"] else ""),
        *(percent(share) for share in row["success"]),
        difference_text(row["difference"], shares=True),
        f"{test['gained']} / {test['lost']}",
        p_text(test["p"]),
        difference_text(row["steps"]),
        difference_text(row["steps_both_won"]) if row["steps_both_won"] else NOTHING,
    ]


def changed_cells(task: Mapping[str, Any]) -> list[str]:
    """A task that was gained or lost, as one row of text."""
    shares = [f"{won}/{episodes}" for won, episodes in zip(task["won"], task["episodes"], strict=True)]
    return [task["task"], task["kind"], task["goal"], *shares]


def about_outgrown(reason: str, count: int) -> str:
    """Sentence about the episodes that failed for one of the `OUTGROWN` reasons."""
    why = {
        "overlong": "the agent's chat outgrew the model's context",
        "slow": "the service answered the same chat shortly, but not at the length of the agent's answer in time",
    }
    return f"{count} episode{'s' if count > 1 else ''} failed because {why[reason]}."


def _percent(share: float | None) -> str:
    return NOTHING if share is None else percent(share)


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"
