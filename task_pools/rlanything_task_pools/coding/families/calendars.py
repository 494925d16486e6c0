"""Family: dates of our calendar or of a strange one, so many days later or so many days apart."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, integer
from rlanything_task_pools.coding.parts import OFF_ON, between, count, either, integers, line, page, power, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

OURS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

FORMATS = {
    "y, m, d": ("year", "month", "day"),
    "d, m, y": ("day", "month", "year"),
    "m, d, y": ("month", "day", "year"),
}

HEAD = """
MONTHS = @months@
def leap(y):
    return y % @a@ == 0 and (y % @b@ != 0 or y % @c@ == 0)
"""
REFERENCE = """
def before(y):
    return (y - 1) * sum(MONTHS) + (y - 1) // @a@ - (y - 1) // @b@ + (y - 1) // @c@
def number(date):
    @fields@ = map(int, date.split("@mark@"))
    return before(y) + sum(MONTHS[: m - 1]) + d + (m > @month@ and leap(y))
def date(days):
    low, high = 1, days
    while low < high:
        y = (low + high + 1) // 2
        low, high = (y, high) if before(y) < days else (low, y - 1)
    days -= before(low)
    for m, length in enumerate(MONTHS, 1):
        length += m == @month@ and leap(low)
        if days <= length:
            y, d = low, days
            return f"@shown@"
        days -= length
"""
BRUTE = """
def following(date):
    @fields@ = map(int, date.split("@mark@"))
    if d < MONTHS[m - 1] + (m == @month@ and leap(y)):
        d += 1
    else:
        y, m, d = (y, m + 1, 1) if m < len(MONTHS) else (y + 1, 1, 1)
    return f"@shown@"
"""
# Question: text, the reference's and the brute force's way.
QUESTIONS = {
    "later": (
        "Given a date and a number k, print the date k days later.",
        "print(date(number(a) + int(b)))",
        "for _ in range(int(b)):\n    a = following(a)\nprint(a)",
    ),
    "apart": (
        "Given two dates, print how many days the second one is after the first one (0 if they are equal).",
        "print(number(b) - number(a))",
        "days = 0\nwhile a != b:\n    a, days = following(a), days + 1\nprint(days)",
    ),
    "week": (
        "A week has @week@ days, numbered from 1 to @week@, and weeks follow one another without a break. The first "
        "day of year 1 was day 1 of a week. Given a date and a number k, print the day of the week (its number) k days "
        "after that date.",
        "print((number(a) + int(b) - 1) % @week@ + 1)",
        'days, day = int(b), "1@mark@1@mark@1"\nwhile day != a:\n    day, days = following(day), days + 1\n'
        "print(1 + days % @week@)",
    ),
}
RUN = """
for _ in range(int(input())):
    a, b = input().split()
    @answer@
