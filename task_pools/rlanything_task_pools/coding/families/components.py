"""Family: groups of people linked by friendships that begin or end, and questions about the groups."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.parts import (
    OFF_ON,
    between,
    choose,
    dispatch,
    line,
    page,
    retell,
    statement,
    swap,
    when,
)
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.dice import Dice

# Per question: arguments, text, the reference's answer on a union-find, and the brute force's on sets of people.
YES = '"YES" if {} else "NO"'
QUESTIONS = {
    "same": (
        " a b",
        "print YES if a and b are in one group, else NO",
        YES.format("find(x[0]) == find(x[1])"),
        YES.format("x[1] in group(x[0])"),
    ),
    "size": (" a", "print the number of people in the group of a", "size[find(x[0])]", "len(group(x[0]))"),
    "count": ("", "print the number of groups", "groups", "len({min(group(i)) for i in people})"),
    "least": (" a", "print the smallest number in the group of a", "least[find(x[0])]", "min(group(x[0]))"),
    "most": ("", "print the number of people in the largest group", "most", "max(len(group(i)) for i in people)"),
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


def _make(dice: Dice, knobs: Mapping[str, Any]) -> Problem:
    questions, ends, size = choose(dice, list(QUESTIONS), knobs["questions"]), knobs["ends"], knobs["size"]

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
    mutants = [swap(reference, *wrong[op]) for op in questions[-2:]]
    mutants.append(swap(reference, "a, b = find(a), find(b)", "b = find(b)"))
    mutants.append(swap(reference, "enumerate(pairs, 1)", "enumerate(pairs[:0], 1)"))
    if ends:
        mutants.append(swap(reference, "reversed(events)", "events", "reversed(answers)", "answers"))
    task = (
        "There are n people, numbered from 1, and m friendships at the start.",
        "Two people are in one group if a chain of friendships joins them; a person without any is a group of one.",
        "There are q events:",
        "end i: the i-th friendship of the start ends" if ends else "join a b: a friendship of a and b begins",
        *(f"{op}{QUESTIONS[op][0]}: {QUESTIONS[op][1]}" for op in questions),
        f"There may be several friendships of the same two people{', and each ends on its own' if ends else ''}.",
    )

    def draw(dice: Dice, n: int) -> str:
        n, q = between(dice, max(2, n // 2), n), between(dice, max(2, n // 2), n)
        spread = dice.pick((2, n))
        pairs = []
        for _ in range(between(dice, 1, n) if ends else between(dice, 1, n // 2)):
            a = between(dice, 1, n)
            b = 1 + (a - 1 + between(dice, 1, min(spread, n - 1))) % n
            pairs.append(line((a, b)))
        left, rows = dice.shuffled(len(pairs)), []
        for i in range(q):
            people = [between(dice, 1, n), between(dice, 1, n)]
            if dice.chance(0.5) and i < q - 1 and (left or not ends):
                a, b = people[0], 1 + (people[0] - 1 + between(dice, 1, min(spread, n - 1))) % n
                rows.append(f"end {left.pop() + 1}" if ends else f"join {a} {b}")
            else:
                op = dice.pick(questions)
                rows.append(line([op, *people[: len(QUESTIONS[op][0].split())]]))
        return page(line((n, len(pairs), q)), *pairs, *rows)

    text = statement(
        task,
        (
            "The first line: n, m and q. Then m lines with the two people of a friendship each.",
            "Then q lines with an event each; one of them at least prints something.",
            when(ends, "No friendship ends twice."),
        ),
        "One line for each event that prints something.",
        (f"2 <= n <= {size}; 1 <= m <= n; 1 <= q <= n; the two people of a friendship differ",),
    )
    return Problem(
        title="Groups",
        statement=retell(
            dice,
            text,
            "people person friendship group",
            "computers computer cable network",
            "villages village road region",
            "islands island ferry archipelago",
            "rooms room door wing",
        ),
        reference=reference,
        brute=fill(READ) + fill(BRUTE, answers=answers(3)),
        mutants=tuple(mutants),
        small=lambda dice: draw(dice, 7),
        full=lambda dice: draw(dice, size),
        edges=(page("2 1 1", "2 1", line([questions[0], 2, 1][: 1 + len(QUESTIONS[questions[0]][0].split())])),),
    )


FAMILY = Family(
    "components",
    "Groups in a network whose links begin or end.",
    (Knob("size", (8, 60, 500, 3000)), Knob("questions", (1, 2, 4)), Knob("ends", OFF_ON)),
    _make,
)
