"""Family: updates and queries on ranges of a long list that starts with zeros."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines, Whole
from rlanything_task_pools.coding.parts import between, choose, dispatch, line, page, power, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Per operation: arguments after l and r, text, and the code on segments (reference) and on single places (brute force).
UPDATES = {
    "add": (" v", "add v to each of the values at the places from l to r", "value[s] += v[0]", "a[i] += v[0]"),
    "set": (" v", "replace each of the values at the places from l to r by v", "value[s] = v[0]", "a[i] = v[0]"),
    "flip": ("", "change the sign of all values at the places from l to r", "value[s] = -value[s]", "a[i] *= -1"),
    "cap": (" v", "replace each value greater than v at the places from l to r by v", "value[s] = min(value[s], v[0])",
            "a[i] = v[0] if a[i] > v[0] else a[i]"),
}  # fmt: skip
QUERIES = {
    "sum": (
        "",
        "print the sum of the values at the places from l to r",
        "sum(value[s] * width[s] for s in part)",
        "sum(a[l : r + 1])",
    ),
    "max": (
        "",
        "print the largest value at the places from l to r",
        "max(value[s] for s in part)",
        "sorted(a[l : r + 1])[-1]",
    ),
    "many": (
        " v",
        "print how many of the places from l to r have a value of at least v",
        "sum(width[s] for s in part if value[s] >= v[0])",
        "len([x for x in a[l : r + 1] if x >= v[0]])",
    ),
    "runs": (
        "",
        "print how many places i with l < i <= r have a value different from that of place i - 1",
        "sum(value[s] != value[s - 1] for s in part[1:])",
        "sum(a[i] != a[i - 1] for i in range(l + 1, r + 1))",
    ),
}

REFERENCE = """
import bisect
import sys
n, q, *_ = map(int, sys.stdin.readline().split())
tasks = []
for row in sys.stdin.read().splitlines()[:q]:
    op, l, r, *v = row.split()
    tasks.append((op, int(l), int(r) + 1, [int(x) for x in v]))
cuts = sorted({cut for op, l, r, v in tasks for cut in (l, r)})
width = [right - left for left, right in zip(cuts, cuts[1:])]
value = [0] * len(width)
for op, l, r, v in tasks:
    part = range(bisect.bisect_left(cuts, l), bisect.bisect_left(cuts, r))
    @updates@
    @queries@
"""

BRUTE = """
n, q = map(int, input().split())
a = [0] * (n + 1)
for _ in range(q):
    op, l, r, *v = input().split()
    l, r, v = int(l), int(r), [int(x) for x in v]
    for i in range(l, r + 1):
        @updates@
    @queries@
"""


SETTINGS = (
    Setting(
        "A tax office writes down what the houses of a street owe. The houses stand in a row.",
        {"list": "street", "place": "house", "value": "debt"},
    ),
    Setting(
        "Engineers measure how far the bridges over a river have been raised from their normal height.",
        {"list": "river", "place": "bridge", "value": "height"},
    ),
    Setting(
        "The cellar of a bank has a long row of safes, and each shows its balance.",
        {"list": "row", "place": "safe", "value": "balance"},
    ),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    first = rng.pick(("add", "set"))
    rest = choose(rng, [op for op in UPDATES if op != first], knobs["updates"] - 1)
    updates = [op for op in UPDATES if op in (first, *rest)]
    queries = choose(rng, list(QUERIES), knobs["queries"])
    most, size, length = rng.pick((9, 100, 10**6)), knobs["size"], knobs["length"]

    def program(template: str, column: int, loop: str) -> str:
        changes = dispatch({op: loop + UPDATES[op][column] for op in updates})
        return fill(
            template, updates=changes, queries=dispatch({op: f"print({QUERIES[op][column]})" for op in queries})
        )

    reference = program(REFERENCE, 2, "for s in part:\n    ")
    slips = {"add": ("+=", "="), "set": ("=", "+="), "flip": ("-value[s]", "-abs(value[s])"), "cap": ("min", "max")}
    slips |= {"sum": (" * width[s]", ""), "max": ("max(", "max(0, *("), "many": (">=", ">"), "runs": ("[1:]", "")}
    names, table = [*updates, *queries], UPDATES | QUERIES
    mutants = [swap(reference, "int(r) + 1", "max(int(l) + 1, int(r))")]
    for name in names:
        code = table[name][2]
        mutants.append(swap(reference, code, swap(code, *slips[name]) + ")" * (name == "max")))
    task = (
        "A list has n places, numbered from 1 to n, and all values in it are 0 at the start. Carry out q operations:\n"
        + bullets(*(f"{name} l r{table[name][0]}: {table[name][1]}." for name in names)),
        "All places from l to r, both included, are meant.",
    )

    def draw(rng: RngStream, n: int, q: int) -> str:
        rows = []
        spots = [between(rng, 1, n) for _ in range(6)]
        for i in range(q):
            op = rng.pick(queries if rng.chance(0.5) or i == q - 1 else updates)
            ends = [rng.pick(spots) if rng.chance(0.5) else between(rng, 1, n) for _ in "lr"]
            left, right = min(ends), max(ends)
            if rng.chance(0.15):
                right = left
            small = rng.chance(0.5)
            v = [between(rng, -min(3, most) if small else -most, min(3, most) if small else most)]
            rows.append(line([op, left, right] + v * bool(table[op][0])))
        return page(f"{n} {q}", *rows)

    return Problem(
        title="Operations on ranges",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains two integers n and q.\n"
            "Each of the next q lines contains an operation as written above.",
            prints="One line for each operation that prints something, in the order of the operations.",
            input=Input(
                Line("n q"),
                Lines("q", {name: f"l r{table[name][0]}" for name in names}),
                f"1 <= n <= {power(length)}",
                f"1 <= q <= {size}",
                "1 <= l <= r <= n",
                *([f"{-most} <= v <= {most}"] * any(table[name][0] for name in names)),
                Whole("at least one operation prints something", lambda v: any(op in queries for op in v["op"])),
            ),
        ),
        reference=reference,
        brute=program(BRUTE, 3, ""),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, between(rng, 1, 10), 8),
        full=lambda rng: draw(rng, between(rng, max(1, length // 2), length), between(rng, size // 2, size)),
        edges=(page("1 1", line([queries[0], 1, 1] + [0] * bool(table[queries[0]][0]))),),
    )


FAMILY = Family(
    "range_queries",
    "Updates and queries on ranges of a list.",
    (
        Knob("size", (12, 80, 800)),
        Knob("length", (10, 1000, 100_000, 1_000_000_000)),
        Knob("updates", (1, 2, 3)),
        Knob("queries", (1, 2, 3)),
    ),
    _make,
)
