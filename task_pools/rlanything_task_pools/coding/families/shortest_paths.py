"""Family: shortest trips in a network of roads with one-way streets, tolls and coupons."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Row
from rlanything_task_pools.coding.parts import OFF_ON, between, count, either, integers, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import heapq
import sys
tokens = iter(sys.stdin.read().split())
def take():
    return int(next(tokens))
TOLLS, COUPONS, WEIGHTS, ONE_WAY, WITHIN = @flags@
n, m = take(), take()
K = take() if COUPONS else 0
L = take() if WITHIN else 0
toll = [0] + [take() if TOLLS else 0 for _ in range(n)]
roads = [[] for _ in range(n + 1)]
for _ in range(m):
    u, v = take(), take()
    w = take() if WEIGHTS else 1
    roads[u].append((v, w))
    if not ONE_WAY:
        roads[v].append((u, w))
"""

REFERENCE = """
best = {}
heap = [(toll[1], 1, 0)]
while heap:
    d, u, used = heapq.heappop(heap)
    if (u, used) not in best:
        best[u, used] = d
        for v, w in roads[u]:
            heapq.heappush(heap, (d + w + toll[v], v, used))
            if used < K:
                heapq.heappush(heap, (d + w // 2 + toll[v], v, used + 1))
cost = {}
for (u, _), d in best.items():
    cost[u] = min(d, cost.get(u, d))
print(@answer@)
"""

BRUTE = """
cost = {}
def travel(path, lengths):
    saved = sorted((w - w // 2 for w in lengths), reverse=True)[:K]
    price = sum(lengths) - sum(saved) + sum(toll[u] for u in path)
    cost[path[-1]] = min(price, cost.get(path[-1], price))
    for v, w in roads[path[-1]]:
        if v not in path:
            travel(path + [v], lengths + [w])
travel([1], [])
print(@answer@)
"""

# Question: text, format of the answer, expression, and a wrong expression.
QUESTIONS = {
    "target": (
        "Print the cost of the cheapest trip from town 1 to town n, or -1 if there is none.",
        "One integer.",
        "cost.get(n, -1)",
        "cost.get(n - 1, -1)",
    ),
    "farthest": (
        "Of all towns that can be reached from town 1, which itself is one of them, find the one whose cheapest trip "
        "from town 1 costs most. If there are several, take the one with the smallest number. Print its number and the "
        "cost of its cheapest trip.",
        "Two integers, separated by a blank.",
        "*min((-d, u, d) for u, d in cost.items())[1:]",
        "*max((d, u) for u, d in cost.items())[::-1]",
    ),
    "within": (
        "Print the number of towns that can be reached from town 1 by a trip of cost L or less. Town 1 itself counts "
        "if the trip without roads costs no more than L.",
        "One integer.",
        "sum(d <= L for d in cost.values())",
        "sum(d < L for d in cost.values())",
    ),
}


