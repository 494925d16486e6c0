"""Family: flows in networks: how much gets through, what has to be closed, how many pairs can be made."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Row, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, count, integers, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

# Both programs read the same; the reference then makes a network, arcs with capacities from S to T.
READ = """
import sys
from collections import deque
data = iter(map(int, sys.stdin.read().split()))
PAIRS, LIMITS, BOTH = @flags@
def show(total):
    print(@shown@)
a, b = next(data), next(data)
m = next(data) if PAIRS else b
if PAIRS:
    most = [next(data) if LIMITS else 1 for _ in range(a)]
else:
    most = [0] + [next(data) if LIMITS else 10**9 for _ in range(a - 2)] + [0]
roads = [(next(data), next(data), 1 if PAIRS else next(data)) for _ in range(m)]
"""
REFERENCE = """
graph, ends, room = [], [], []
def node():
    graph.append([])
    return len(graph) - 1
def arc(u, v, c):
    for x, y, d in ((u, v, c), (v, u, 0)):
        graph[x].append(len(ends))
        ends.append(y)
        room.append(d)
if PAIRS:
    S, T = node(), node()
    left, right = [node() for _ in range(a)], [node() for _ in range(b)]
    for i in range(a):
        arc(S, left[i], most[i])
    for j in range(b):
        arc(right[j], T, 1)
    for u, v, c in roads:
        arc(left[u - 1], right[v - 1], c)
else:
    ins = [node() for _ in range(a)]
    outs = [node() if LIMITS and 0 < i < a - 1 else ins[i] for i in range(a)]
    for i in range(1, a - 1):
        if LIMITS:
            arc(ins[i], outs[i], most[i])
    for u, v, c in roads:
        arc(outs[u - 1], ins[v - 1], c)
        if BOTH:
            arc(outs[v - 1], ins[u - 1], c)
    S, T = ins[0], ins[-1]
total = 0
while True:
    level = [-1] * len(graph)
    level[S] = 0
    queue = deque([S])
    while queue:
        u = queue.popleft()
        for e in graph[u]:
            if room[e] and level[ends[e]] < 0:
                level[ends[e]] = level[u] + 1
                queue.append(ends[e])
    if level[T] < 0:
        break
    at, path = [0] * len(graph), []
    while True:
        u = ends[path[-1]] if path else S
        if u == T:
            pushed = min(room[e] for e in path)
            total += pushed
            for e in path:
                room[e] -= pushed
                room[e ^ 1] += pushed
            path = []
        elif at[u] < len(graph[u]):
            e = graph[u][at[u]]
            if room[e] and level[ends[e]] == level[u] + 1:
                path.append(e)
            else:
                at[u] += 1
        elif path:
            path.pop()
            at[ends[path[-1]] if path else S] += 1
        else:
            break
show(total)
"""
# All ways to deal out the jobs one after the other; or all ways to put each inner town on a side, or to close it.
BRUTE = """
from itertools import product
if PAIRS:
    def deal(j, most):
        if j > b:
            return 0
        best = deal(j + 1, most)
        for u in {u for u, v, _ in roads if v == j and most[u - 1]}:
            best = max(best, 1 + deal(j + 1, [x - (i == u - 1) for i, x in enumerate(most)]))
        return best
    show(deal(1, most))
else:
    best = None
    if BOTH:
        roads += [(v, u, c) for u, v, c in roads]
    for sides in product("STX" if LIMITS else "ST", repeat=a - 2):
        sides = ("S", *sides, "T")
        cost = sum(most[i] for i in range(a) if sides[i] == "X")
        cost += sum(c for u, v, c in roads if sides[u - 1] == "S" and sides[v - 1] == "T")
        best = cost if best is None else min(best, cost)
    show(best)
"""
# The smaller one of what can leave the start and of what can reach the end.
ENDS = """
if PAIRS:
    show(min(sum(most[u - 1] for u in {u for u, _, _ in roads}), len({v for _, v, _ in roads})))
else:
    first = sum(c for u, v, c in roads if u == 1 or BOTH and v == 1)
    show(min(first, sum(c for u, v, c in roads if v == a or BOTH and u == a)))
