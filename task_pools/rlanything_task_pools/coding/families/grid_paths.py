"""Family: walks through a grid of digits; how many there are, or the cheapest or dearest one."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Whole, letters
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, either, page, several, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

JUMPS = ((0, 2), (1, 1), (1, 2), (2, 0), (2, 1))
MODULUS = 1_000_000_007

# Question: text, first value, value after a step, value of two ways, and the answer in both programs.
QUESTIONS = {
    "count": (
        "the number of walks whose digit sum is divisible by @divisor@, modulo 1000000007. Two walks are different if "
        "they stand on different cells",
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


SETTINGS = (
    Setting(
        "A frog lives in a pond full of lily pads. It hops from its bed in the north west to its breakfast in the "
        "south east, and each pad has a digit painted on it.",
        {"cell": "pad", "walk": "trip"},
    ),
    Setting("A game of hopscotch is chalked on the pavement.", {"cell": "square", "walk": "run"}),
    Setting("A parcel robot crosses a hall with numbered tiles.", {"cell": "tile", "walk": "ride"}),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    jumps = choose(rng, JUMPS, 5)
    moves = [(0, 1), (1, 0), *(jumps[i] for i in rng.shuffled(5)[: knobs["moves"] - 2])]
    ask = rng.pick(list(QUESTIONS))
    limit, walls = knobs["limit"], knobs["walls"]
    divisor, heavy = between(rng, 2, 5), between(rng, 8, 9)
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
        mutants += [swap(reference, "<= K", "< K"), swap(reference, "int(digit", "int(i + j > 0 and digit")]
    ways = [
        either([f"{several(n, 'cell')} {way}" for n, way in ((down, "down"), (right, "to the right")) if n], "and")
        for down, right in moves
    ]
    task = (
        f"A grid has R rows of C cells each. Every cell holds a digit from 1 to 9{when(walls, ' or a wall (#)')}.",
        "A walk starts in the top left cell and ends in the bottom right cell. One step goes\n"
        + bullets(*(f"{way}{',' if way != ways[-1] else '.'}" for way in ways)),
        f"A step may not leave the grid{when(walls, ' or end on a wall; it may jump over walls')}. The digit sum of a "
        "walk is the sum of the digits in all cells on which it stands, the first and the last one included; cells "
        "that it jumps over do not count."
        + when(limit, f" A walk may stand on at most K cells with a digit above {heavy - 1}."),
        f"Print {fill(text, **names).strip()}.",
    )

    def draw(rng: RngStream, size: int) -> str:
        rows, cols = count(rng, size), count(rng, size)
        digits = "123456789" if size < 10 or rng.chance(0.3) else "1234567" * 4 + "89"
        wall = rng.uniform() * 0.3 * walls
        grid = ["".join("#" if rng.chance(wall) else rng.pick(digits) for _ in range(cols)) for _ in range(rows)]
        grid[0] = rng.pick(digits) + grid[0][1:]
        grid[-1] = grid[-1][:-1] + rng.pick(digits)
        return page(f"{rows} {cols}" + when(limit, f" {rng.below(2 + size // 8)}"), *grid)

    return Problem(
        title="Walks through a grid" if ask == "count" else f"The {ask} walk",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads=f"The first line contains {'three integers R, C and K' if limit else 'two integers R and C'}.\n"
            "Each of the next R lines contains C characters: a row of the grid, from the top one to the bottom one.",
            prints="One integer.",
            input=Input(
                Line("R C K" if limit else "R C"),
                Lines("R", "row", row=letters("123456789" + when(walls, "#"))),
                f"1 <= R, C <= {knobs['size']}",
                *([f"0 <= K <= {1 + knobs['size'] // 8}"] * limit),
                Limit(
                    f"every row has C characters, digits from 1 to 9{when(walls, ' or #')}",
                    lambda row, C: len(row) == C,
                ),
                *(
                    [
                        Whole(
                            "the first and the last cell are not walls",
                            lambda v: "#" not in v["row"][0][0] + v["row"][-1][-1],
                        )
                    ]
                    * walls
                ),
            ),
        ),
        reference=reference,
        brute=fill(fill(BRUTE, answer=brute_answer), **names),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 4),
        full=lambda rng: draw(rng, knobs["size"]),
        edges=(page("1 1" + when(limit, " 1"), 6), page("1 2" + when(limit, " 0"), 29)),
    )


FAMILY = Family(
    "grid_paths",
    "Count or optimise walks through a grid of digits.",
    (Knob("size", (4, 8, 20, 40)), Knob("moves", (2, 3, 4)), Knob("walls", OFF_ON), Knob("limit", OFF_ON)),
    _make,
)
