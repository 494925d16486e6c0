"""Family: evaluate expressions with operators of made-up precedence and direction."""

import re
from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Per operator: text, and the Python of the reference and of the brute force.
OPERATORS = {
    "+": ("the sum of a and b", "a + b", "b + a"),
    "-": ("a minus b", "a - b", "-(b - a)"),
    "*": ("the product of a and b", "a * b", "b * a"),
    "#": ("the distance between a and b, that is |a - b|", "abs(a - b)", "max(a, b) - min(a, b)"),
    "&": ("the larger of a and b", "max(a, b)", "a if a > b else b"),
    "?": ("twice a plus b", "2 * a + b", "a + a + b"),
    "!": ("three times a minus b", "3 * a - b", "a - b + 2 * a"),
}

REFERENCE = """
RANK = @rank@
RIGHT = @right@
def apply(op, a, b):
    @rules@
def parse(tokens, lowest):
    token = tokens.pop()
    if token == "(":
        value = parse(tokens, 0)
        tokens.pop()
    else:
        value = int(token)
    while tokens and tokens[-1] != ")" and RANK[tokens[-1]] >= lowest:
        op = tokens.pop()
        value = apply(op, value, parse(tokens, RANK[op] + (RANK[op] != RIGHT)))
    return value
for _ in range(int(input())):
    text = "".join(c if c.isdigit() else f" {c} " for c in input())
    print(parse(text.split()[::-1], 0))
"""

BRUTE = """
RULES = {@rules@}
RANK = @rank@
def value(text):
    depth, cut = 0, None
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c in RANK and depth == 0:
            if cut is None or RANK[c] < RANK[text[cut]] or RANK[c] == RANK[text[cut]] != @right@:
                cut = i
    if cut is not None:
        return RULES[text[cut]](value(text[:cut]), value(text[cut + 1 :])) % @modulus@
    return value(text[1:-1]) if text[0] == "(" else int(text)
for _ in range(int(input())):
    print(value(input().strip()))
"""


SETTINGS = (
    Setting("On a flea market you have bought a pocket calculator. It works, but not as its keys suggest."),
    Setting("An island teaches its own arithmetic in school, and your cousin needs help with the homework."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    others = choose(rng, [op for op in OPERATORS if op != "-"], knobs["operators"] - 1)
    ops = [op for op in OPERATORS if op in ("-", *others)]
    modulus, levels = rng.pick((100, 997, 10007)), knobs["levels"]
    rank = {op: 1 + i % levels for op, i in zip(ops, rng.shuffled(len(ops)), strict=True)}
    right = rank["-"] if knobs["right"] else 0
    rules = "\n".join(f'if op == "{op}":\n    return ({OPERATORS[op][1]}) % {modulus}' for op in ops)
    reference = fill(REFERENCE, rank=rank, right=right, rules=rules)
    other_rank = {op: 1 if levels > 1 else 1 + i for i, op in enumerate(ops)}
    classes = [[op for op in ops if rank[op] == r] for r in range(levels, 0, -1)]
    ways = [
        f"{' '.join(group)} (from {'right to left' if rank[group[0]] == right else 'left to right'})"
        for group in classes
    ]
    brackets, most = knobs["brackets"], knobs["size"]
    task = (
        f"An expression is made of integers{', ' * brackets}{'round brackets' * brackets} and these operators, each "
        "between a left value a and a right value b:\n" + bullets(*(f"a {op} b is {OPERATORS[op][0]}." for op in ops)),
        f"The result of every operation is replaced by its remainder modulo {modulus}, which is always from 0 to "
        f"{modulus - 1}, for a negative result too.",
        (
            f"The operators that bind tightest come first: {', then '.join(ways)}. In brackets stands the direction in "
            "which operators that bind equally tightly are evaluated."
            if levels > 1
            else f"All operators bind equally tightly and are evaluated {ways[0].split('(')[1][:-1]}."
        )
        + when(brackets, " Parts of the expression in round brackets are evaluated on their own first."),
        "Print the value of each of t expressions.",
    )

    def numbers(text: str) -> int:
        found, depth, operand = 0, 0, True
        for token in re.findall(r"\d+|\D", text):
            if operand and token.isascii() and token.isdigit() and len(token) <= 2 and token == str(int(token)):
                found, operand = found + 1, False
            elif token == "(" and operand and brackets:
                depth += 1
            elif token == ")" and not operand and depth:
                depth -= 1
            elif token in ops and not operand:
                operand = True
            else:
                raise ValueError(f"{text!r:.40} is not an expression, because of {token!r:.10}")
        if operand or depth:
            raise ValueError(f"{text!r:.40} is not complete")
        return found

    def expression(rng: RngStream, n: int, depth: int) -> str:
        if n == 1 or (brackets and depth < 20 and n < 4 and rng.chance(0.1)):
            inner = str(rng.below(100 if rng.chance(0.5) else 10)) if n == 1 else expression(rng, n, depth + 1)
            return f"({inner})" if brackets and depth < 20 and rng.chance(0.1) else inner
        cut = between(rng, 1, n - 1)
        text = expression(rng, cut, depth + 1) + rng.pick(ops) + expression(rng, n - cut, depth + 1)
        return f"({text})" if brackets and 0 < depth < 20 and rng.chance(0.4) else text

    def draw(rng: RngStream, lines: int, n: int) -> str:
        lines = count(rng, lines)
        return page(lines, *(expression(rng, count(rng, n), 0) for _ in range(lines)))

    return Problem(
        title="A strange calculator",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of expressions.\n"
            "Each of the next t lines contains an expression without blanks.",
            prints="t lines, the values of the expressions in the order of the input.",
            input=Input(
                Line("t"),
                Lines("t", "expression", expression=numbers),
                "1 <= t <= 10",
                Limit(f"an expression has from 1 to {most} integers", lambda expression: expression <= most),
                Limit("the integers are from 0 to 99, without signs", lambda expression: True),
            ),
        ),
        reference=reference,
        brute=fill(
            BRUTE,
            rank=rank,
            right=right,
            modulus=modulus,
            rules=", ".join(f'"{op}": lambda a, b: {OPERATORS[op][2]}' for op in ops),
        ),
        mutants=(
            swap(reference, f"RIGHT = {right}", f"RIGHT = {0 if right else rank['-']}"),
            swap(reference, str(rank), str(other_rank)),
            swap(reference, "(a - b) % ", "(b - a) % "),
            swap(reference, "(a - b) % ", "abs(a - b) % "),
        ),
        small=lambda rng: draw(rng, 4, 5),
        full=lambda rng: draw(rng, 10, knobs["size"]),
        edges=(page(2, "7", "0-1"), page(1, "9-4-3")),
    )


FAMILY = Family(
    "expressions",
    "Evaluate expressions with made-up precedence.",
    (
        Knob("size", (5, 20, 100)),
        Knob("operators", (3, 4, 6)),
        Knob("levels", (1, 2, 3)),
        Knob("brackets", OFF_ON),
        Knob("right", OFF_ON),
    ),
    _make,
)
