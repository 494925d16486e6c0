"""The numbers of a benchmark, against others worked out by hand; comparisons; what is untrusted in them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rlanything_agents.feedback.metrics import wilson
from rlanything_agents.tools.benchmark.compare import compare_results, exact_p, pair
from rlanything_agents.tools.benchmark.episode import Result, episodes_of
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.report import actions_text, table_of, write_report
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.benchmark.tables import summarise, versions
from rlanything_envs.llm import Price, Usage
from rlanything_task_pools import Task
from rlanything_task_pools.panel import Entry, Panel


def panel_of(kinds: list[str], goal: str = "go") -> Panel:
    tasks = [
        Task(domain="toy", goal=f"{goal} {n}", payload={"n": n}, traits={"kind": kind}) for n, kind in enumerate(kinds)
    ]
    return Panel("toy", "Numbers.", "toy", {}, tuple(Entry(task) for task in tasks), len(tasks))


def summary_of(
    panel: Panel,
    outcomes: list[list[int | None]],
    steps: int = 4,
    price: Price | None = None,
    error: str = "down",
    actions: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """A benchmark with these outcomes for each task."""
    count = len(outcomes[0])
    results = {
        episode.key: Result(
            "",
            episode.task.id,
            episode.number,
            outcome,
            float(outcome == 1),
            steps + episode.place,
            Usage(100, 10),
            0.5,
            error if outcome is None else "",
            **({} if actions is None else {"readable": actions[0], "admissible": actions[1]}),
        )
        for episode in episodes_of(panel, count, 0)
        if (outcome := outcomes[episode.place][episode.number]) != 0
    }
    found = summarise(panel, episodes_of(panel, count, 0), results, price)
    settings = {"episodes": count, "seed": 0, "environment": {}, "agent": "a"}
    about = {"name": panel.name, "meaning": panel.meaning, "hash": panel.hash, "tasks": panel.total, "of": panel.total}
    return {"panel": about, "agent": "a", "settings": settings, "command": "c", "versions": versions(), **found}


def test_rows_by_hand() -> None:
    found = summary_of(panel_of(["a", "a", "b", "b"]), [[1], [-1], [1], [None]], price=Price(1000.0, 10_000.0))
    total = found["total"]
    assert (total["successes"], total["episodes"], total["errors"], total["tasks"]) == (2, 3, 1, 4)
    assert total["rate"] == pytest.approx(2 / 3)
    # Wilson at z = 1.96 for 2 of 3
    assert (total["low"], total["high"]) == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert (total["steps"], total["steps_won"]) == (5.0, 5.0)
    assert (total["tokens_in"], total["tokens_out"], total["dollars"], total["seconds"]) == (400, 40, 0.8, 2.0)
    kinds = found["by"]["kind"]
    assert [(kind, row["rate"], row["errors"]) for kind, row in kinds.items()] == [("a", 0.5, 0), ("b", 1.0, 1)]
    assert found["left"] == 1
    assert [error["error"] for error in found["errors"]] == ["down"]


def test_readable_and_admissible_actions_are_counted_over_all_answers() -> None:
    panel = panel_of(["a", "a"])
    found = summary_of(panel, [[1], [-1]], steps=4, actions=(3, 2))  # of 4 and of 5 answers
    assert (found["total"]["readable"], found["total"]["admissible"]) == (round(6 / 9, 4), round(4 / 9, 4))
    header, (row,) = table_of(found)
    assert dict(zip(header, row, strict=True))["readable"] == "66.7 %"
    assert "readable" not in table_of(summary_of(panel_of(["a"]), [[1]], steps=4, actions=(4, 4)))[0], "all of them"
    without = summary_of(panel, [[1], [-1]])
    assert without["total"]["readable"] is None
    assert "readable" not in table_of(without)[0]


def test_a_comparison_tells_actions_where_both_counted_them(tmp_path: Path) -> None:
    panel = panel_of(["a", "a"])
    for name, actions in (("old", None), ("one", (4, 2)), ("two", (4, 4))):
        (tmp_path / name).mkdir()
        found = summary_of(panel, [[1], [-1]], steps=4, actions=actions)
        (tmp_path / name / "results.json").write_text(json.dumps(found))
    both = actions_text(compare_results(tmp_path / "one", tmp_path / "two"))
    assert both == "readable actions 88.9 % → 88.9 %, admissible actions 44.4 % → 88.9 %"
    assert actions_text(compare_results(tmp_path / "old", tmp_path / "two")) == ""


def test_episodes_of_one_task_are_no_independent_ones() -> None:
    outcomes: list[list[int | None]] = [[1] * 8, [-1] * 8, [1] * 8, [-1] * 8]
    alike = summary_of(panel_of(["a"] * 4), outcomes)["total"]
    # Wilson for 2 of 4: four tasks say little, however often they are played
    assert (alike["rate"], alike["low"], alike["high"]) == pytest.approx((0.5, 0.1500, 0.8500), abs=1e-4)
    certain = summary_of(panel_of(["a"] * 4), [[1, 1]] * 4)["total"]
    assert (certain["low"], certain["high"]) == pytest.approx((0.5101, 1.0), abs=1e-4), "Wilson for 4 of 4"
    independent = summary_of(panel_of(["a"] * 4), [[1, -1, 1, -1]] * 4)["total"]
    assert (independent["low"], independent["high"]) == pytest.approx((0.2800, 0.7200), abs=1e-4), "Wilson for 8 of 16"
    uneven = summary_of(panel_of(["a"] * 8), [[1] * 8] * 6 + [[-1] + [None] * 7] * 2)["total"]
    assert uneven["rate"] == 0.75, "the mean over tasks, as `compare` has it, and not that of 48 of 50 episodes"
    assert uneven["low"] < uneven["rate"] < uneven["high"]


@pytest.mark.parametrize("trials", [1, 2, 7, 96, 2048])
def test_intervals_and_p_values_are_scipys(trials: int) -> None:
    for successes in {0, 1, trials // 3, trials - 1, trials}:
        known = stats.binomtest(successes, trials)
        interval = known.proportion_ci(0.95, method="wilson")
        assert wilson(successes, trials) == pytest.approx((interval.low, interval.high), abs=1e-12)
        assert exact_p(successes, trials - successes) == pytest.approx(known.pvalue, abs=1e-9)


def test_nothing_is_measured_on_nothing() -> None:
    found = summary_of(panel_of(["a"]), [[None]])["total"]
    assert (found["rate"], found["low"], found["steps"], found["errors"]) == (None, None, None, 1)
    left = summary_of(panel_of(["a", "a"]), [[0], [0]])
    assert (left["left"], left["total"]["tokens_in"]) == (2, None)


def played(outcomes: list[int | None], steps: int = 5) -> dict[str, Any]:
    return {
        "task": "t",
        "group": "",
        "kind": "k",
        "goal": "g",
        "outcomes": outcomes,
        "steps": [steps] * len(outcomes),
        "scores": [0.0] * len(outcomes),
    }


def test_pairs_by_hand() -> None:
    pairs = [(played([-1], 50), played([1], 10))] * 5 + [(played([1], 6), played([-1], 50))]
    pairs += [(played([1], 6), played([1], 8))] * 3 + [(played([None]), played([1]))]
    found = pair(pairs)
    assert found is not None
    assert (found["tasks"], found["left_out"]) == (9, 1)
    assert found["success"] == pytest.approx([4 / 9, 8 / 9])
    assert found["difference"]["mean"] == pytest.approx(4 / 9)
    assert found["difference"]["low"] < 4 / 9 < found["difference"]["high"]
    # McNemar with 5 gained and 1 lost: 2 (C(6,0) + C(6,1)) / 2^6
    assert found["mcnemar"] == {"gained": 5, "lost": 1, "p": pytest.approx(14 / 64)}
    assert found["steps"]["mean"] == pytest.approx((5 * -40 + 44 + 3 * 2) / 9)
    assert found["steps_both_won"] == {"mean": 2.0, "low": None, "high": None}
    assert [len(found[name]) for name in ("gained", "lost")] == [5, 1]
    assert pair([(played([None]), played([1]))]) is None
    few = pair(pairs[:2])
    assert few is not None
    assert few["difference"] == {"mean": 1.0, "low": None, "high": None}


@given(
    st.lists(st.tuples(st.lists(st.sampled_from([1, -1, None]), min_size=1, max_size=3), st.booleans()), max_size=12)
)
def test_a_benchmark_does_not_differ_from_itself(tasks: list[tuple[list[int | None], bool]]) -> None:
    found = pair([(played(outcomes), played(outcomes)) for outcomes, _ in tasks])
    if found is not None:
        assert (found["difference"]["mean"], found["steps"]["mean"], found["mcnemar"]["p"]) == (0, 0, 1)


def store(folder: Path, summary: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(json.dumps(summary))
    return folder


def test_two_agents_on_one_panel(games: Panel, tmp_path: Path) -> None:
    run_benchmark(games, "random", tmp_path / "random", workers=1)
    run_benchmark(games, "expert", tmp_path / "expert", workers=1)
    found = compare_results(tmp_path / "random", tmp_path / "expert" / "results.json")
    assert found["agents"] == ["random", "expert"]
    assert found["success"][1] == 1.0
    assert found["mcnemar"]["gained"] == len(found["gained"]) == 4 - round(4 * found["success"][0])
    assert found["steps"]["mean"] < 0
    assert found["different_settings"] == []
    run_benchmark(games, "expert", tmp_path / "short", workers=1, environment={"max_episode_steps": 3})
    shorter = compare_results(tmp_path / "expert", tmp_path / "short")
    assert (shorter["different_settings"], shorter["success"]) == (["environment"], [1.0, 0.0])


def test_different_panels_are_not_compared(tmp_path: Path) -> None:
    one = store(tmp_path / "1", summary_of(panel_of(["a", "b"]), [[1], [1]]))
    other = store(tmp_path / "2", summary_of(panel_of(["a"]), [[1]]))
    with pytest.raises(BenchmarkError, match="different tasks were played"):
        compare_results(one, other)
    broken = store(tmp_path / "3", summary_of(panel_of(["a", "b"]), [[None], [None]]))
    with pytest.raises(BenchmarkError, match="nothing can be compared"):
        compare_results(one, broken)
    with pytest.raises(BenchmarkError, match="has no results"):
        compare_results(one, tmp_path / "nowhere")


HOSTILE = "<script>alert(1)</script> | **x** `y` \x1b[31m [l](javascript:1) \u202e"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    panel = panel_of(["<b>kind</b>", "other"], goal=HOSTILE)
    summary = summary_of(panel, [[1], [None]], error=HOSTILE)
    write_report(tmp_path / "report.html", {**summary, "agent": HOSTILE, "command": HOSTILE})
    page = (tmp_path / "report.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<b>kind" not in page
    assert not {"\x1b", "\u202e"} & set(page)
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=", page), "nothing is loaded from anywhere"
