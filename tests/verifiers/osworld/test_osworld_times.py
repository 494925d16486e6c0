"""Dates relative to today."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from osworld_desk import Desk, Web

from rlanything_verifiers.osworld import EvaluatorError, check_evaluator, evaluate
from rlanything_verifiers.osworld.getters import times
from rlanything_verifiers.osworld.getters.times import DAYS, relative_day, spelt

WEDNESDAY, SUNDAY, DECEMBER, AUGUST = date(2026, 11, 25), date(2026, 11, 29), date(2026, 12, 31), date(2026, 8, 15)


@pytest.mark.parametrize(
    ("name", "today", "wanted"),
    [
        ("tomorrow", DECEMBER, date(2027, 1, 1)),
        ("5th next month", DECEMBER, date(2027, 1, 5)),
        ("10th next month", WEDNESDAY, date(2026, 12, 10)),
        ("this month", WEDNESDAY, WEDNESDAY),
        ("this Saturday", WEDNESDAY, date(2026, 11, 28)),
        ("this Saturday", SUNDAY, date(2026, 11, 28)),
        ("next Monday", date(2026, 11, 23), date(2026, 11, 30)),
        ("next Monday", SUNDAY, date(2026, 11, 30)),
        ("next Friday", WEDNESDAY, date(2026, 11, 27)),
        ("next Friday", date(2026, 11, 27), date(2026, 12, 4)),
        ("next Saturday", SUNDAY, date(2026, 12, 5)),
        ("next week Friday", WEDNESDAY, date(2026, 12, 4)),
        ("first monday four months later", AUGUST, date(2026, 12, 7)),
        ("first monday eight months later", DECEMBER, date(2027, 8, 2)),
    ],
)
def test_days_by_name(name, today, wanted):
    assert relative_day(name, today) == wanted


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.sampled_from(sorted(DAYS)))
def test_every_day_is_near(today, name):
    day = relative_day(name, today)
    assert today - timedelta(6) <= day <= today + timedelta(31 * 9)
    for weekday, text in enumerate(("Monday", "monday", "Friday", "Saturday", "Sunday")):
        if text in name:
            assert day.weekday() == (0, 0, 4, 5, 6)[weekday]


def test_a_span_ends_in_the_week_of_its_beginning():
    assert relative_day("next Friday split", SUNDAY, date(2026, 11, 30)) == date(2026, 12, 4)
    assert relative_day("next Sunday", date(2026, 11, 27), date(2026, 12, 4)) == date(2026, 12, 6)


def test_forms_of_dates():
    form = "{DoW}, {Month} {Day0D} {DayD}, {Year}-{Month0D} {MonthD} {month} {MonthFull} {DayD}"
    assert spelt(form, date(2026, 3, 5)) == "Thu, Mar 05 5, 2026-03 3 march March {DayD}"


def evaluator(result, rules):
    config = {"type": "rule_relativeTime", "rules": rules}
    return {"func": "check_direct_json_object", "result": {"type": "rule", "rules": result}, "expected": config}


def test_a_rule_with_todays_dates(monkeypatch):
    class Clock(times.datetime):
        @classmethod
        def now(cls, tz=None):
            return times.datetime(2026, 11, 25, 23, 30, tzinfo=times.ZoneInfo("UTC")).astimezone(tz)

    monkeypatch.setattr(times, "datetime", Clock)

    def score(result, **rules):
        made = evaluator(result, rules)
        check_evaluator(made)
        return evaluate(made, Desk(), last_action="DONE", files=Web())

    day = {"relativeTime": {"from": "tomorrow"}, "expected": {"time": "{Year}-{Month0D}-{Day0D}", "who": "me"}}
    assert score({"time": "2026-11-26", "who": "me"}, **day) == 1
    assert score({"time": "2026-11-27", "who": "me"}, **day) == 0
    assert score({"time": "2026-11-27", "who": "me"}, timezone="Europe/Zurich", **day) == 1
    span = {
        "relativeTime": {"from": "this Saturday", "to": "this Sunday"},
        "expected": {"from": "{DayD}", "to": "{DayD}"},
    }
    assert score({"from": "28", "to": "29"}, **span) == 1
    parts = {"puDay": "{DayD}", "puMonth": "{MonthD}", "puYear": "{Year}"}
    parts |= {"doDay": "{DayD}", "doMonth": "{MonthD}", "doYear": "{Year}"}
    split = {"relativeTime": {"from": "next Monday split", "to": "next Friday split"}, "expected": parts}
    found = {"puDay": "30", "puMonth": "11", "puYear": "2026", "doDay": "4", "doMonth": "12", "doYear": "2026"}
    assert score(found, **split) == 1


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({}, "relativeTime"),
        ({"relativeTime": {"from": "some day"}, "expected": {"time": "x"}}, "tomorrow"),
        ({"relativeTime": {"from": "tomorrow"}, "expected": {}}, r"expected\.time"),
        ({"relativeTime": {"from": "tomorrow", "to": "tomorrow"}, "expected": {"from": "x"}}, r"expected\.to"),
        ({"relativeTime": {"from": "tomorrow"}, "expected": {"time": "x"}, "timezone": "../../etc"}, "time zone"),
        ({"relativeTime": {"from": "tomorrow"}, "expected": {"time": "x"}, "timezone": 3}, "time zone"),
    ],
)
def test_a_malformed_rule_is_refused_before_the_task_is_played(rules, named):
    with pytest.raises(EvaluatorError, match=named):
        check_evaluator(evaluator({}, rules))


def test_the_age_of_a_measurement():
    now = times.datetime.now()

    def score(away, minutes):
        clock = (now - timedelta(minutes=away)).strftime("%H:%M")
        table = f"Server,Time\nx,2026-01-01T{clock}\n".encode()
        desk = Desk({"/a.csv": table})
        result = {"type": "vm_file", "path": "/a.csv", "dest": "a.csv"}
        expected = {"type": "time_diff_range", "diff_range_in_minutes": minutes}
        made = {"func": "compare_time_in_speedtest_results", "result": result, "expected": expected}
        check_evaluator(made)
        return evaluate(made, desk, last_action="DONE", files=Web())

    assert score(0, "60") == score(30, 60) == score(24 * 60 - 30, "60") == 1
    assert score(120, "60") == 0
    with pytest.raises(EvaluatorError, match="number of minutes"):
        score(0, "soon")
