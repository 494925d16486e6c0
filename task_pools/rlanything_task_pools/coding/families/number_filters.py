"""Numbers of a range that have all of some properties: how many, their sum, or the largest."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

BOUNDS = (200, 2000, 8000, 40_000)
QUERIES = (3, 30, 1000)
SMALL = 200

STORIES = (
    ("Locker numbers", "The lockers of a bank carry the numbers 1, 2, 3, ..., and some are made of gold.", "golden"),
    ("Lucky tickets", "The tickets of a tram carry the numbers 1, 2, 3, ..., and some of them are lucky.", "lucky"),
    ("Marked milestones", "The milestones of a road carry the numbers 1, 2, 3, ..., and some are marked.", "marked"),
    ("The picky collector", "A collector looks at the house numbers 1, 2, 3, ... and is very picky.", "pretty"),
    ("Open doors", "The doors of a long corridor carry the numbers 1, 2, 3, ..., and some are open.", "open"),
)


@dataclass(frozen=True)
class _Property:
    """A property of x: in words, by the tables of the sieve, by trial of all candidates, and done wrong."""

    text: str
    code: str
    trial: str
    wrong: str


def _properties(rng: RngStream) -> tuple[list[_Property], list[_Property]]:
    """Properties of the prime factorisation, and others that do not follow from them."""
    count, primes, parity = rng.pick((4, 6, 8)), rng.pick((1, 2)), rng.below(2)
    modulus, digit, base = rng.pick((6, 10, 12, 15, 35)), rng.pick((2, 4, 7)), rng.pick((3, 4, 5, 7))
    rest = rng.below(base)
    factorisation = [
        _Property(
            f"it has exactly {count} positive divisors",
            f"divisors[x] == {count}",
            f"sum(x % d == 0 for d in range(1, x + 1)) == {count}",
            f"divisors[x] == {count + 1}",
        ),
        _Property(
            f"it is divisible by exactly {primes} different prime{'s' if primes > 1 else ''}",
            f"distinct[x] == {primes}",
            f"len(set(factors(x))) == {primes}",
            f"total[x] == {primes}",
        ),
        _Property(
            f"the number of primes in its prime factorisation, each counted as often as it occurs, is "
            f"{'odd' if parity else 'even'} (the number 1 has none of them, and 0 is even)",
            f"total[x] % 2 == {parity}",
            f"len(factors(x)) % 2 == {parity}",
            f"distinct[x] % 2 == {parity}",
        ),
        _Property(
            "no square of an integer above 1 divides it",
            "total[x] == distinct[x]",
            "all(x % (d * d) for d in range(2, x + 1))",
            "total[x] <= distinct[x] + 1",
        ),
    ]
    others = [
        _Property(
            f"it has no divisor above 1 in common with {modulus}",
            f"gcd(x, {modulus}) == 1",
            f"not any(x % d == 0 and {modulus} % d == 0 for d in range(2, {modulus + 1}))",
            f"x % {modulus} != 0",
        ),
        _Property(
            f"the sum of its decimal digits is divisible by {digit}",
            f"sum(map(int, str(x))) % {digit} == 0",
            f"digit_sum(x) % {digit} == 0",
            f"x % {digit} == 0",
        ),
        _Property(
            f"it leaves the remainder {rest} when divided by {base}",
            f"x % {base} == {rest}",
            f"x - x // {base} * {base} == {rest}",
            f"x % {base} >= {rest}" if rest < base - 1 else f"x % {base} == 0",
        ),
    ]
    return factorisation, others


REFERENCE = """
import sys
from bisect import bisect_right
from itertools import accumulate
from math import gcd

data = list(map(int, sys.stdin.read().split()))
queries = list(zip(data[1::2], data[2::2]))
bound = max(high for _, high in queries)
first = list(range(bound + 1))
for p in range(2, int(bound**0.5) + 1):
    if first[p] == p:
        for x in range(p * p, bound + 1, p):
            if first[x] == x:
                first[x] = p
divisors, distinct, total, power = [1] * (bound + 1), [0] * (bound + 1), [0] * (bound + 1), [0] * (bound + 1)
for x in range(2, bound + 1):
    p = first[x]
    rest = x // p
    same = first[rest] == p and rest > 1
    power[x] = power[rest] + 1 if same else 1
    divisors[x] = divisors[rest] // power[x] * (power[x] + 1) if same else divisors[rest] * 2
    distinct[x] = distinct[rest] + (not same)
    total[x] = total[rest] + 1
