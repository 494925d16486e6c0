"""The report's curves: each chart appears with its data and stays away without."""

from rlanything_agents.report.charts import draw_charts


def titles(rows: list[dict[str, object]]) -> set[str]:
    names = {"Votes against outcomes (mu > 1 informs)", "Groups by the curriculum's band", "Training success"}
    names |= {"Drift of the tasks from their roots"}
    page = "".join(draw_charts(rows))
    return {name for name in names if name.replace(">", "&gt;") in page or name in page}


def test_charts_follow_the_data() -> None:
    rows: list[dict[str, object]] = [{"iteration": k, "success": {"active": 0.1 * k}} for k in range(3)]
    assert titles(rows) == {"Training success"}
    for row in rows:
        row["feedback"] = {"mu": 1.2, "p_plus": 0.7, "p_minus": 0.5}
        row["curriculum"] = {"inside": 0.4, "below": 0.6, "above": None, "drift": 0.1, "drift_max": 0.5}
    assert titles(rows) == {
        "Training success",
        "Votes against outcomes (mu > 1 informs)",
        "Groups by the curriculum's band",
        "Drift of the tasks from their roots",
    }
