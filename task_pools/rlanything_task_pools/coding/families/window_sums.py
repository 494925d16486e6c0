"""The best sum of a block of neighbours whose length obeys a rule."""

from collections.abc import Mapping

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Row
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

SIZES = (20, 200, 1500, 6000)
MAX_VALUE = 1000

STORIES = (
    ("Best stretch", "A hiker notes how many metres she climbs in each of n parts of a trail, less than 0 downhill."),
    (
        "Harbour tides",
        "A harbour master notes by how many centimetres the water has risen or fallen in each of n hours.",
    ),
    ("The shop ledger", "A shop notes its profit on each of n days; a loss is written as a negative number."),
    ("Signal burst", "A receiver stores n samples of a signal that swings around zero."),
    ("Festival score", "A jury gives points in each of n rounds of a festival, or takes some away."),
)
RULES = {
    "exactly": ("exactly k", "low, high = k, k"),
    "at most": ("at most k", "low, high = 1, k"),
    "at least": ("at least k", "low, high = k, n"),
    "between": ("at least k and at most m", "low, high = k, m"),
}
WRONG_BOUNDS = {
    "exactly": ("low, high = 1, k", "low, high = k, k + 1"),
    "at most": ("low, high = k, k", "low, high = 1, max(1, k - 1)"),
    "at least": ("low, high = 1, n", "low, high = k, max(k, n - 1)"),
    "between": ("low, high = 1, m", "low, high = k, max(k, m - 1)"),
}
ASKS = {
    "sum": "Print the @best@ sum of such a block.",
    "length": "Print the @best@ sum of such a block, and the length of the shortest such block that has this sum.",
    "start": "Print the @best@ sum of such a block, and the smallest i such that such a block with this sum starts "
    "with a_i.",
}

REFERENCE = """
import sys
from collections import deque


def main():
    data = list(map(int, sys.stdin.read().split()))
    @names@ = data[:@count@]
    @bounds@
    values = [@sign@ * value for value in data[@count@:@count@ + n]]
    prefix = [0]
    for value in @line@:
        prefix.append(prefix[-1] + value)
    window = deque()
    best = @floor@
    for end in range(1, len(prefix)):
        begin = end - low
        if begin >= 0:
            while window and prefix[window[-1]] @tie@ prefix[begin]:
                window.pop()
            window.append(begin)
        while window and window[0] < end - high:
            window.popleft()
        if window:
            begin = window[0]
            found = (prefix[end] - prefix[begin], @key@)
            if best is None or found > best:
                best = found
    total, detail = best
    print(@shown@)


main()
"""

BRUTE = """
n, @rest@ = map(int, input().split())
values = list(map(int, input().split()))
@bounds@
found = []
for begin in range(n):
    for length in range(low, high + 1):
        if @fits@:
            block = [values[(begin + step) % n] for step in range(length)]
            found.append((-@sign@ * sum(block), @order@))
total, detail = min(found)
print(@shown@)
"""


def make(rng: RngStream, levels: Mapping[str, Level]) -> Problem:
    """A rule for the length, the question, and whether the line is a circle."""
    size, rule, ask, circle = int(levels["size"]), str(levels["rule"]), str(levels["ask"]), bool(levels["circle"])
    title, opening = rng.pick(STORIES)
    sign = rng.pick((1, -1))
    best = "largest" if sign == 1 else "smallest"
    bounds = RULES[rule][1]
    names = "n, k, m" if rule == "between" else "n, k"
    line = "values + values" if circle else "values"
    shown = {"sum": "@s@ * total", "length": "@s@ * total, abs(detail)", "start": "@s@ * total, abs(detail) + 1"}[ask]
    key = {"sum": "0", "length": "begin - end", "start": "-begin"}[ask]
    tie = ">" if ask == "start" else ">="

    def solve(**wrong: str) -> str:
        parts = {"bounds": bounds, "line": line, "floor": "None", "key": key, "tie": tie, "sign": str(sign)} | wrong
        return fill(
            REFERENCE, names=names, count=names.count(",") + 1, **parts, shown=shown.replace("@s@", parts["sign"])
        )

    mutants = [solve(floor="(0, 0)"), *(solve(bounds=bad) for bad in WRONG_BOUNDS[rule])]
    mutants.append(solve(line="values" if circle else "values + values"))
    mutants.append(solve(sign=str(-sign)))
    if ask == "length" and rule != "exactly":
        mutants.append(solve(key="end - begin", tie=">"))
    if ask == "start":
        mutants.append(solve(key="begin", tie=">="))
    brute = fill(
        BRUTE,
        rest=names.removeprefix("n, "),
        bounds=bounds,
        fits="length <= n" if circle else "begin + length <= n",
        sign=sign,
        order={"sum": "0", "length": "length", "start": "begin"}[ask],
        shown=shown.replace("@s@", str(-sign)),
    )

    def write(draw: RngStream, n: int, top: int) -> str:
        low = -top if draw.chance(0.6) else draw.pick((-top, 1))
        high = -1 if low < 0 and draw.chance(0.25) else top
        k = 1 + draw.below(n)
        m = k + draw.below(n - k + 1)
        numbers = [low + draw.below(high - low + 1) for _ in range(n)]
        head = (n, k, m) if rule == "between" else (n, k)
        return f"{' '.join(map(str, head))}\n{' '.join(map(str, numbers))}\n"

    last = "; after a_n comes a_1 again" if circle else ""
    past = " A block may go on past a_n with a_1, but holds no number twice." if circle else ""
    task = (
        f"You are given n integers a_1, ..., a_n in {'a circle' if circle else 'a line'}{last}. A block is one or more "
        f"neighbouring numbers, and its length is how many there are.{past} Only blocks of "
        f"{RULES[rule][0]} numbers count.",
        fill(ASKS[ask], best=best).strip(),
    )
    return Problem(
        title=title,
        statement=tell(
            rng,
            task,
            [Setting(opening)],
            reads=f"The first line contains {'three' if rule == 'between' else 'two'} integers: {names}."
            "\nThe second line contains n integers a_1, ..., a_n.",
            prints="One integer." if ask == "sum" else "Two integers, separated by a blank.",
            input=Input(
                Line(names.replace(",", "")),
                Row("a_i", "n"),
                f"1 <= n <= {size}",
                f"1 <= k {'<= m ' if rule == 'between' else ''}<= n",
                f"-{MAX_VALUE} <= a_i <= {MAX_VALUE}",
            ),
        ),
        reference=solve(),
        brute=brute,
        mutants=tuple(mutants),
        small=lambda draw: write(draw, 1 + draw.below(8), draw.pick((2, 9))),
        full=lambda draw: write(draw, size, MAX_VALUE),
        edges=(f"{'1 1 1' if rule == 'between' else '1 1'}\n-5\n",),
    )


FAMILY = Family(
    name="window_sums",
    summary="The best sum of a block of neighbours whose length obeys a rule.",
    knobs=(Knob("rule", tuple(RULES)), Knob("ask", tuple(ASKS)), Knob("circle", (False, True)), Knob("size", SIZES)),
    make=make,
)
