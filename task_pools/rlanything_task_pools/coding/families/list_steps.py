"""Family for beginners: a few steps on a list of integers, then one result."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Row
from rlanything_task_pools.coding.parts import between, count, integers, line, page, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

# The change of a step, its text, the reference's new list, what the brute force does with every number x of the old
# list (the i-th from 0) to make the new list b, and a slip in the reference: a piece of it and a wrong one.
STEPS = """
choice | Keep only the even numbers. | [x for x in a if x % 2 == 0] | if not x & 1: b.append(x) | == | !=
choice | Keep only the odd numbers. | [x for x in a if x % 2 != 0] | if x & 1: b.append(x) | x % 2 != 0 | x > 0
choice | Keep only numbers above @k@. | [x for x in a if x > @k@] | if not x <= @k@: b.append(x) | > | >=
choice | Keep only numbers up to @k@. | [x for x in a if x <= @k@] | if not x > @k@: b.append(x) | <= | <
choice | Keep the 1st, 3rd, 5th number and so on. | a[::2] | if i % 2 == 0: b.append(x) | :: | 1::
choice | Keep the 2nd, 4th, 6th number and so on. | a[1::2] | if i % 2 == 1: b.append(x) | 1:: | ::
choice | Keep the first @n@ numbers (all if fewer). | a[:@n@] | if i < @n@: b.append(x) | :@n@ | :@n@ - 1
choice | Remove the first @n@ numbers (all if fewer). | a[@n@:] | if i >= @n@: b.append(x) | @n@: | @n@ + 1:
choice | Remove copies of earlier numbers. | list(dict.fromkeys(a)) | if x not in b: b.append(x) | dict.fromkeys(a) | a
choice | Remove multiples of @k@. | [x for x in a if x % @k@] | if x // @k@ * @k@ != x: b.append(x) | if | if not
value | Add @k@ to every number. | [x + @k@ for x in a] | b.append(x - (-@k@)) | + | -
value | Multiply every number by @k@. | [x * @k@ for x in a] | b.append(sum([x] * @k@)) | * | +
value | Replace every number by its square. | [x * x for x in a] | b.append(abs(x) ** 2) | * | +
value | Replace every number x by @k@ - x. | [@k@ - x for x in a] | b.append(-(x - @k@)) | @k@ - x | x - @k@
value | Double the negative numbers. | [x * 2 if x < 0 else x for x in a] | b.append(x + min(x, 0)) | x < 0 | x > 0
value | Replace negative numbers by 0. | [max(x, 0) for x in a] | b.append(x * (x > 0)) | max(x, 0) | abs(x)
value | Add 1 to the 1st, 2 to the 2nd and so on. | [x + i for i, x in enumerate(a, 1)] | b.append(x + i + 1) | , 1 |
value | Add to each number the sum of all before it. | list(accumulate(a)) | b.append(sum(a[:i], x)) | accumulate(a) | a
order | Reverse the order. | a[::-1] | b.insert(0, x) | [::-1] | [::]
order | Sort in increasing order. | sorted(a) | b.insert(sum(y <= x for y in b), x) | a) | a, key=str)
order | Sort in decreasing order. | sorted(a)[::-1] | b.insert(sum(y > x for y in b), x) | [::-1] |
order | Move the first number to the end. | a[1:] + a[:1] | b.insert(max(0, i - 1), x) | a[1:] + a[:1] | a[-1:] + a[:-1]
"""
# For which last steps, the text, the reference's and the brute force's expression, and a wrong one.
RESULTS = """
choice value order | Print them, or EMPTY if none is left. | *a or ["EMPTY"] | ' '.join(map(str, a)) or 'EMPTY' | *a[1:]
choice value | Print the sum of the numbers, 0 if none is left. | sum(a) | -sum(-x for x in a) | sum(a[1:])
choice | Print how many numbers are left. | len(a) | sum(1 for x in a) | len(a) - 1
"""

REFERENCE = """
from itertools import accumulate
n = int(input())
a = list(map(int, input().split()))
@steps@
print(@result@)
"""
BRUTE = """
input()
a = [int(word) for word in input().split()]
@steps@
print(@result@)
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]


SETTINGS = (
    Setting("A tired teaching assistant has to prepare the marks of a class for the notice board."),
    Setting("A weather station keeps its measurements on paper, and a student has to bring them into shape."),
    Setting("A magician writes numbers on a blackboard and asks the audience to help."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    size, far = knobs["size"], rng.pick((9, 20, 100))
    steps: list[list[str]] = []
    for _ in range(knobs["steps"]):
        ordered = any(step[0] == "order" for step in steps)  # a second new order would hide the first
        kind = rng.pick(("choice", "value") if ordered else ("choice", "value", "order"))
        used = [step[2] for step in steps]
        numbers = {"k": between(rng, 2, 9), "n": between(rng, 2, 4)}
        rows = [[fill(cell, **numbers).strip() for cell in row] for row in _rows(STEPS) if row[0] == kind]
        steps.append(rng.pick([row for row in rows if row[2] not in used]))
    _, text, result, brute_result, wrong = rng.pick([row for row in _rows(RESULTS) if steps[-1][0] in row[0]])
    codes = [f"a = {code}" for _, _, code, *_ in steps]
    reference = fill(REFERENCE, steps="\n".join(codes), result=result)
    brute = "\n".join(f"b = []\nfor i, x in enumerate(a):\n    {code}\na = b" for *_, code, _, _ in steps)
    last, (old, new) = codes[-1], steps[-1][4:]
    task = ("Given a list of n integers, do the following.\n" + "\n".join([*(step[1] for step in steps), text]),)

    def draw(rng: RngStream, size: int) -> str:
        n = count(rng, size, min(size, 4))
        low = rng.pick((-far, -far, 0))
        pool = integers(rng, max(2, n // 2), low, far)
        numbers = [rng.pick(pool) if rng.chance(0.3) else between(rng, low, far) for _ in range(n)]
        return page(n, line(numbers))

    return Problem(
        title="Steps on a list",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer n.\nThe second line contains n integers a_1, ..., a_n, the list.",
            prints="One line"
            + (" with the numbers, separated by blanks." if result.startswith("*") else " with one integer."),
            input=Input(Line("n"), Row("a_i", "n"), f"1 <= n <= {size}", f"{-far} <= a_i <= {far}"),
        ),
        reference=reference,
        brute=fill(BRUTE, steps=brute, result=brute_result),
        mutants=(
            swap(reference, f"{last}\nprint", f"{swap(last, old, new)}\nprint"),
            swap(reference, f"{last}\nprint", "print"),
            swap(reference, f"print({result})", f"print({wrong})"),
        ),
        small=lambda rng: draw(rng, 8),
        full=lambda rng: draw(rng, size),
        edges=(page(1, 4), page(2, "-3 -3")),
    )


FAMILY = Family(
    "list_steps",
    "A few simple steps on a list of integers.",
    (Knob("size", (8, 40, 200)), Knob("steps", (1, 2, 3, 4))),
    _make,
)
