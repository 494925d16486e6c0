"""Family: walks through a grid of digits; how many there are, or the cheapest or dearest one."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, page, statement, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.dice import Dice

JUMPS = ((0, 2), (1, 1), (1, 2), (2, 0), (2, 1))
MODULUS = 1_000_000_007

# What is asked: text, first value, value after a step, value of two ways, and the answer in both programs.
QUESTIONS = {
    "count": (
        "the number of walks whose digit sum is divisible by @divisor@, modulo 1000000007",
        ("1", "value", f"(old + new) % {MODULUS}"),
        f"sum(value for key, value in ends.items() if key[1] == 0) % {MODULUS}",
        f"sum(s % @divisor@ == 0 for s in sums) % {MODULUS}",
    ),
    "smallest": (
        "the smallest digit sum of a walk, or -1 if there is no walk",
        ("0", "value + digit", "min(old, new)"),
        "min(ends.values(), default=-1)",
        "min(sums, default=-1)",
    ),
    "largest": (
        "the largest digit sum of a walk, or -1 if there is no walk",
        ("0", "value + digit", "max(old, new)"),
        "max(ends.values(), default=-1)",
        "max(sums, default=-1)",
    ),
}

REFERENCE = """
MOVES = @moves@
R, C, *limit = map(int, input().split())
K = limit[0] if limit else 0
grid = [input().strip() for _ in range(R)]
table = [[{} for _ in range(C)] for _ in range(R)]
for i in range(R):
    for j in range(C):
        if grid[i][j] == "#":
            continue
        digit = int(grid[i][j])
        heavy = int(digit >= @heavy@)
        sources = [((0, 0), @start@)] if i == j == 0 else []
        for di, dj in MOVES:
            if i >= di and j >= dj:
                sources += table[i - di][j - dj].items()
        for (used, rest), value in sources:
            key = used + heavy, (rest + digit) % @divisor@
            if key[0] <= K:
                old, new = table[i][j].get(key), @step@
                table[i][j][key] = new if old is None else @merge@
ends = table[-1][-1]
print(@answer@)
"""

BRUTE = """
R, C, *limit = map(int, input().split())
grid = [input().strip() for _ in range(R)]
sums = []
def walk(i, j, digits):
    if i >= R or j >= C or grid[i][j] == "#":
        return
    digits = digits + [int(grid[i][j])]
    if (i, j) == (R - 1, C - 1) and not (limit and sum(d >= @heavy@ for d in digits) > limit[0]):
        sums.append(sum(digits))
    for di, dj in @moves@:
        walk(i + di, j + dj, digits)
walk(0, 0, [])
print(@answer@)
"""


def _make(dice: Dice, knobs: Mapping[str, Any]) -> Problem:
    jumps = choose(dice, JUMPS, 5)
    moves = [(0, 1), (1, 0), *(jumps[i] for i in dice.shuffled(5)[: knobs["moves"] - 2])]
    ask = dice.pick(list(QUESTIONS))
    limit, walls = knobs["limit"], knobs["walls"]
    divisor, heavy = between(dice, 2, 5), between(dice, 8, 9)
    text, (start, step, merge), answer, brute_answer = QUESTIONS[ask]
    names: dict[str, object] = {"divisor": divisor if ask == "count" else 1, "heavy": heavy if limit else 10}
    names |= {"moves": moves, "start": start, "step": step, "merge": merge}
    reference = fill(fill(REFERENCE, answer=answer), **names)
    mutants = [
        swap(reference, str(moves), str(moves[1:])),
        swap(reference, "digit = int(grid[i][j])", "digit = int(grid[i][j]) if i + j else 0"),
        swap(reference, merge, "new"),
    ]
    if limit:
        mutants.append(swap(reference, "<= K", "< K"))
    ways = [((f"{down} down",) if down else ()) + ((f"{right} right",) if right else ()) for down, right in moves]
    task = (
        f"A grid has R rows and C columns; each cell holds a digit from 1 to 9{when(walls, ' or a wall (#)')}.",
        "A walk starts in the top left cell and ends in the bottom right cell.",
        f"One step goes this many cells: {'; '.join(map(' and '.join, ways))}.",
        f"A step may not leave the grid{when(walls, ' or end on a wall; what it jumps over does not matter')}.",
        "The digit sum of a walk adds the digits of all cells it stands on, the first and the last included.",
        when(limit, f"A walk may stand on at most K cells with a digit above {heavy - 1}."),
        f"Find {fill(text, **names).strip()}.",
    )

    def draw(dice: Dice, size: int) -> str:
        rows, cols = count(dice, size), count(dice, size)
        digits = "123456789" if size < 10 or dice.chance(0.3) else "1234567" * 4 + "89"
        wall = dice.uniform() * 0.3 * walls
        grid = ["".join("#" if dice.chance(wall) else dice.pick(digits) for _ in range(cols)) for _ in range(rows)]
        grid[0] = dice.pick(digits) + grid[0][1:]
        grid[-1] = grid[-1][:-1] + dice.pick(digits)
        return page(f"{rows} {cols}" + when(limit, f" {dice.below(2 + size // 8)}"), *grid)

    return Problem(
        title="Walks through a grid" if ask == "count" else f"The {ask} walk",
        statement=statement(
            task,
            (f"The first line: R and C{when(limit, ' and K')}. Then R lines of C characters, the grid.",),
            "One integer, the answer.",
            (
                f"1 <= R, C <= {knobs['size']}",
                when(limit, f"0 <= K <= {1 + knobs['size'] // 8}"),
                when(walls, "the first and the last cell are not walls"),
            ),
        ),
        reference=reference,
        brute=fill(fill(BRUTE, answer=brute_answer), **names),
        mutants=tuple(mutants),
        small=lambda dice: draw(dice, 4),
        full=lambda dice: draw(dice, knobs["size"]),
        edges=(page("1 1" + when(limit, " 1"), 6), page("1 2" + when(limit, " 0"), 29)),
    )


FAMILY = Family(
    "grid_paths",
    "Count or optimise walks through a grid of digits.",
    (Knob("size", (4, 8, 20, 40)), Knob("moves", (2, 3, 4)), Knob("walls", OFF_ON), Knob("limit", OFF_ON)),
    _make,
)
