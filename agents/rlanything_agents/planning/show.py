"""Plans and forecasts as tables for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from rlanything_agents.planning.forecast import Forecast, Interval
    from rlanything_agents.planning.plan import RunPlan

__all__ = ["count", "duration", "forecast_tables", "human", "plan_tables", "sweep_table"]


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


def forecast_tables(forecasts: Sequence[Forecast]) -> list[Table]:
    """What schedules come to, and what their time goes into."""
    table = _table("An iteration", "schedule", "time", "speed-up", "GPU idle", "FLOPs used", "bottleneck")
    if any(each.schedule == "off_policy" for each in forecasts):
        table.caption = "(*) the policy that plays is one update behind: another algorithm"
        table.caption_justify = "left"
    for each in forecasts:
        name = "off_policy (*)" if each.schedule == "off_policy" else each.schedule
        table.add_row(
            name,
            _range(each.seconds, duration),
            _range(each.speedup, lambda x: f"{x:.2f}x"),
            _range(each.idle, _percent),
            _range(each.useful, _percent),
            each.bottleneck or "-",
        )
    probed = [each for each in forecasts if each.saved]
    if not probed:
        return [table]
    parts = _table("Time saved if a part took none", "part", *(e.schedule for e in probed))
    for part in probed[0].saved:
        parts.add_row(part, *(_range(each.saved[part], _percent) for each in probed))
    return [table, parts]


def sweep_table(key: str, rows: Sequence[tuple[int, Interval, Interval]], schedule: str) -> Table:
    """What an iteration comes to for several values of a key."""
    table = _table(f"{schedule}, by {key}", key, "time", "GPU idle")
    for value, seconds, idle in rows:
        table.add_row(str(value), _range(seconds, duration), _range(idle, _percent))
    return table


def human(size: float) -> str:
    """Bytes for people: ``14.2 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1000 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")


def _gib(size: float) -> str:
    """Bytes in GiB; three digits, nothing for nothing."""
    return f"{size / 2**30:.3g}" if size else "-"


def count(value: float) -> str:
    """A number for people: ``7.62 B``, ``11,325``."""
    for bound, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(value) >= bound:
            return f"{value / bound:.3g} {unit}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.1f}"


def duration(seconds: float) -> str:
    """Seconds for people: ``5.3 min``."""
    if not math.isfinite(seconds):
        return "for ever"
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


def _range(interval: Interval, say: Callable[[float], str]) -> str:
    return f"{say(interval.middle)}\n[{say(interval.low)}, {say(interval.high)}]"


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold" if number == 0 else "ellipsis")
    return table
