"""Family: an order of jobs that keeps all rules; many orders do, and a checker looks at the one that is printed."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines, Row, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import sys
data = iter(map(int, @text@.split()))
DATES, CHAINS = @flags@
n, m = next(data), next(data)
k = next(data) if CHAINS else 0
due = [next(data) if DATES else n for _ in range(n)]
base = @base@
rules = [(next(data) - base, next(data) - base) for _ in range(m)]
rules = [(u, v) for @ends@ in rules]
chains = [(next(data) - base, next(data) - base) for _ in range(k)]
"""
# Chained jobs become one block. From the end backwards: of the blocks that nothing has to follow any more, the one that
# may end last is put last (Lawler's rule); if even that one is too late, there is no order.
REFERENCE = """
import heapq
after, heads = {}, set(range(n))
for u, v in chains:
    after[u] = v
    heads.discard(v)
block, jobs, latest = [None] * n, [], []
for u in sorted(heads):
    jobs.append([])
    while u is not None:
        block[u] = len(jobs) - 1
        jobs[-1].append(u)
        u = after.get(u)
    latest.append(min(due[u] + len(jobs[-1]) - 1 - i for i, u in enumerate(jobs[-1])))
possible = None not in block
if possible:
    place = {u: i for part in jobs for i, u in enumerate(part)}
    before, waits = [[] for _ in jobs], [0] * len(jobs)
    for u, v in rules:
        if block[u] != block[v]:
            before[block[v]].append(block[u])
            waits[block[u]] += 1
        elif place[u] > place[v]:
            possible = False
heap = [(-latest[b], b) for b in range(len(jobs)) if possible and not waits[b]]
heapq.heapify(heap)
order, time = [], n
while heap:
    late, b = heapq.heappop(heap)
    if -late < time:
        break
    time -= len(jobs[b])
    order.extend(reversed(jobs[b]))
    for a in before[b]:
        waits[a] -= 1
        if not waits[a]:
            heapq.heappush(heap, (-latest[a], a))
print(*[u + base for u in reversed(order)] if possible and time == 0 else ["@none@"])
"""
BRUTE = """
def search(order):
    if len(order) == n:
        return order
    for u in range(n):
        last = order[-1] if order else None
        if (
            u not in order
            and len(order) < due[u]
            and all(a in order for a, b in rules if b == u)
            and all((a == last) == (b == u) for a, b in chains if last == a or b == u)
            and (found := search(order + [u]))
        ):
            return found
    return None
print(*[u + base for u in search([]) or []] or ["@none@"])
"""
# Forwards: of the jobs that may be next, the one that @key@.
GREEDY = """
order, rest = [], set(range(n))
while rest:
    ready = [u for u in rest if not any(b == u and a in rest for a, b in rules)]
    chained = [v for u, v in chains if order and u == order[-1]]
    free = [u for u in ready if not any(v == u for _, v in chains)]
    if not (chained or free):
        break
    u = chained[0] if chained else min(free, key=lambda u: (@key@, u))
    order.append(u)
    rest.discard(u)
print(*[u + base for u in order] if not rest else ["@none@"])
"""
CHECK = """
import json
import sys
test = json.load(sys.stdin)
@read@
said, expected = test["actual"].split(), test["expected"].split()
def verdict():
    if said == ["@none@"]:
        return "" if expected == said else "there is an order"
    if any(not (word.isascii() and word.isdigit() and len(word) < 8) for word in said):
        return "expected numbers of jobs, or @none@"
    order = [int(word) - base for word in said]
    if sorted(order) != list(range(n)):
        return "expected the number of every job once"
    place = {u: i for i, u in enumerate(order)}
    for u in range(n):
        if place[u] >= due[u]:
            return f"{u + base} is too late"
    for u, v in rules:
        if place[u] > place[v]:
            return f"{u + base} comes after {v + base}"
    for u, v in chains:
        if place[u] + 1 != place[v]:
            return f"{v + base} does not follow directly on {u + base}"
    return ""
wrong = verdict()
print("WA" if wrong else "AC", wrong, sep="\\n")
"""
SETTINGS = (
    Setting("A workshop restores one old car at a time, and some steps depend on others.", {"job": "step"}),
    Setting("A museum hangs the paintings of a new exhibition one by one.", {"job": "painting"}),
    Setting("A crew unloads a ship crate by crate; what stands on top has to go first.", {"job": "crate"}),
)


def _apart(known: dict[str, Any]) -> bool:
    return all(u != v for u, v in zip(known["u"], known["v"], strict=True))