SETTINGS = (
    Setting(
        "It is the year 2481, and space is crowded.",
        {"town": "planet", "road": "lane", "trip": "flight", "toll": "tax"},
    ),
    Setting(
        "In the high mountains people walk from village to village.",
        {"town": "village", "road": "path", "trip": "hike", "toll": "fee"},
    ),
    Setting(
        "A captain studies her charts before she leaves port 1.",
        {"town": "port", "road": "route", "trip": "voyage", "toll": "fee"},
    ),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, longest = rng.pick(list(QUESTIONS)), rng.pick((9, 100, 1000))
    weights, one_way, twist = knobs["weights"], knobs["one_way"], knobs["twist"]
    tolls, coupons, within = twist == "tolls", twist == "coupons", ask == "within"
    text, form, answer, wrong = QUESTIONS[ask]
    flags = (tolls, coupons, weights, one_way, within)
    reference = fill(READ + REFERENCE, flags=flags, answer=answer)
    mutants = [
        swap(reference, str(flags), str((*flags[:3], not one_way, within))),
        swap(reference, "heapq.heappop(heap)", "heap.pop()"),
        *([swap(reference, "(d + w +", "(d + 1 +")] * weights),
        *([swap(reference, answer, wrong)] * (ask != "target" or not weights)),
    ]
    if tolls:
        mutants.append(swap(reference, "heap = [(toll[1], 1, 0)]", "heap = [(0, 1, 0)]"))
    if coupons:
        mutants.append(swap(reference, "used < K", "used <= K"))
    length = "length w" if weights else "length 1"
    task = (
        "There are n towns, numbered from 1 to n, and m roads. "
        + (
            f"A road leads from a town u to a town v and cannot be used in the other direction. It has the {length}."
            if one_way
            else f"A road joins two towns u and v, can be used in both directions, and has the {length}."
        )
        + " Several roads may join the same towns.",
        "A trip follows roads from town to town. Its cost is the sum of the lengths of its roads"
        + when(
            tolls,
            " and of the tolls of its towns. The toll of town i is p_i; it is paid each time the trip is there, "
            "even in the town in which it starts and in that in which it ends",
        )
        + "."
        + when(
            coupons,
            " In addition you have K coupons. A coupon halves the length of one road of the trip, rounded "
            "down; each use of a road can take only one coupon, and coupons may be left over.",
        )
        + when(
            ask != "target",
            f" The trip from town 1 to itself uses no road{when(tolls, ', and costs only the toll of town 1')}.",
        ),
        text,
    )

    def draw(rng: RngStream, n: int) -> str:
        n = count(rng, n, 2)
        reach, top = rng.pick((2, 5, n)), rng.pick((3, longest))
        names = [1, *(2 + i for i in rng.shuffled(n - 2)), n]
        pairs = [(between(rng, max(0, i - reach), i - 1), i) for i in range(1, n) if not rng.chance(0.5 / n)]
        for _ in range(rng.below(n + 1)):
            u = rng.below(n)
            pairs.append((u, (u + between(rng, 1, min(reach * 3, n - 1))) % n))
        rows = []
        for u, v in (pairs[i] for i in rng.shuffled(len(pairs))):
            ends = [names[u], names[v]] if rng.chance(0.9) else [names[v], names[u]]
            rows.append(line(ends + [between(rng, 1, top)] * weights))
        head = [n, len(rows)] + [between(rng, 1, 3)] * coupons
        if within:
            unit = (top // 3 if weights else 1) + (top // 4 if tolls else 0)
            head.append(between(rng, 1, max(2, unit * rng.pick((3, 6, 12)))))
        return page(line(head), *[line(integers(rng, n, 0, top // 2))] * tolls, *rows)

    head = ["n", "m", *["K"] * coupons, *["L"] * within]
    return Problem(
        title={"target": "The cheapest trip", "farthest": "Far away", "within": "Within reach"}[ask],
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads=f"The first line contains the integers {either(head, 'and')}.\n"
            + when(tolls, "The second line contains n integers p_1, ..., p_n.\n")
            + f"Each of the next m lines contains the integers {'u, v and w' if weights else 'u and v'} of a road.",
            prints=form,
            input=Input(
                Line(" ".join(head)),
                *([Row("p_i", "n")] * tolls),
                Lines("m", "u v w" if weights else "u v"),
                f"2 <= n <= {knobs['size']}",
                f"0 <= m <= {2 * knobs['size']}",
                "1 <= u, v <= n",
                Limit("u and v differ", lambda u, v: u != v),
                *([f"1 <= w <= {longest}"] * weights),
                *([f"0 <= p_i <= {longest // 2}"] * tolls),
                *(["1 <= K <= 3"] * coupons),
                *([f"1 <= L <= {10 * longest}"] * within),
            ),
        ),
        reference=reference,
        brute=fill(READ + BRUTE, flags=flags, answer=answer),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 6),
        full=lambda rng: draw(rng, knobs["size"]),
        edges=(page(line([2, 0] + [1] * coupons + [3] * within), *["1 3"] * tolls),),
    )


FAMILY = Family(
    "shortest_paths",
    "Cheapest trips in a road network, with one-way roads, tolls or coupons.",
    (
        Knob("size", (6, 40, 300, 1200)),
        Knob("weights", OFF_ON),
        Knob("one_way", OFF_ON),
        Knob("twist", ("none", "tolls", "coupons")),
    ),
    _make,
)
