"""Family: a row is cut into groups whose cost is the square of their sum: dynamic programming with a hull of lines."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Row
from rlanything_task_pools.coding.parts import OFF_ON, between, count, integers, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import sys
data = list(map(int, sys.stdin.read().split()))
TARGET, LEAST, GROUPS = @flags@
n, C = data[:2]
G = data[2] if TARGET else 0
L = data[2] if LEAST else 1
row = data[-n:]
"""
# best[i] = min over j <= i - L of best[j] + C + (P[i] - P[j] - G)^2: lines of slope -2 P[j] at the place P[i] - G. They
# are kept in a Li Chao tree over all places. Values are scaled by n + 1 and hold the number of groups below that.
REFERENCE = """
sums = [0]
for value in row:
    sums.append(sums[-1] + value)
places = sorted({total - G for total in sums})
spot = {place: i for i, place in enumerate(places)}
size = len(places)
tree = [None] * (4 * size)
unit = n + 1
def add(slope, height):
    node, low, high = 1, 0, size - 1
    while True:
        if tree[node] is None:
            tree[node] = slope, height
            return
        middle = (low + high) // 2
        x, (m, h) = places[middle], tree[node]
        if slope * x + height < m * x + h:
            tree[node], slope, height = (slope, height), m, h
            m, h = tree[node]
        if low == high:
            return
        if slope * places[low] + height < m * places[low] + h:
            node, high = 2 * node, middle
        elif slope * places[high] + height < m * places[high] + h:
            node, low = 2 * node + 1, middle + 1
        else:
            return
def lowest(x):
    node, low, high, least = 1, 0, size - 1, None
    i = spot[x]
    while tree[node] is not None:
        m, h = tree[node]
        if least is None or m * x + h < least:
            least = m * x + h
        middle = (low + high) // 2
        if low == high:
            break
        node, low, high = (2 * node, low, middle) if i <= middle else (2 * node + 1, middle + 1, high)
    return least
best = [0] + [None] * n
for i in range(1, n + 1):
    j = i - L
    if j >= 0 and best[j] is not None:
        add(-2 * sums[j] * unit, best[j] + sums[j] ** 2 * unit)
    x = sums[i] - G
    least = lowest(x)
    if least is not None:
        best[i] = least + (x * x + C) * unit + 1
if best[n] is None:
    print(-1)
else:
    print(*[best[n] // unit] + [best[n] % unit] * GROUPS)
"""
BRUTE = """
found = []
def cut(begin, cost, groups):
    if begin == n:
        found.append((cost, groups))
    for end in range(begin + L, n + 1):
        cut(end, cost + C + (sum(row[begin:end]) - G) ** 2, groups + 1)
cut(0, 0, 0)
print(*(min(found)[:1 + GROUPS] if found else [-1]))
"""
# Goes from left to right and closes a group as soon as one more number makes it dearer than a group of its own.
GREEDY = """
cost, groups, begin = 0, 0, 0
while begin < n:
    end = begin + L
    def price(i, j):
        return C + (sum(row[i:j]) - G) ** 2
    while end < n and price(begin, end + 1) <= price(begin, end) + price(end, end + 1) or 0 < n - end < L:
        end += 1
    if end > n:
        break
    cost, groups, begin = cost + price(begin, end), groups + 1, end
print(*([cost] + [groups] * GROUPS if begin == n else [-1]))
"""
SETTINGS = (
    Setting("A carrier loads parcels from a belt, in their order. A value says how far a parcel is off the usual "
            "weight.", {"group": "van"}),
    Setting("A teacher splits a long list of exercises into lessons. A value says how far an exercise is off the usual "
            "length.", {"group": "lesson"}),
    Setting("The scenes of a film are shot in their order. A value says how far a scene is off its budget.",
            {"group": "day"}),
)  # fmt: skip


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    twist, signs, size, groups = knobs["twist"], knobs["signs"], knobs["size"], knobs["groups"]
    target, least = twist == "target", twist == "least"
    most = rng.pick((5, 9, 30, 100, 400))
    flags = (target, least, groups)
    read = fill(READ, flags=flags)
    reference = read + fill(REFERENCE)
    mutants = [
        read + fill(GREEDY),
        swap(reference, "(x * x + C) * unit", "(x * x + C * (i > L)) * unit"),
        swap(reference, "elif slope * places[high]", "elif False and slope * places[high]"),
    ]
    if target:
        mutants.append(swap(reference, "x = sums[i] - G", "x = sums[i] + G", "total - G for", "total + G for"))
    if least:
        mutants += [swap(reference, "j = i - L", "j = i - 1"), swap(reference, "print(-1)", "print(0)")]
    name = "G" if target else "L"
    low = -most if signs else 1

    def draw(rng: RngStream, size: int) -> str:
        n = count(rng, size)
        row = integers(rng, n, low, most)
        scale = rng.pick((1, most, most * most, 9 * most * most))
        head = [n, between(rng, 0, scale)]
        if target:
            head.append(between(rng, -3 * most if signs else 0, 3 * most))
        if least:
            head.append(between(rng, 1, min(n, rng.pick((3, 10))) + (rng.chance(0.1))))
        return page(line(head), line(row))

    return Problem(
        title="Cut into groups",
        statement=tell(
            rng,
            (
                "A row of n values is cut into one or more groups of neighbours; each value belongs to exactly one "
                "group.",
                f"A group with the sum s costs {'(s - G)^2' if target else 's^2'} + C"
                f"{when(least, ', and it must have at least L values')}.",
                "Find the smallest total cost"
                + when(groups, ", and the smallest number of groups with which that cost can be reached")
                + when(least, ". If the row cannot be cut in this way, the answer is just -1")
                + ".",
            ),
            SETTINGS,
            reads=f"The first line contains integers: n, then C{when(target or least, f', then {name}')}.\n"
            "The second line contains n integers a_i: the values in their order.",
            prints=f"{'Two integers: the cost and the number' if groups else 'One integer: the cost'}"
            f"{when(least, ', or -1')}.",
            input=Input(
                Line(line(["n", "C"] + [name] * (target or least))),
                Row("a_i", "n"),
                f"1 <= n <= {size}",
                f"0 <= C <= {9 * most * most}",
                *([f"{-3 * most if signs else 0} <= G <= {3 * most}"] if target else []),
                *(["1 <= L <= 11"] if least else []),
                f"{low} <= a_i <= {most}",
            ),
        ),
        reference=reference,
        brute=read + fill(BRUTE),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(size, 9)),
        full=lambda rng: draw(rng, size),
        edges=(page("2 2" + " 0" * target + " 1" * least, "1 1"), *[page("1 0 2", "1")] * least),
    )


FAMILY = Family(
    "partitions",
    "A row cut into groups of squared cost: dynamic programming with the lower hull of lines.",
    (
        Knob("size", (12, 400, 12000)),
        Knob("signs", OFF_ON),
        Knob("twist", ("none", "target", "least")),
        Knob("groups", OFF_ON),
    ),
    _make,
)