def _single(known: dict[str, Any]) -> bool:
    return all(len(set(known[name])) == len(known[name]) for name in "xy") and all(
        x != y for x, y in zip(known["x"], known["y"], strict=True)
    )


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    dates, chained, size = knobs["dates"], knobs["chains"], knobs["size"]
    flags = (dates, chained)
    base, later, none = rng.below(2), rng.chance(0.5), rng.pick(("IMPOSSIBLE", "NONE", "NO", "STUCK", "-1"))
    names: dict[str, object] = {"base": base, "none": none}
    ends = ("v", "u") if later else ("u", "v")
    read = fill(READ, flags=flags, text="sys.stdin.read()", ends=", ".join(ends), **names)
    reference = read + fill(REFERENCE, **names)
    mutants = [
        swap(reference, "for u, v in rules:", "for v, u in rules:"),
        swap(reference, 'else ["@none@"]'.replace("@none@", none), "else range(base, n + base)"),
        swap(reference, "waits[a] -= 1", "waits[a] = 0"),
    ]
    if dates:
        mutants.append(swap(reference, "-late < time", "-late < time - 1"))
    if dates or chained:
        mutants.append(read + fill(GREEDY, key="due[u]", **names))

    def draw(rng: RngStream, size: int) -> str:
        n = count(rng, size, 3)
        order = [u + base for u in rng.shuffled(n)]
        place = {u: i for i, u in enumerate(order)}
        reach = rng.pick((3, 10, n))
        rules = set()
        for _ in range(between(rng, n // 2, 2 * n)):
            i = rng.below(n - 1)
            rules.add((order[i], order[min(n - 1, i + 1 + rng.below(reach))]))
        spoilt = rng.chance(0.15)
        if spoilt:
            i = rng.below(n - 1)
            rules.add((order[between(rng, i + 1, n - 1)], order[i]))
        slack = rng.pick((0, 1, 3, n))
        due = [line(min(n, place[u] + 1 + rng.below(slack + 1)) for u in range(base, n + base))] if dates else []
        links = choose(rng, range(n - 1), between(rng, 1, max(1, n // 4))) if chained else []
        pairs = [line((order[i], order[i + 1])) for i in links]
        pairs = [pairs[i] for i in rng.shuffled(len(pairs))]
        rows = [line(pair[::-1] if later else pair) for pair in sorted(rules)]
        head = [n, len(rows)] + [len(pairs)] * chained
        return page(line(head), *due, *(rows[i] for i in rng.shuffled(len(rows))), *pairs)

    ring = ["3 3 3"] * dates + [f"{base} {base + 1}", f"{base + 1} {base}"]
    head = line(["n", "m"] + ["k"] * chained)
    asked = fill(READ, flags=flags, text='test["stdin"]', ends=", ".join(ends), **names)
    return Problem(
        title="One after the other",
        statement=tell(
            rng,
            (
                f"There are n jobs, numbered from {base}. They are done one after the other, each of them once, in an "
                "order that keeps these rules:",
                bullets(
                    f"For each of m pairs u, v, job u comes somewhere {'after' if later else 'before'} job v.",
                    when(chained, "For each of k pairs x, y, job y comes directly after job x."),
                    when(dates, "Every job i is one of the first d_i jobs."),
                ),
                "Find such an order. If there are several, any of them is right.",
            ),
            SETTINGS,
            reads=f"The first line contains the integers {', '.join(head.split())}.\n"
            + when(dates, "The next line contains n integers d_i, in the order of the jobs' numbers.\n")
            + "Each of the next m lines contains two integers u and v."
            + when(chained, "\nEach of the next k lines contains two integers x and y."),
            prints=f"One line with the n numbers in the order found, or {none} if there is no such order.",
            input=Input(
                Line(head),
                *([Row("d_i", "n")] if dates else []),
                Lines("m", "u v"),
                *([Lines("k", "x y")] if chained else []),
                f"3 <= n <= {size}",
                f"0 <= m <= {2 * size + 1}",
                *([f"0 <= k <= {size}"] if chained else []),
                *(["1 <= d_i <= n"] if dates else []),
                f"{base} <= u, v <= n{when(not base, ' - 1')}",
                Whole("u and v of a line differ", _apart),
                *([f"{base} <= x, y <= n{when(not base, ' - 1')}"] if chained else []),
                *([Whole("x and y of a line differ; no number is x twice, and none is y twice", _single)] * chained),
            ),
        ),
        reference=reference,
        brute=read + fill(BRUTE, **names),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(size, 7)),
        full=lambda rng: draw(rng, size),
        edges=(
            page("3 2" + " 0" * chained, *ring),
            *[page("3 0 2", *ring), page("3 1 1", *ring[:-1], ring[-1 - later])] * chained,
        ),
        checker={"kind": "python", "source": fill(CHECK, read=asked.rstrip(), **names)},
    )


FAMILY = Family(
    "orders",
    "Orders of jobs under precedence, deadlines and chains, of which any is right that a checker accepts.",
    (Knob("size", (6, 60, 2000)), Knob("dates", OFF_ON), Knob("chains", OFF_ON)),
    _make,
)
