"""Pieces of some kinds are chosen: the number of ways, the fewest pieces, or the best value."""

from collections.abc import Mapping

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.parts import either, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

TARGETS = (15, 100, 400, 1000)
SMALL = 20
"""Targets up to here are for the brute force."""
KINDS = 12
MAX_PIECES = 12
MODULUS = 1_000_000_007

STORIES = (
    ("The post office", "A customer brings letters to a post office, which sells many stamps.", "stamp price postage"),
    ("Lorry load", "A lorry waits in front of a warehouse that is full of crates.", "crate weight load"),
    ("Coins of the republic", "A small republic mints its own coins, and few people can add.", "coin worth amount"),
    ("Film night", "A club wants to fill an evening with short films.", "film length duration"),
    ("Building a wall", "A mason builds a wall, and the next row of stones comes.", "stone width span"),
)
ASKS = ("fewest", "value", "ways")
SUPPLIES = {
    "unlimited": "Any number of pieces of each kind may be taken.",
    "single": "There is only one piece of each kind.",
    "limited": "No more pieces of a kind can be taken than its number c.",
}

READ = """
import sys

data = list(map(int, sys.stdin.read().split()))
n, target@more@ = data[:@head@]
rows = [data[@head@ + @width@ * i:@head@ + @width@ * (i + 1)] for i in range(n)]
kinds = [(row[0], @gain@, @supply@) for row in rows]
@twist@
"""

# best[j][s]: the answer for a sum of s with j pieces (one j that stands for any number where pieces are not limited).
REFERENCE = (
    READ
    + """
most = @most@
best = [[@start@] * (target + 1) for _ in range(most + 1)]
@seed@
for size, gain, supply in kinds:
    if supply >= target // size:
        for j in range(@low@, most + 1):
            old, new = best[@before@], best[j]
            for s in range(size, target + 1):
                @take@
    else:
        for j in range(most, @low@ - 1, -1):
            for s in range(target, size - 1, -1):
                for count in range(1, min(supply, s // size@cap@) + 1):
                    @take_some@
@show@
"""
)

BRUTE = (
    READ
    + """
found = []


def choose(i, left, pieces, total):
    if i == n:
        found.append((left, pieces, total))
        return
    for count in range(0, left // kinds[i][0] + 1):
        if count <= kinds[i][2]:
            choose(i + 1, left - count * kinds[i][0], pieces + count, total + count * kinds[i][1])


choose(0, target, 0, 0)
found = [one for one in found if @allowed@]
print(@answer@)
"""
)

GREEDY = (
    READ
    + """
kinds.sort(key=lambda kind: @order@)
left, pieces, total = target, 0, 0
for size, gain, supply in kinds:
    count = min(left // size, supply@room@)
    left -= count * size
    pieces += count
    total += count * gain
print(@answer@)
"""
)


