"""What a long run prints while it goes on."""

import io

import pytest
from rich.console import Console

from rlanything_agents.runs import progress
from rlanything_agents.runs.progress import Reporter, duration


def printed(reporter: Reporter) -> list[str]:
    assert isinstance(reporter.console.file, io.StringIO)
    return reporter.console.file.getvalue().splitlines()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_lines_name_the_remaining_time(clock: list[float]) -> None:
    reporter = Reporter(Console(file=io.StringIO(), width=200))
    with reporter.stage("Closed loop", 20) as stage:
        stage.reach(0)
        for done in (2, 3, 10, 20):
            clock[0] += 60
            stage.reach(done, "won 50%")
    assert printed(reporter) == [
        "Closed loop ...",
        "  Closed loop: 2/20  won 50%  about 0:09:00 left",
        "  Closed loop: 10/20  won 50%  about 0:03:00 left",
        "  Closed loop: 20/20  won 50%",
    ]


def test_a_continued_stage_measures_what_it_did_itself(clock: list[float]) -> None:
    """Units that an earlier process has done took none of this one's time."""
    reporter = Reporter(Console(file=io.StringIO(), width=200))
    with reporter.stage("Closed loop", 20) as stage:
        stage.reach(10)
        clock[0] += 60
        stage.reach(12)
    assert printed(reporter)[1:] == ["  Closed loop: 10/20", "  Closed loop: 12/20  about 0:04:00 left"]


def test_a_bar_ends_full() -> None:
    reporter = Reporter(Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None))
    with reporter.stage("Evaluation before, judge", 1):
        pass
    assert "1/1" in printed(reporter)[-2]


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (89, "89 s"), (95, "2 min"), (7500, "2 h 05 min")])
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
