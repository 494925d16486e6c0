"""Family: the best subsequence of one sequence, or of two, under rules for neighbours in it."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Row
from rlanything_task_pools.coding.parts import between, count, integers, line, page, several, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Rules for a number y at place j chosen next after a number x at place i: text, code, wrong code.
ORDERS = (
    ("y is larger than x", "x < y", "x <= y"),
    ("y is smaller than x", "x > y", "x >= y"),
    ("y is not smaller than x", "x <= y", "x < y"),
    ("y is not larger than x", "x >= y", "x > y"),
)
RULES = (
    ("x and y differ by at most @k@", "abs(x - y) <= @k@", "abs(x - y) < @k@"),
    ("exactly one of x and y is even", "(x + y) % 2 == 1", "(x + y) % 2 == 0"),
    ("at most @gaps@@of@ between x and y @are@ left out", "j - i <= @gap@ + 1", "j - i <= @gap@"),
    ("at least one number@of@ between x and y is left out", "j - i > 1", "j - i > 2"),
    ("x + y is not divisible by @m@", "(x + y) % @m@ != 0", "(x + y) % @m@ < 2"),
)

REFERENCE = """
input()
a = list(map(int, input().split()))
b = @second@
best = [0] * len(b)
for p, y in enumerate(a):
    for j in reversed(range(len(b))):
        if b[j] == y and @same@:
            top = 0
            for i in range(j):
                x = b[i]
                if best[i] > top and @rule@:
                    top = best[i]
            best[j] = max(best[j], top + @gain@)
print(max(best))
"""
BRUTE = """
import itertools
input()
a = list(map(int, input().split()))
b = @second@
top = 0
for n in range(1, len(b) + 1):
    for places in itertools.combinations(range(len(b)), n):
        chosen, rest = [b[i] for i in places], iter(a)
        if all(x in rest for x in chosen):
            if all(@rule@ for i, j in zip(places, places[1:]) for x, y in [(b[i], b[j])]):
                top = max(top, @goal@)
print(top)
"""


SETTINGS = (
    Setting("A composer looks for hidden melodies. She writes notes as numbers."),
    Setting("A hiker plans her way along a chain of huts and notes a number for each."),
    Setting("A puzzle magazine prints rows of numbers and asks its readers to cross out some of them."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    two, size, sums, top = (
        knobs["sequences"] == 2,
        knobs["size"],
        rng.chance(0.5),
        knobs["size"] // (8 if knobs["sequences"] == 2 else 2) + between(rng, 4, 6),
    )
    gap, names = between(rng, 1, 3), {"k": rng.pick((3, 5)), "m": between(rng, 3, 5)}
    picked = [rng.pick(ORDERS), *(RULES[i] for i in rng.shuffled(len(RULES))[: knobs["rules"] - 1])]
    rules = [
        [
            fill(
                part, **names, gap=gap, gaps=several(gap, "number"), are="is" if gap == 1 else "are", of=" of b" * two
            ).strip()
            for part in rule
        ]
        for rule in picked
    ]
    rule = " and ".join(code for _, code, _ in rules)
    second = "list(map(int, input().split()))" if two else "a"
    reference = fill(REFERENCE, second=second, same="True" if two else "p == j", rule=rule, gain="y" if sums else "1")
    if RULES[1] in picked:  # no equal neighbours, so that ties in the order make no difference
        rules[0][2] = "True"
    mutants = [
        *(swap(reference, rule, rule.replace(code, wrong)) for _, code, wrong in rules),
        swap(reference, "print(max(best))", "print(best[-1])"),
        *([swap(reference, "best[i] > top and ", "")] if len(rules) == 1 else []),
    ]
    both = "a and b" if two else "a"
    task = (
        f"You are given {'two sequences a and b' if two else 'a sequence a'} of integers. Choose some of the numbers "
        f"of {'b' if two else 'a'} and keep them in their order."
        + when(
            two,
            " The chosen numbers must be found in a as well: the same numbers in the same order, but not "
            "necessarily next to each other.",
        ),
        "For every two numbers x and y that follow one another among the chosen ones, x before y, this must hold:\n"
        + bullets(*(f"{text}{'.' if text == rules[-1][0] else ';'}" for text, _, _ in rules)),
        f"Print the largest possible {'sum' if sums else 'number'} of chosen numbers. A single number can always be "
        f"chosen{when(two, ' if it is in both sequences; if no number can be chosen, print 0')}.",
    )

    def draw(rng: RngStream, size: int) -> str:
        sizes = [count(rng, size) for _ in range(1 + two)]
        return page(line(sizes), *(line(integers(rng, n, 1, top)) for n in sizes))

    return Problem(
        title="Common choice" if two else "Best choice in order",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads=f"The first line contains {'integers n and m, the lengths' if two else 'an integer n, the length'}"
            f" of {both}.\nThe second line contains n integers a_1, ..., a_n."
            + when(two, "\nThe third line contains m integers b_1, ..., b_m."),
            prints="One integer.",
            input=Input(
                Line("n m" if two else "n"),
                Row("a_i", "n"),
                *([Row("b_i", "m")] * two),
                f"1 <= {'n, m' if two else 'n'} <= {size}",
                f"1 <= a_i <= {top}",
                *([f"1 <= b_i <= {top}"] * two),
            ),
        ),
        reference=reference,
        brute=fill(BRUTE, second=second, rule=rule, goal="sum(chosen)" if sums else "n"),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 8),
        full=lambda rng: draw(rng, size),
        edges=(page(*(["1 1", 3, 3] if two else [1, 3])), page(*(["2 3", "4 4", "4 5 4"] if two else [3, "4 4 5"]))),
    )


FAMILY = Family(
    "subsequences",
    "The best subsequence of one or two sequences under rules.",
    (Knob("size", (8, 40, 150)), Knob("sequences", (1, 2)), Knob("rules", (1, 2, 3))),
    _make,
)