"""
PLACES = (
    Setting("A waterworks is being planned, and its engineers argue about a drawing of it.",
            {"town": "basin", "road": "pipe", "truck": "litre"}),
    Setting("After a flood the aid for a city has to come in by truck, and only some ways are open.", {}),
    Setting("A provider of data lines wants to know what its network can carry in a second.",
            {"town": "router", "road": "cable", "truck": "packet"}),
)  # fmt: skip
CUTS = (
    Setting("Two colonies of ants must not meet, and their keeper looks at the tunnels between them.",
            {"town": "chamber", "road": "tunnel"}),
    Setting("A virus spreads from machine to machine; the last one must stay clean.",
            {"town": "machine", "road": "line"}),
    Setting("A region has to be closed off during a race.", {}),
)  # fmt: skip
# Who takes what.
PEOPLE = (
    ("worker", "job", "The night shift of a workshop is being planned.", "A town looks for people for its festival."),
    ("player", "role", "A theatre prepares its next production.", "A club stages a game in an old castle."),
    ("tutor", "subject", "A school plans its afternoons.", "A library offers courses in the summer."),
)


def _pairs(known: dict[str, Any]) -> set[tuple[int, int]]:
    return set(zip(known["u"], known["v"], strict=True))


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, limits, size = knobs["question"], knobs["limits"], knobs["size"]
    pairs, both, most = ask == "pairs", rng.chance(0.5), rng.pick((5, 9, 30, 99, 300, 1000))
    flags = (pairs, limits, both and not pairs)
    several, rest = rng.pick((2, 3, 4)), rng.chance(0.5)
    read = fill(READ, flags=flags, shown="b - total" if pairs and rest else "total")
    reference = read + fill(REFERENCE)
    mutants = [
        read + fill(ENDS),
        swap(reference, "if level[T] < 0:", "if level[T] < 0 or total:"),
        swap(reference, "arc(right[j], T, 1)", "arc(right[j], T, 2)")
        if pairs
        else swap(reference, "        if BOTH:", "        if not BOTH:"),
    ]
    if limits or not flags[2]:  # what flows back is seldom missed where all roads lead both ways
        mutants.append(swap(reference, "room[e ^ 1] += pushed", "pass"))
    if limits:
        mutants.append(swap(reference, "most[i])", "most[i] + 1)"))

    def draw(rng: RngStream, size: int) -> str:
        if pairs:
            workers, jobs = count(rng, size), count(rng, size)
            found = {
                (1 + rng.below(1 + rng.below(workers)), 1 + rng.below(1 + rng.below(jobs)))
                for _ in range(between(rng, (workers + jobs) // 2, 2 * (workers + jobs)))
            }
            suits = sorted(found)
            suits = [suits[i] for i in rng.shuffled(len(suits))]
            own = [line(integers(rng, workers, 1, several))] if limits else []
            return page(line((workers, jobs, len(suits))), *own, *map(line, suits))
        towns = count(rng, size, 3)
        step, rows = rng.pick((2, 3, 5)), []
        for _ in range(between(rng, towns, 2 * towns)):
            u = between(rng, 1, towns)
            v = (u + between(rng, -1, step) - 1) % towns + 1
            if u != v:
                rows.append((u, v, between(rng, 1, most)))
        if towns > 7:  # the short way by u and v stands in the way of two longer ones
            u, v, w, x, y, z = (2 + i for i in rng.shuffled(towns - 2)[:6])
            trap = ((1, u), (u, v), (v, towns), (1, w), (w, x), (x, v), (u, y), (y, z), (z, towns))
            rows += [(*ends, between(rng, most - most // 3, most)) for ends in trap]
        rows = [rows[i] for i in rng.shuffled(len(rows))]
        own = [line(integers(rng, towns - 2, 1, 3 * most))] if limits else []
        return page(line((towns, len(rows))), *own, *map(line, rows))

    if pairs:
        who, what, *openings = rng.pick(PEOPLE)
        statement = tell(
            rng,
            (
                f"There are a {who}s and b {what}s. For some pairs it is known that the {who} suits the {what}.",
                f"A {what} is given to at most one {who}, who must suit it. A {who} takes "
                f"{'a limited number of' if limits else 'at most one of the'} {what}s.",
                f"Find the {'smallest' if rest else 'largest'} possible number of {what}s that are "
                f"{'left over' if rest else 'given away'}.",
            ),
            [Setting(opening) for opening in openings],
            reads="The first line contains three integers a, b and m.\n"
            + when(limits, f"The next line contains a integers t_i: the most that each {who} takes.\n")
            + f"Each of the next m lines contains two integers u and v: {who} number u suits {what} number v.",
            prints="One integer.",
            input=Input(
                Line("a b m"),
                *([Row("t_i", "a")] if limits else []),
                Lines("m", "u v"),
                f"1 <= a, b <= {size}",
                f"0 <= m <= {6 * size}",
                *([f"1 <= t_i <= {several}"] if limits else []),
                "1 <= u <= a",
                "1 <= v <= b",
                Whole("no pair u, v occurs twice", lambda known: len(_pairs(known)) == known["m"]),
            ),
        )
    else:
        through = ask == "flow"
        task = (
            "There are n towns, numbered from 1, and m roads. A road "
            + ("joins u and v and may be used in both directions." if both else "leads from u to v, and not back."),
            f"At most c trucks an hour can use a road{when(both, ' in each direction')}." if through
            else f"It costs c to close a road{when(both, '; it is then closed in both directions')}.",
            when(limits, "At most t_i trucks an hour can pass through a town that is not the first or the last one."
                 if through else
                 "It is also possible to close towns, except the first and the last one. It costs t_i to close a town, "
                 "and then no way leads through it."),
            "How many trucks an hour can travel from town 1 to town n at most?" if through
            else "Find the smallest total cost of closing what it takes so that no way is left from town 1 to town n.",
        )  # fmt: skip
        statement = tell(
            rng,
            task,
            PLACES if through else CUTS,
            reads="The first line contains two integers n and m.\n"
            + when(limits, "The next line contains n - 2 integers t_i, for the numbers i from 2 to n - 1.\n")
            + "Each of the next m lines contains three integers u, v and c. The same u and v may occur several times.",
            prints="One integer.",
            input=Input(
                Line("n m"),
                *([Row("t_i", "n - 2")] if limits else []),
                Lines("m", "u v c"),
                f"3 <= n <= {size}",
                f"0 <= m <= {4 * size}",
                *([f"1 <= t_i <= {3 * most}"] if limits else []),
                "1 <= u, v <= n",
                f"1 <= c <= {most}",
                Limit("u and v differ", lambda u, v: u != v),
            ),
        )
    return Problem(
        title={"pairs": "Who does what", "flow": "All that gets through", "cut": "Cut off"}[ask],
        statement=statement,
        reference=reference,
        brute=read + fill(BRUTE),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(size, 8)),
        full=lambda rng: draw(rng, size),
        edges=(page("1 1 0", *["1"] * limits) if pairs else page("3 0", *["1"] * limits),),
    )


FAMILY = Family(
    "flows",
    "Network flow: maximum flow, minimum cut and bipartite matching, with limits of nodes.",
    (Knob("size", (8, 40, 300)), Knob("question", ("pairs", "flow", "cut")), Knob("limits", OFF_ON)),
    _make,
)