"""


SETTINGS = (
    Setting("A town hall has to tell its citizens when their papers run out."),
    Setting("Historians have found a chest of letters, each with a date on it, and want to put them in order."),
    Setting("The crew of a long voyage keeps the calendar of the port that it left."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    strange, ask, most = knobs["strange"], rng.pick(list(QUESTIONS)), knobs["most"]
    lengths = tuple(integers(rng, between(rng, 3, 9), 9, 40))
    rule = (between(rng, 2, 6), between(rng, 2, 5), between(rng, 2, 4))
    leap_month, week = between(rng, 1, len(lengths) - 1), between(rng, 4, 10)
    months, month = (lengths, leap_month) if strange else (OURS, 2)
    a, b, c = (rule[0], rule[0] * rule[1], rule[0] * rule[1] * rule[2]) if strange else (4, 100, 400)
    names: dict[str, object] = {
        "months": months,
        "month": month,
        "a": a,
        "b": b,
        "c": c,
        "week": week if strange else 7,
    }
    fields, mark = rng.pick(list(FORMATS)), rng.pick("-/.")
    shown = mark.join(f"{{{field}}}" for field in fields.split(", "))
    names |= {"fields": fields, "mark": mark, "shown": shown}
    text, answer, brute_answer = QUESTIONS[ask]
    reference = fill(HEAD + REFERENCE + fill(RUN, answer=answer), **names)
    task = (
        f"A calendar has {len(months)} months. Months 1 to {len(months)} have {either(months, 'and')} days, in this "
        f"order; in a leap year month {month} has one day more. A year is a leap year if its number is divisible by "
        f"{a} but not by {b}, or if it is divisible by {c}.",
        f"A date is written as {mark.join(FORMATS[fields])}, without leading zeros: "
        f"{shown.format(y=12, m=3, d=1)} is day 1 of month 3 in year 12. The first year is year 1.",
        fill(text, **names).strip(),
    )
    last = 5000 + most

    def date(text: str) -> tuple[int, int, int]:
        parts = text.split(mark)
        if len(parts) != 3:
            raise ValueError(f"{text!r:.40} is not a date")
        found = dict(zip(fields.split(", "), map(integer, parts), strict=True))
        y, m, d = found["y"], found["m"], found["d"]
        leap = y % a == 0 and (y % b != 0 or y % c == 0)
        if y < 1 or not 1 <= m <= len(months) or not 1 <= d <= months[m - 1] + (leap and m == month):
            raise ValueError(f"{text!r:.40} is not a date of the calendar")
        return y, m, d

    start = mark.join("111")
    around = ((month, months[month - 1]), (month, months[month - 1] + 1), (month + 1, 1))  # the first leap day
    leap_days = [shown.format(y=a, m=m, d=d) for m, d in around]
    ends = leap_days[1:] if ask == "apart" else [1, 1]

    def draw(rng: RngStream, lines: int, years: int, most: int) -> str:
        rows = []
        for _ in range(count(rng, lines)):
            y, m = between(rng, 1, years), between(rng, 1, len(months))
            d = between(rng, 1, months[m - 1])
            if rng.chance(0.4):
                y = rng.pick((max(c, y // b * b), max(a, y // a * a)))
                m = between(rng, month, min(month + 1, len(months)))
                d = months[m - 1]
            k = between(rng, 0, rng.pick((3, most)))
            later = (min(y + k // sum(months), y + most), between(rng, m, len(months)))
            end_date = (*later, between(rng, d if later == (y, m) else 1, months[later[1] - 1]))
            end = shown.format(y=end_date[0], m=end_date[1], d=end_date[2]) if ask == "apart" else k
            rows.append(line((shown.format(y=y, m=m, d=d), end)))
        return page(len(rows), *rows)

    return Problem(
        title="A strange calendar" if strange else "The calendar",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of questions.\nEach of the next t lines contains "
            + (
                "two dates, separated by a blank."
                if ask == "apart"
                else "a date and the number k, separated by a blank."
            ),
            prints="t lines, one answer for each question in the order of the input.",
            input=Input(
                Line("t"),
                *(
                    (
                        Lines("t", "first second", first=date, second=date),
                        "1 <= t <= 20",
                        Limit(
                            f"the years of the given dates are from 1 to {last}",
                            lambda first, second: max(first[0], second[0]) <= last,
                        ),
                        Limit("the second date is not before the first one", lambda first, second: first <= second),
                    )
                    if ask == "apart"
                    else (
                        Lines("t", "date k", date=date),
                        "1 <= t <= 20",
                        f"0 <= k <= {power(most)}",
                        Limit(f"the years of the given dates are from 1 to {last}", lambda date: date[0] <= last),
                    )
                ),
            ),
        ),
        reference=reference,
        brute=fill(HEAD + BRUTE + fill(RUN, answer=brute_answer), **names),
        mutants=(
            swap(reference, f" and (y % {b} != 0 or y % {c} == 0)", "", f" - (y - 1) // {b} + (y - 1) // {c}", ""),
            swap(reference, f" + (m > {month} and leap(y))", ""),
            swap(reference, f"(m > {month} and", f"(m >= {month} and"),
        ),
        small=lambda rng: draw(rng, 3, 2 if ask == "week" else 500, min(most, 400)),
        full=lambda rng: draw(rng, 20, 5000, most),
        edges=(
            page(1, f"{start} {start if ask == 'apart' else 0}"),
            page(2, f"{leap_days[0]} {ends[0]}", f"{leap_days[1]} {ends[1]}"),
        ),
    )


FAMILY = Family(
    "calendars",
    "Count days in our calendar or in a strange one.",
    (Knob("strange", OFF_ON), Knob("most", (60, 5000, 10**12))),
    _make,
)
