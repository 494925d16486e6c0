"""Dates that an evaluator gives relative to today."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.registry import Context, getter

__all__ = ["DAYS", "relative_day", "spelt"]

_MONDAY, _FRIDAY, _SATURDAY, _SUNDAY = 0, 4, 5, 6
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _next(weekday: int) -> Callable[[date], date]:
    """The next day of a name; a week from now where today is one."""
    return lambda today: today + timedelta((weekday - today.weekday() - 1) % 7 + 1)


def _of_this_week(weekday: int) -> Callable[[date], date]:
    """The day of the week that began last Monday."""
    return lambda today: today + timedelta(weekday - today.weekday())


def _of_next_week(weekday: int) -> Callable[[date], date]:
    return lambda today: today + timedelta(7 + weekday - today.weekday())


def _later(months: int, day: int) -> Callable[[date], date]:
    def find(today: date) -> date:
        years, month = divmod(today.month - 1 + months, 12)
        return date(today.year + years, month + 1, day)

    return find


def _first_monday(months: int) -> Callable[[date], date]:
    def find(today: date) -> date:
        first = _later(months, 1)(today)
        return first + timedelta(-first.weekday() % 7)

    return find


DAYS: dict[str, Callable[[date], date]] = {
    "tomorrow": lambda today: today + timedelta(1),
    "5th next month": _later(1, 5),
    "10th next month": _later(1, 10),
    "11th next month": _later(1, 11),
    "this month": lambda today: today,
    "this Saturday": _of_this_week(_SATURDAY),
    "this Sunday": _of_this_week(_SUNDAY),
    "next Monday": _next(_MONDAY),
    "next Friday": _next(_FRIDAY),
    "next Saturday": _next(_SATURDAY),
    "next Sunday": _next(_SUNDAY),
    "next week Friday": _of_next_week(_FRIDAY),
    "next week Saturday": _of_next_week(_SATURDAY),
    "next week Sunday": _of_next_week(_SUNDAY),
    "first monday four months later": _first_monday(4),
    "first monday eight months later": _first_monday(8),
    "next Monday split": _next(_MONDAY),
    "next Friday split": _next(_FRIDAY),
}
"""Days by the names that OSWorld gives them, from today."""

_FIELDS = {"next Monday split": ("puDay", "puMonth", "puYear"), "next Friday split": ("doDay", "doMonth", "doYear")}
"""Expected values that hold parts of a date, by its name."""


def relative_day(name: str, today: date, after: date | None = None) -> date:
    """A day by its name.

    Args:
        after: Beginning of the span that the day ends, where it ends one: a Friday or Sunday of the same week.
    """
    if after is not None and name in ("next Friday", "next Friday split", "next Sunday"):
        weekday = _SUNDAY if name == "next Sunday" else _FRIDAY
        if after.weekday() <= weekday and after > today:
            return after + timedelta(weekday - after.weekday())
    return DAYS[name](today)


def spelt(form: str, day: date) -> str:
    """A date in a form with the fields of OSWorld, each of which counts once."""
    month = _MONTHS[day.month - 1]
    for field, value in (
        ("{DoW}", _WEEKDAYS[day.weekday()]),
        ("{Month}", month[:3]),
        ("{DayD}", str(day.day)),
        ("{Year}", str(day.year)),
        ("{Month0D}", f"{day.month:02d}"),
        ("{month}", month.lower()),
        ("{MonthFull}", month),
        ("{Day0D}", f"{day.day:02d}"),
        ("{MonthD}", str(day.month)),
    ):
        form = form.replace(field, value, 1)
    return form


@dataclass(frozen=True, kw_only=True)
class RelativeRule:
    """A rule whose expected values name days relative to today.

    Attributes:
        rules: Besides what the metric reads: ``relativeTime``, the names of a day (``from``) or of the first and the
            last day of a span (``from`` and ``to``); ``timezone``, where today is, in universal time where it is left
            out; and ``expected``, in which ``time``, or ``from`` and ``to``, are forms of dates.
    """

    rules: dict[str, Any]

    def __post_init__(self) -> None:
        self.days(date(2024, 1, 1))
        self.zone()
        expected = self.rules.get("expected")
        for name in self.fields():
            if not isinstance(expected, dict) or not isinstance(expected.get(name), str):
                raise EvaluatorError(f"rules.expected.{name}: a date format such as {{Year}}-{{Month0D}} is needed")

    def zone(self) -> ZoneInfo:
        """The time zone."""
        name = self.rules.get("timezone", "UTC")
        try:
            return ZoneInfo(name)
        except (TypeError, ValueError, OSError, LookupError) as error:
            raise EvaluatorError(f"rules.timezone: {name!r:.60} is not a time zone that is known here") from error

    def days(self, today: date) -> list[date]:
        """The days that are named."""
        names = self._names()
        first = relative_day(names[0], today)
        return [first, *(relative_day(name, today, first) for name in names[1:])]

    def fields(self) -> dict[str, int]:
        """Names of the expected values that are forms of dates, with the place of their day."""
        names = self._names()
        plain = ("from", "to") if len(names) == 2 else ("time",)
        return {
            field: place
            for place, name in enumerate(names)
            for field in (_FIELDS.get(name, ()) if len(names) == 2 else ()) or (plain[place],)
        }

    def _names(self) -> list[str]:
        given = self.rules.get("relativeTime")
        names: list[Any] = [given.get("from")] if isinstance(given, dict) else []
        if isinstance(given, dict) and "to" in given:
            names.append(given["to"])
        if not names or not all(isinstance(name, str) and name in DAYS for name in names):
            wanted = "from, and to where a span is meant, are needed, each one of"
            raise EvaluatorError(f"rules.relativeTime: {wanted}: {', '.join(DAYS)}")
        return names


@getter
def rule_relativeTime(context: Context, config: RelativeRule) -> dict[str, Any]:
    """The rule, with the dates that its days have today."""
    days = config.days(datetime.now(config.zone()).date())
    expected = dict(config.rules["expected"])
    for name, place in config.fields().items():
        expected[name] = spelt(expected[name], days[place])
    return {**config.rules, "expected": expected}


@dataclass(frozen=True, kw_only=True)
class MinutesApart:
    """A number of minutes."""

    diff_range_in_minutes: int | str


@getter
def time_diff_range(context: Context, config: MinutesApart) -> str:
    """The number of minutes as it is written."""
    return str(config.diff_range_in_minutes)