def make(rng: RngStream, levels: Mapping[str, Level]) -> Problem:
    """The question, the number of pieces of a kind, and whether it is limited."""
    bound, ask, supply = int(levels["target"]), str(levels["ask"]), str(levels["supply"])
    limited = bool(levels["limit"])
    title, opening, nouns = rng.pick(STORIES)
    words = nouns.split()
    columns = ["size", *(["value"] if ask == "value" else []), *(["number"] if supply == "limited" else [])]

    def read(supplied: str = supply, twist: str = "") -> dict[str, object]:
        return {
            "more": ", limit" if limited else "",
            "head": 3 if limited else 2,
            "width": len(columns),
            "gain": {"fewest": "1", "ways": "0", "value": "row[1]"}[ask],
            "supply": {"unlimited": "target", "single": "1", "limited": "row[-1]"}[supplied],
            "twist": twist,
        }

    def solve(supplied: str = supply, *, capped: bool = limited, twist: str = "", **wrong: str) -> str:
        # The fewest pieces need no table of their own for a limit: they are compared with it in the end.
        layered = capped and ask != "fewest"
        source = "best[j - count]" if layered else "best[j]"
        parts = {"ways": _ways, "fewest": _fewest, "value": _value}[ask](source) | wrong
        return fill(
            REFERENCE,
            **parts,
            **read(supplied, twist),
            most="limit" if layered else 0,
            low=1 if layered else 0,
            before="j - 1" if layered else "j",
            cap=", j" if layered else "",
            enough="best[0][target] <= limit" if capped else "best[0][target] < 10**8",
        )

    def greedy() -> str:
        order = "-kind[0]" if ask == "fewest" else "(-kind[1] / kind[0], kind[0])"
        room = ", limit - pieces" if limited else ""
        answer = "pieces if left == 0 else -1" if ask == "fewest" else "total"
        return fill(GREEDY, **read(), order=order, room=room, answer=answer)

    mutants = [
        solve("single" if supply == "unlimited" else "unlimited"),
        solve(twist="kinds = kinds[:-1]"),
        solve(twist="target -= 1"),
    ]
    mutants.append(solve(start="1") if ask == "ways" else greedy())
    if limited:
        mutants.append(solve(capped=False))
    if ask == "ways" and supply == "unlimited" and bound > 15 and not limited:
        mutants.append(swap(solve(), f" % {MODULUS}", ""))
    if ask == "fewest":
        mutants.append(solve(none="0"))
    exact = "one[0] == 0" if ask != "value" else "one[0] >= 0"
    brute = fill(
        BRUTE,
        **read(),
        allowed=exact + (" and one[1] <= limit" if limited else ""),
        answer={
            "ways": f"len(found) % {MODULUS}",
            "fewest": "min((one[1] for one in found), default=-1)",
            "value": "max(one[2] for one in found)",
        }[ask],
    )

    def write(draw: RngStream, most: int, n: int) -> str:
        largest = most // 2 if most <= SMALL else most // draw.pick((3, 12, 48))
        sizes = [1 + draw.below(largest) for _ in range(n)]
        counts = (
            [1 + draw.below(4) for _ in range(n)] if supply == "limited" else [1 if supply == "single" else most] * n
        )
        limit = 1 + draw.below(MAX_PIECES if most > SMALL else 4)
        # Mostly a sum that some pieces have, so that there is a way.
        left, target = counts[:], 0
        for _ in range(limit + draw.below(2)):
            i = draw.below(n)
            if left[i] and target + sizes[i] <= most:
                left[i] -= 1
                target += sizes[i]
        if target == 0 or draw.chance(0.35):
            target = 1 + draw.below(most)
        rows = [[sizes[i]] for i in range(n)]
        for row, count in zip(rows, counts, strict=True):
            if ask == "value":
                row.append(1 + draw.below(9 if most <= SMALL else 1000))
            if supply == "limited":
                row.append(count)
        first = [n, target, *([limit] if limited else [])]
        return "".join(" ".join(map(str, row)) + "\n" for row in [first, *rows])

    question = {
        "ways": f"Print, modulo {MODULUS}, in how many ways pieces can be chosen so that their total is exactly t. Two "
        "ways are different if they take different numbers of pieces of some kind; kinds of the same size are still "
        "different kinds.",
        "fewest": "Print the smallest number of pieces whose total is exactly t, or -1 if no choice of pieces has this "
        "total.",
        "value": "Print the largest sum of values that pieces with a total of at most t can have. Taking no piece is "
        "allowed, too, and has the value 0.",
    }[ask]
    has = {"size": "a size s", "value": "a value v", "number": "a number c of pieces"}
    short = {"size": "s", "value": "v", "number": "c"}
    names = either([short[column] for column in columns], "and")
    task = (
        f"There are n kinds of pieces. Each kind has {either([has[column] for column in columns], 'and')}. "
        f"The total of some pieces is the sum of their sizes. {SUPPLIES[supply]}{' ' * limited}"
        + when(limited, "In all, at most k pieces may be taken."),
        question,
    )
    return Problem(
        title=title,
        statement=tell(
            rng,
            task,
            [Setting(opening, dict(zip(("piece", "size", "total"), words, strict=True)))],
            reads=f"The first line contains {'three integers n, t and k' if limited else 'two integers n and t'}.\n"
            f"Each of the next n lines contains the integer{'s' * (len(columns) > 1)} {names} of a kind.",
            prints="One integer.",
            input=Input(
                Line("n t k" if limited else "n t"),
                Lines("n", " ".join(short[column] for column in columns)),
                f"1 <= n <= {KINDS}",
                f"1 <= t <= {bound}",
                *([f"1 <= k <= {MAX_PIECES}"] * limited),
                f"1 <= s <= {bound // 2}",
                *(["1 <= v <= 1000"] * (ask == "value")),
                *(["1 <= c <= 4"] * (supply == "limited")),
            ),
        ),
        reference=solve(),
        brute=brute,
        mutants=tuple(mutants),
        small=lambda draw: write(draw, 5 + draw.below(10), 1 + draw.below(4)),
        full=lambda draw: write(draw, bound, KINDS),
    )


def _ways(source: str) -> dict[str, str]:
    return {
        "start": "0",
        "seed": "best[0][0] = 1",
        "take": f"new[s] = (new[s] + old[s - size]) % {MODULUS}",
        "take_some": f"best[j][s] = (best[j][s] + {source}[s - count * size]) % {MODULUS}",
        "show": f"print(sum(row[target] for row in best) % {MODULUS})",
    }


def _fewest(source: str) -> dict[str, str]:
    return {
        "start": "10**9",
        "seed": "best[0][0] = 0",
        "take": "new[s] = min(new[s], old[s - size] + 1)",
        "take_some": f"best[j][s] = min(best[j][s], {source}[s - count * size] + count)",
        "show": "print(best[0][target] if @enough@ else @none@)",
        "none": "-1",
    }


def _value(source: str) -> dict[str, str]:
    return {
        "start": "0",
        "seed": "",
        "take": "new[s] = max(new[s], old[s - size] + gain)",
        "take_some": f"best[j][s] = max(best[j][s], {source}[s - count * size] + count * gain)",
        "show": "print(best[most][target])",
    }


FAMILY = Family(
    name="knapsack",
    summary="Pieces of some kinds are chosen: the fewest pieces, the best value, or the number of ways.",
    knobs=(
        Knob("ask", ASKS),
        Knob("supply", ("unlimited", "single", "limited")),
        Knob("limit", (False, True)),
        Knob("target", TARGETS),
    ),
    make=make,
)
