"""Plans as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from rlanything_agents.tools.planning.plan import RunPlan

__all__ = ["count", "human", "plan_tables"]


def plan_tables(plan: RunPlan) -> list[Table]:
    """Models, memory, work and places of a plan."""
    models = _table("Models", "", "name", "parameters", "trained", "KV bytes a token", "shape from")
    for model in plan.models:
        size = model.size
        models.add_row(
            model.role,
            size.name,
            count(size.parameters),
            count(model.trained) if model.trained else "-",
            f"{size.cache_bytes(model.width):,}",
            size.source,
        )
    memory = _table(
        "Memory, GiB",
        "phase",
        "weights",
        "gradients",
        "optimizer",
        "KV cache",
        "backward",
        "other",
        "total",
        "there is",
    )
    for row in plan.memory:
        parts = (row.weights, row.gradients, row.optimizer, row.cache, row.activations, row.other, row.total)
        memory.add_row(row.phase, *map(_gib, parts), "unknown" if row.limit is None else _gib(row.limit))
    work = _table("An iteration", "what", "expected", "at most")
    for amount in plan.work:
        work.add_row(amount.what, count(amount.expected), "-" if amount.most is None else count(amount.most))
    places = _table("Where", "phase", "runs on")
    for place in plan.places:
        places.add_row(place.phase, place.where)
    return [models, memory, work, places]


def human(size: float) -> str:
    """Bytes as text: ``14.2 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1000 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def _gib(size: float) -> str:
    """Bytes in GiB with three digits; empty for 0."""
    return f"{size / 2**30:.3g}" if size else "-"


def count(value: float) -> str:
    """A number as text: ``7.62 B``, ``11,325``."""
    for bound, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= bound:
            return f"{value / bound:.3g} {unit}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold" if number == 0 else "ellipsis")
    return table