good = [x > 0 and @test@ for x in range(bound + 1)]
@table@
for low, high in queries:
    print(@answer@)
"""

BRUTE = """
def factors(x):
    found = []
    for d in range(2, x + 1):
        while x % d == 0:
            x //= d
            found.append(d)
    return found


def digit_sum(x):
    return x % 10 + digit_sum(x // 10) if x else 0


for _ in range(int(input())):
    low, high = map(int, input().split())
    chosen = [x for x in range(low, high + 1) if @test@]
    print(@answer@)
"""

ASKS = {
    "count": (
        "how many integers x with l <= x <= r are good",
        "sums = list(accumulate(good))",
        "sums[high] - sums[low - 1]",
        "len(chosen)",
    ),
    "sum": (
        "the sum of the good integers x with l <= x <= r, 0 if there is none",
        "sums = list(accumulate(x * ok for x, ok in enumerate(good)))",
        "sums[high] - sums[low - 1]",
        "sum(chosen)",
    ),
    "largest": (
        "the largest good integer x with l <= x <= r, or -1 if there is none",
        "sums = list(accumulate((x * ok for x, ok in enumerate(good)), max))",
        "sums[high] if sums[high] >= low else -1",
        "max(chosen, default=-1)",
    ),
}


def make(rng: RngStream, levels: Mapping[str, Level]) -> Problem:
    """Some properties, and the question about the numbers that have them."""
    bound, queries, ask = int(levels["bound"]), int(levels["queries"]), str(levels["ask"])
    title, opening, good = rng.pick(STORIES)
    factorisation, others = _properties(rng)
    # Two properties of the factorisation may imply each other; one, and others, do not.
    chosen = [rng.pick(factorisation)]
    chosen += [others[i] for i in rng.shuffled(len(others))[: int(levels["conditions"]) - 1]]
    text, table, answer, listed = ASKS[ask]

    def solve(codes: list[str] | None = None, answer: str = answer) -> str:
        test = " and ".join(f"({code})" for code in codes or [one.code for one in chosen])
        return fill(REFERENCE, test=test, table=table, answer=answer)

    codes = [one.code for one in chosen]
    mutants = [solve([*codes[:i], one.wrong, *codes[i + 1 :]]) for i, one in enumerate(chosen)]
    if len(codes) > 1:
        mutants.append(solve(codes[:-1]))
    if ask == "largest":
        mutants += [solve(answer="sums[high - 1] if sums[high - 1] >= low else -1"), solve(answer="sums[high]")]
    else:
        mutants += [solve(answer="sums[high] - sums[low]"), solve(answer="sums[high - 1] - sums[low - 1]")]

    def write(draw: RngStream, count: int, top: int) -> str:
        lines = [str(count)]
        for _ in range(count):
            low = 1 + draw.below(top)
            high = low + draw.below(top - low + 1 if draw.chance(0.7) else min(4, top - low + 1))
            lines.append(f"{low} {high}")
        return "\n".join(lines) + "\n"

    if len(chosen) == 1:
        conditions = f"A positive integer is good if {chosen[0].text}."
    else:
        points = [f"{one.text}{'.' if one is chosen[-1] else ';'}" for one in chosen]
        conditions = "A positive integer is good if all of this holds:\n" + bullets(*points)
    return Problem(
        title=title,
        statement=tell(
            rng,
            (conditions, f"For each of q queries, given by two integers l and r, print {text}."),
            [Setting(opening, {"good": good})],
            reads="The first line contains an integer q, the number of queries.\n"
            "Each of the next q lines contains two integers l and r.",
            prints="q lines, one integer for each query in the order of the input.",
            input=Input(Line("q"), Lines("q", "l r"), f"1 <= q <= {queries}", f"1 <= l <= r <= {bound}"),
        ),
        reference=solve(),
        brute=fill(BRUTE, test=" and ".join(f"({one.trial})" for one in chosen), answer=listed),
        mutants=tuple(mutants),
        small=lambda draw: write(draw, 1 + draw.below(3), SMALL),
        full=lambda draw: write(draw, queries, bound),
        edges=("1\n1 1\n", f"1\n1 {SMALL}\n"),
    )


FAMILY = Family(
    name="number_filters",
    summary="Numbers of a range that have all of some properties: how many, their sum, or the largest.",
    knobs=(Knob("conditions", (1, 2, 3)), Knob("ask", tuple(ASKS)), Knob("queries", QUERIES), Knob("bound", BOUNDS)),
    make=make,
)
