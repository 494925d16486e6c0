"""What a study shows, from run folders of known content."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from studies.figures import common_curve, draw_curves
from studies.plan import StudyError, StudyFile
from studies.report import write_study_report
from studies.results import read_curves, read_results
from studies.tables import Table, arm_table, compared, difference_table, measures_of

Write = Callable[..., Path]
VALUES: dict[str, Sequence[float]] = {"before": (0.1, 0.2, 0.3), "outcome": (0.3, 0.4, 0.5), "full": (0.5, 0.7, 0.9)}
PANELS = ["valid_seen", "valid_unseen"]


def test_results_are_the_numbers_of_the_run_folders(written: Write) -> None:
    results = read_results(written(VALUES))
    success = results[(results.metric == "success") & (results.panel == "valid_unseen")]
    assert {(row.arm, row.seed): row.value for row in success.itertuples()} == {
        (arm, seed): value for arm, values in VALUES.items() for seed, value in enumerate(values)
    }
    loop = results[(results.arm == "full") & (results.seed == 1) & (results.panel == "loop")]
    assert dict(zip(loop.metric, loop.value, strict=True)) == {
        "accepted": 4,
        "proposed": 6,
        "env_steps": 203,
        "iterations": 2,
        "seconds": 3,
    }
    judge = results[results.panel == "judge"]
    assert set(judge.arm) == {"before", "full"}


def test_a_run_counts_when_it_has_ended_but_its_curve_is_drawn_before(written: Write) -> None:
    study = written(VALUES, unfinished=[("full", 2)])
    results, curves = read_results(study), read_curves(study)
    assert set(results[results.arm == "full"].seed) == {0, 1}
    active = curves[(curves.arm == "full") & (curves.metric == "success.active")]
    assert set(active.seed) == {0, 1, 2}
    assert active[active.seed == 2][["iteration", "env_steps", "value"]].to_numpy().tolist() == [
        [1, 101, 0.1],
        [2, 203, 0.2],
    ]


def test_panel_curves_are_on_the_games_all_points_have(written: Write) -> None:
    curves = read_curves(written(VALUES))
    panel = curves[(curves.arm == "outcome") & (curves.seed == 0) & (curves.metric == "panel.valid_seen")]
    # The first eight games: one of them won before, three after.
    assert panel[["env_steps", "value"]].to_numpy().tolist() == [[0, 1 / 8], [203, 3 / 8]]


def test_the_table_says_the_mean_and_its_interval(written: Write, micro: StudyFile) -> None:
    table = arm_table(read_results(written(VALUES)), micro, "small", measures_of(PANELS))
    assert table.header[:4] == ("arm", "seeds", "success, in-domain", "success, out-of-domain")
    assert [row[0] for row in table.rows] == ["before", "outcome", "full"]
    # Mean 0.4, standard deviation 0.1: Student's interval of three seeds is 0.4 -+ 0.2484.
    assert table.rows[1][1:4] == ("3", "40.0 [15.2, 64.8]", "40.0 [15.2, 64.8]")
    column = {name: table.rows[2][k] for k, name in enumerate(table.header)}
    assert column["process acc., balanced"] == "60.0"
    assert column["accepted tasks"] == "4.0"
    assert column["env steps"] == "203"
    assert dict(zip(table.header, table.rows[1], strict=True))["process acc."] == "–"
    assert "Student" in table.note


def test_the_differences_are_paired(written: Write, micro: StudyFile) -> None:
    table = difference_table(read_results(written(VALUES)), micro, "small", measures_of(PANELS))
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["outcome − before", "full − outcome", "full − before"]
    assert rows["outcome − before"][:2] == ("3", "+20.0")
    # 0.2, 0.3, 0.4: mean 0.3 -+ 0.2484.
    assert rows["full − outcome"][1] == "+30.0 [+5.2, +54.8]*"
    assert rows["full − outcome"][3] == "–"  # outcome has no judge


def test_two_seeds_give_no_interval_and_the_table_says_so(written: Write, micro: StudyFile) -> None:
    results = read_results(written({arm: values[:2] for arm, values in VALUES.items()}))
    table = difference_table(results, micro, "small", measures_of(PANELS))
    assert table.rows[0][:3] == ("outcome − before", "2", "+20.0")
    assert "too few for an interval" in table.note


def test_steps_of_the_ladder_come_first_and_pairs_once(micro: StudyFile) -> None:
    assert compared(micro, ["before", "full", "strong", "outcome"]) == [
        ("outcome", "before"),
        ("full", "outcome"),
        ("strong", "outcome"),
        ("full", "before"),
        ("strong", "before"),
    ]
    assert compared(micro, ["before", "full"]) == [("full", "before")]


def test_tables_are_safe_in_markdown() -> None:
    table = Table("50 % of a_b", "x & y", ("arm", "n|m"), (("a_b − c", "1 | 2"),))
    assert "| a_b − c | 1 \\| 2 |" in table.markdown()


def test_curves_meet_where_all_were_measured() -> None:
    common = common_curve({0: ([0, 10, 20], [0.0, 1.0, 2.0]), 1: ([2, 12, 17], [2.0, 12.0, 17.0])})
    assert common is not None
    xs, ys = common
    assert xs.tolist() == [2, 9.5, 17]
    assert ys[0] == pytest.approx([0.2, 0.95, 1.7])
    assert ys[1] == pytest.approx([2, 9.5, 17])
    assert common_curve({0: ([], [])}) is None


def frame(rows: Iterable[tuple[str, int, bool, int, float]]) -> pd.DataFrame:
    """Curves of an arm whose iterations have ten steps."""
    curves = pd.DataFrame(rows, columns=["metric", "seed", "ended", "iteration", "value"])
    return curves.assign(arm="full", env_steps=10 * curves.iteration)


@pytest.mark.parametrize(("ended", "last"), [((True, False), 100.0), ((True, True), 20.0), ((False, False), 20.0)])
def test_a_run_that_goes_on_does_not_cut_an_ended_one_short(ended: tuple[bool, bool], last: float) -> None:
    curves = frame(
        ("success", seed, ended[seed], i, 0.5) for seed, length in enumerate((10, 2)) for i in range(1, length + 1)
    )
    figure = draw_curves(curves, ["full"], [("success", "a")])
    assert figure is not None
    assert max(figure.axes[0].lines[0].get_xdata()) == last


def test_everything_is_written(written: Write) -> None:
    study = written(VALUES, unfinished=[("full", 2)])
    text = write_study_report(study).read_text()
    assert "![Curves](figures/small-curves.png)" in text
    assert "5 of 6 runs that were begun have ended" in text
    assert "| 40.0 [15.2, 64.8] |" in text
    assert "python -m studies table1" in text
    assert "- `full`: The whole system." in text
    assert len(pd.read_parquet(study / "results.parquet")) == len(read_results(study))
    assert len(pd.read_parquet(study / "curves.parquet")) == len(read_curves(study))
    assert (study / "figures" / "small-curves.png").stat().st_size > 10_000


def test_a_study_that_has_just_begun_has_a_page_too(written: Write) -> None:
    study = written({"before": (0.1,)})
    (study / "runs/small/seed-0/before/stages/before.json").unlink()
    assert "0 of 0 runs that were begun have ended" in write_study_report(study).read_text()


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is not the folder of a study"):
        write_study_report(tmp_path)


def test_points_far_between_are_not_averaged() -> None:
    dense = [("success", 0, True, i, float(i % 2)) for i in range(1, 21)]
    curves = frame([*dense, *(("panel", 0, True, i, i / 100) for i in (0, 10, 20))])
    figure = draw_curves(curves, ["full"], [("success", "a"), ("panel", "b")], smooth=5)
    assert figure is not None
    drawn = [list(axes.lines[0].get_ydata()) for axes in figure.axes[:2]]
    assert max(drawn[0]) < 1
    assert (drawn[1][0], drawn[1][-1]) == (0.0, 0.2)
