"""Pieces of some kinds are chosen: the number of ways, the fewest pieces, or the best value."""

from collections.abc import Mapping

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.dice import Dice

TARGETS = (15, 100, 400, 1000)
SMALL = 20
"""Targets up to here are for the brute force."""
KINDS = 12
MAX_PIECES = 12
MODULUS = 1_000_000_007

STORIES = (
    ("The post office", "A post office sells n kinds of stamps", "stamp", "price", "postage"),
    ("Lorry load", "A warehouse holds n kinds of crates", "crate", "weight", "load"),
    ("Coins of the republic", "A small republic mints n kinds of coins", "coin", "worth", "amount"),
    ("Film night", "A club owns n kinds of short films", "film", "length", "running time"),
    ("Building a wall", "A mason has n kinds of stones", "stone", "width", "width of the wall"),
)
ASKS = ("fewest", "value", "ways")
SUPPLIES = {
    "unlimited": "Any number of pieces of each kind may be used.",
    "single": "There is only one piece of each kind.",
    "limited": "Of each kind there are only so many pieces as the input says.",
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


def make(dice: Dice, levels: Mapping[str, Level]) -> Problem:
    """What is asked, how many pieces there are of a kind, and whether their number is limited."""
    bound, ask, supply = int(levels["target"]), str(levels["ask"]), str(levels["supply"])
    limited = bool(levels["limit"])
    title, story, piece, size, whole = dice.pick(STORIES)
    columns = [size, *(["value"] if ask == "value" else []), *(["number"] if supply == "limited" else [])]

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

    def write(draw: Dice, most: int, n: int) -> str:
        largest = most // 2 if most <= SMALL else most // draw.pick((3, 6, 12))
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
        "ways": f"In how many ways can pieces be chosen whose {whole} is exactly t? Two ways differ if they use some "
        f"kind a different number of times; kinds of the same {size} are still different kinds. Print the number of "
        f"ways modulo {MODULUS}.",
        "fewest": f"What is the smallest number of pieces whose {whole} is exactly t? Print -1 if there is no choice "
        "of pieces like that.",
        "value": f"Each piece has a value. What is the largest total value of pieces whose {whole} is at most t?",
    }[ask]
    statement = fill(
        """
        @story@. The @whole@ of some pieces is the sum of the @size@ of each.
        @supply@@limit@

        @question@

        Input
        The first line holds @names@.
        Each of the n following lines tells of one kind of @piece@: @columns@.

        Output
        One integer.

        Constraints
        1 <= n <= @kinds@
        1 <= t <= @bound@
        1 <= @size@ <= @largest@@k@@value@@number@
        """,
        story=story,
        supply=SUPPLIES[supply],
        limit=" In all, at most k pieces may be used." if limited else "",
        question=question,
        names="three integers: n, t and k" if limited else "two integers: n and t",
        columns="its " + ", ".join(columns[:-1]) + (" and " if len(columns) > 1 else "") + columns[-1],
        kinds=KINDS,
        largest=bound // 2,
        k=f"\n1 <= k <= {MAX_PIECES}" if limited else "",
        value="\n1 <= value <= 1000" if ask == "value" else "",
        number="\n1 <= number <= 4 (how many pieces there are of the kind)" if supply == "limited" else "",
        piece=piece,
        whole=whole,
        size=size,
        bound=bound,
    )
    return Problem(
        title=title,
        statement=statement,
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
