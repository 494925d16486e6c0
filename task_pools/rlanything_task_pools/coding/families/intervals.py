"""Family: bookings as intervals of time; overlaps, coverage and the best choice without conflict."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.parts import OFF_ON, between, count, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import bisect
import sys
data = list(map(int, sys.stdin.read().split()))
n = data[0]
items = [(s, e + @rest@ + @closed@, v) for s, e, v in zip(data[1::3], data[2::3], data[3::3])]
"""

# Question: text, the reference's way, the brute force's way, and a text of the reference with a wrong one for it.
QUESTIONS = {
    "overlap": (
        "the largest number of bookings that keep the hall busy in one hour, and the first hour in which so many do",
        """
        events = sorted([(s, 1) for s, e, v in items] + [(e, -1) for s, e, v in items])
        now = most = first = 0
        for time, change in events:
            now += change
            if now > most:
                most, first = now, time
        print(most, first)
        """,
        """
        load = {}
        for s, e, v in items:
            for t in range(s, e):
                load[t] = load.get(t, 0) + 1
        most = max(load.values())
        print(most, min(t for t in load if load[t] == most))
        """,
        ("now > most", "now >= most"),
    ),
    "covered": (
        "the number of hours in which at least @least@ booking@s@ keep@v@ the hall busy",
        """
        events = sorted([(s, 1) for s, e, v in items] + [(e, -1) for s, e, v in items])
        now = total = last = 0
        for time, change in events:
            if now >= @least@:
                total += time - last
            now, last = now + change, time
        print(total)
        """,
        """
        hours = [t for s, e, v in items for t in range(s, e)]
        print(sum(hours.count(t) >= @least@ for t in set(hours)))
        """,
        (">= @least@", "> @least@"),
    ),
    "schedule": (
        "the largest number of bookings that can be accepted so that no two of them keep the hall busy in the same "
        "hour",
        """
        free, taken = -1, 0
        for s, e, v in sorted(items, key=lambda item: item[1]):
            if s >= free:
                free, taken = e, taken + 1
        print(taken)
        """,
        """
        def best(chosen, i):
            if i == n:
                return len(chosen)
            without = best(chosen, i + 1)
            if all(items[i][0] >= e or items[i][1] <= s for s, e, v in chosen):
                return max(without, best(chosen + [items[i]], i + 1))
            return without
        print(best([], 0))
        """,
        ("key=lambda item: item[1]", "key=lambda item: item[0]"),
    ),
    "value": (
        "the largest total fee of bookings that can be accepted so that no two of them keep the hall busy in the same "
        "hour",
        """
        items.sort(key=lambda item: item[1])
        ends, best = [e for s, e, v in items], [0]
        for i, (s, e, v) in enumerate(items):
            best.append(max(best[i], best[bisect.bisect_right(ends, s, 0, i)] + v))
        print(best[n])
        """,
        """
        def clash(a, b):
            return set(range(a[0], a[1])) & set(range(b[0], b[1]))
        top = 0
        for mask in range(2 ** n):
            chosen = [items[i] for i in range(n) if mask >> i & 1]
            if not any(clash(a, b) for i, a in enumerate(chosen) for b in chosen[:i]):
                top = max(top, sum(v for s, e, v in chosen))
        print(top)
        """,
        ("bisect.bisect_right(ends, s, 0, i)", "bisect.bisect_left(ends, s, 0, i)"),
    ),
}
GREEDY = """
free = total = 0
for s, e, v in sorted(items, key=lambda item: item[1]):
    if s >= free:
        free, total = e, total + v
print(total)
"""


SETTINGS = (
    Setting("A village has a single hall for its weddings, markets and concerts."),
    Setting(
        "A workshop has a machine that everybody wants to use.",
        {"hall": "machine", "booking": "job", "hour": "minute", "fee": "reward"},
    ),
    Setting("A harbour has one dock.", {"hall": "dock", "booking": "ship", "hour": "day", "fee": "due"}),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, closed, horizon = knobs["question"], knobs["closed"], rng.pick((1, 3, 10))
    rest, least = between(rng, 1, 4) * knobs["rest"], between(rng, 1, 2 if knobs["size"] < 10 else 3)
    names: dict[str, object] = {
        "rest": rest,
        "closed": int(closed),
        "least": least,
        "s": "s" * (least > 1),
        "v": "s" * (least == 1),
    }
    text, solve, brute, wrong = QUESTIONS[ask]
    read, solve = fill(READ, **names), fill(solve, **names)
    reference = read + solve
    mutants = [
        swap(reference, *(fill(part, **names).strip() for part in wrong)),
        swap(reference, f"e + {rest} + {int(closed)}", f"e + {rest} + {int(not closed)}"),
        read + fill(GREEDY) if ask == "value" else swap(reference, "sorted(", "list("),
    ]
    if rest:
        mutants.append(swap(reference, f"e + {rest}", f"e + {rest - 1}"))
    task = (
        "The hours of a hall are numbered 0, 1, 2, ... There are n bookings; each has a first hour s, an end e and "
        f"a fee v. It keeps the hall busy from hour s to hour {'e' if closed else 'e - 1'}, both included"
        + when(
            rest > 0,
            f", and then for {rest} more hour{when(rest > 1, 's')}, in which the hall is cleaned. These count as busy "
            "because of the booking, too",
        )
        + f". Bookings may overlap{when(ask in ('schedule', 'value'), ', but not all of them have to be accepted')}.",
        f"Print {fill(text, **names).strip()}.",
    )

    def draw(rng: RngStream, n: int, last: int) -> str:
        n, rows = count(rng, n), []
        length = max(1, last // rng.pick((3, 10, max(3, n // 2))))
        for _ in range(n):
            start = between(rng, 0, last)
            rows.append(line((start, start + between(rng, 1, length), between(rng, 1, 20))))
        return page(n, *rows)

    far = horizon * knobs["size"]
    late = max(16, far + far // 3)
    return Problem(
        title={"overlap": "Rush hour", "covered": "Busy", "schedule": "Most of all", "value": "Best of all"}[ask],
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer n.\nEach of the next n lines contains three integers s, e and v.",
            prints="Two integers, separated by a blank." if ask == "overlap" else "One integer.",
            input=Input(
                Line("n"), Lines("n", "s e v"), f"1 <= n <= {knobs['size']}", f"0 <= s < e <= {late}", "1 <= v <= 20"
            ),
        ),
        reference=reference,
        brute=read + fill(brute, **names),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 6, 12),
        full=lambda rng: draw(rng, knobs["size"], far // rng.pick((1, 5))),
        edges=(page(1, "0 1 5"), page(3, "0 2 1", "2 4 9", "4 5 2"), page(3, "0 9 5", "1 3 3", "4 6 3")),
    )


FAMILY = Family(
    "intervals",
    "Overlaps, coverage and choices without conflict among intervals.",
    (
        Knob("size", (6, 100, 1000, 3000)),
        Knob("question", ("covered", "overlap", "schedule", "value")),
        Knob("closed", OFF_ON),
        Knob("rest", OFF_ON),
    ),
    _make,
)
