"""Family: groups of people linked by friendships that begin or end, and questions about the groups."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, dispatch, line, page, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Per question: arguments, text, the reference's answer on a union-find, and the brute force's on sets of people.
YES = '"YES" if {} else "NO"'
QUESTIONS = {
    "same": (
        " a b",
        "print YES if the nodes a and b are in the same group, otherwise NO",
        YES.format("find(x[0]) == find(x[1])"),
        YES.format("x[1] in group(x[0])"),
    ),
    "size": (" a", "print the number of nodes in the group of node a", "size[find(x[0])]", "len(group(x[0]))"),
    "count": ("", "print the number of groups", "groups", "len({min(group(i)) for i in people})"),
    "least": (
        " a",
        "print the smallest number of a node in the group of node a",
        "least[find(x[0])]",
        "min(group(x[0]))",
    ),
    "most": ("", "print the number of nodes in the largest group", "most", "max(len(group(i)) for i in people)"),
}

READ = """
import sys
rows = [row.split() for row in sys.stdin.read().splitlines()]
n, m, q = map(int, rows[0])
pairs = [tuple(map(int, row)) for row in rows[1 : m + 1]]
events = [(row[0], [int(x) for x in row[1:]]) for row in rows[m + 1 : m + q + 1]]
"""

REFERENCE = """
parent = list(range(n + 1))
least = list(range(n + 1))
size = [1] * (n + 1)
groups, most = n, 1
def find(a):
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a
def join(a, b):
    global groups, most
    a, b = find(a), find(b)
    if a == b:
        return
    if size[a] > size[b]:
        a, b = b, a
    parent[a] = b
    size[b] += size[a]
    least[b] = min(least[a], least[b])
    groups -= 1
    most = max(most, size[b])
ended = {x[0] for op, x in events if op == "end"}
for i, (a, b) in enumerate(pairs, 1):
    if i not in ended:
        join(a, b)
@order@
"""
FORWARD = """
for op, x in events:
    if op == "join":
        join(*x)
    @answers@
"""
BACKWARD = """
answers, print_now = [], print
print = answers.append
for op, x in reversed(events):
    if op == "end":
        join(*pairs[x[0] - 1])
    @answers@
print_now(*reversed(answers), sep="\\n")
"""

BRUTE = """
people = range(1, n + 1)
now = list(pairs)
def group(a):
    found, fresh = {a}, [a]
    while fresh:
        a = fresh.pop()
        for u, v in now:
            for b in (v,) * (u == a) + (u,) * (v == a):
                if b not in found:
                    found.add(b)
                    fresh.append(b)
    return found
for op, x in events:
    if op == "join":
        now.append(tuple(x))
    if op == "end":
        now[x[0] - 1] = 0, 0
    @answers@
"""


SETTINGS = (
    Setting(
        "After a hard winter the provinces of a kingdom count which of their villages can still visit each other.",
        {"node": "village", "link": "road", "group": "region"},
    ),
    Setting(
        "A firm looks after many computers, and its cables are always being moved.",
        {"node": "computer", "link": "cable", "group": "network"},
    ),
    Setting(
        "The guests of a castle want to know how far they may walk without stepping outside.",
        {"node": "room", "link": "door", "group": "wing"},
    ),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    questions, ends, size = choose(rng, list(QUESTIONS), knobs["questions"]), knobs["ends"], knobs["size"]

    def answers(column: int) -> str:
        return dispatch({op: f"print({QUESTIONS[op][column]})" for op in questions})

    order = fill(BACKWARD if ends else FORWARD, answers=answers(2))
    reference = fill(READ) + fill(REFERENCE, order=order)
    wrong = {
        "same": ("if size[a] > size[b]:\n        a, b = b, a", "if size[a] > size[b]:\n        return"),
        "size": ("size[b] += size[a]", "size[b] += 1"),
        "count": ("    if a == b:\n        return\n", ""),
        "least": ("least[b] = min(least[a], least[b])", "pass"),
        "most": ("most = max(most, size[b])", "most = size[b]"),
    }
    mutants = [swap(reference, *wrong[op]) for op in questions]
    mutants.append(swap(reference, "a, b = find(a), find(b)", "b = find(b)"))
    mutants.append(swap(reference, "enumerate(pairs, 1)", "enumerate(pairs[:0], 1)"))
    if ends:
        mutants.append(swap(reference, "reversed(events)", "events", "reversed(answers)", "answers"))
    task = (
        "There are n nodes, numbered from 1 to n, and at the start m links, numbered from 1 to m. A link joins two "
        "different nodes, and several links may join the same two. Two nodes are in the same group if one can be "
        "reached from the other along links; a node without links is a group of its own.",
        "Then q events happen, one after the other:\n"
        + bullets(
            "end i: link i is removed." if ends else "join u v: a new link joins the nodes u and v.",
            *(f"{op}{QUESTIONS[op][0]}: {QUESTIONS[op][1]}." for op in questions),
        ),
    )
    commands = {"end": "i"} if ends else {"join": "u v"}
    commands |= {op: QUESTIONS[op][0].strip() for op in questions}
    named = [name for name in "ab" if any(name in names.split() for names in commands.values())]

    def draw(rng: RngStream, n: int) -> str:
        n, q = between(rng, max(2, n // 2), n), between(rng, max(2, n // 2), n)
        spread = rng.pick((2, n))
        pairs = []
        for _ in range(between(rng, 1, n) if ends else between(rng, 1, n // 2)):
            a = between(rng, 1, n)
            b = 1 + (a - 1 + between(rng, 1, min(spread, n - 1))) % n
            pairs.append(line((a, b)))
        left, rows = rng.shuffled(len(pairs)), []
        for i in range(q):
            people = [between(rng, 1, n), between(rng, 1, n)]
            if rng.chance(0.5) and i < q - 1 and (left or not ends):
                a, b = people[0], 1 + (people[0] - 1 + between(rng, 1, min(spread, n - 1))) % n
                rows.append(f"end {left.pop() + 1}" if ends else f"join {a} {b}")
            else:
                op = rng.pick(questions)
                rows.append(line([op, *people[: len(QUESTIONS[op][0].split())]]))
        return page(line((n, len(pairs), q)), *pairs, *rows)

    return Problem(
        title="Groups",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains three integers n, m and q.\n"
            "The next m lines contain two integers u and v each: line i of them has the two ends of number i.\n"
            "Each of the next q lines contains an event as written above.",
            prints="One line for each event that prints something, in the order of the events.",
            input=Input(
                Line("n m q"),
                Lines("m", "u v"),
                Lines("q", commands),
                f"2 <= n <= {size}",
                "1 <= m <= n",
                f"1 <= q <= {size}",
                "1 <= u, v <= n",
                Limit("u and v differ", lambda u, v: u != v),
                *([f"1 <= {', '.join(named)} <= n"] if named else []),
                *(["1 <= i <= m"] * ends),
                *([Whole("no i occurs twice", lambda v: len(set(v["i"])) == len(v["i"]))] * ends),
                Whole("at least one event prints something", lambda v: any(op in questions for op in v["op"])),
            ),
        ),
        reference=reference,
        brute=fill(READ) + fill(BRUTE, answers=answers(3)),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 7),
        full=lambda rng: draw(rng, size),
        edges=(page("2 1 1", "2 1", line([questions[0], 2, 1][: 1 + len(QUESTIONS[questions[0]][0].split())])),),
    )


FAMILY = Family(
    "components",
    "Groups in a network whose links begin or end.",
    (Knob("size", (8, 60, 500, 3000)), Knob("questions", (1, 2, 4)), Knob("ends", OFF_ON)),
    _make,
)
