"""The report's curves: each chart appears with its data and stays away without."""

import re
from typing import Any

from rlanything_agents.runs.report.charts import draw_charts
from rlanything_agents.runs.stored.curves import CHARTS


def titles(rows: list[dict[str, Any]]) -> set[str]:
    page = "".join(draw_charts(rows))
    return {title for title, *_ in CHARTS if f"<!-- {title} -->" in page}


def test_charts_follow_the_data() -> None:
    rows: list[dict[str, Any]] = [{"iteration": k, "success": {"active": 0.1 * k}} for k in range(3)]
    assert titles(rows) == {"Training success"}
    for row in rows:
        row["feedback"] = {"mu": 1.2, "p_plus": 0.7, "p_minus": 0.5}
        row["curriculum"] = {"inside": 0.4, "below": 0.6, "above": None, "drift": 0.1, "drift_max": 0.5}
    assert titles(rows) == {
        "Training success", "Votes against outcomes", "Groups by the curriculum's band", "Drift of the tasks",
    }  # fmt: skip


def test_every_chart_can_be_drawn_with_gaps() -> None:
    rows: list[dict[str, Any]] = [{"iteration": k} for k in (1, 2, 3)]
    for *_, lines in CHARTS:
        for key, *_ in lines:
            section, _, name = key.partition(".")
            rows[0].setdefault(section, {})[name] = 0.5
            rows[1].setdefault(section, {})[name] = float("nan")
            rows[2].setdefault(section, {})[name] = 1
    assert titles(rows) == {title for title, *_ in CHARTS}


def test_lines_that_stay_at_zero_make_way() -> None:
    rows: list[dict[str, Any]] = [
        {"iteration": k, "success": {"active": 0.0}, "agent_crash": {"share": 0.0}, "tasks": {"accepted": 0}}
        for k in (1, 2)
    ]
    assert titles(rows) == {"Training success"}
    assert "desktop broken" not in draw_charts(rows)[0]
    rows[1]["agent_crash"]["share"], rows[1]["tasks"]["accepted"] = 0.5, 1
    assert titles(rows) == {"Training success", "Tasks rewritten"}
    assert "desktop broken" in draw_charts(rows)[0]


def test_values_below_zero_by_rounding_do_not_turn_the_axis() -> None:
    """Two points of the same chart, of which the larger is drawn higher, also where both are rounding."""
    rows: list[dict[str, Any]] = [{"iteration": k, "policy": {"sampler_kl": -(10.0 ** -(8 + k))}} for k in (1, 2)]
    (chart,) = draw_charts(rows)
    (first, last) = re.findall(r'<use xlink:href="#\w+" x="[\d.]+" y="([\d.]+)" style="fill: #1f6feb', chart)[:2]
    assert float(first) >= float(last)  # downwards in SVG
    assert 150 < float(last) < 190, "at the foot of the figure"
