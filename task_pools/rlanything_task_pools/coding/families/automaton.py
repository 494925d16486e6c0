"""Family: cellular automata on a strip or a grid, after a few steps or after very many."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, line, page, statement, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.dice import Dice

NEIGHBOURS = {
    "the cells to the left and to the right": ((0, -1), (0, 1)),
    "the two cells to the left and the two to the right": ((0, -2), (0, -1), (0, 1), (0, 2)),
    "the cells above, below, to the left and to the right": ((-1, 0), (1, 0), (0, -1), (0, 1)),
    "the eight cells around it": ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)),
    "the four cells that touch it at a corner": ((-1, -1), (-1, 1), (1, -1), (1, 1)),
}

REFERENCE = """
R, C, T = map(int, input().split())
NEAR, BORN, STAY = @near@, @born@, @stay@
def step(grid):
    rows = []
    for i in range(R):
        row = ""
        for j in range(C):
            n = 0
            for a, b in NEAR:
                @around@
            if grid[i][j] == "#":
                row += "#" if n in STAY else @dead@
            else:
                row += "#" if n in BORN and grid[i][j] == "." else "."
        rows.append(row)
    return tuple(rows)
grid = tuple(input().strip() for _ in range(R))
seen, history = {}, []
while grid not in seen and len(history) < T:
    seen[grid] = len(history)
    history.append(grid)
    grid = step(grid)
if grid in seen and len(history) < T:
    start = seen[grid]
    grid = history[start + (T - start) % (len(history) - start)]
@answer@
"""
AROUND = {
    False: "if 0 <= i + a < R and 0 <= j + b < C:\n    n += grid[i + a][j + b] == '#'",
    True: "n += grid[(i + a) % R][(j + b) % C] == '#'",
}

BRUTE = """
R, C, T = map(int, input().split())
rows = [input().strip() for _ in range(R)]
state = {(i, j): rows[i][j] for i in range(R) for j in range(C)}
for _ in range(T):
    heat = dict.fromkeys(state, 0)
    for (i, j), c in state.items():
        for a, b in @near@:
            spot = @spot@
            if c == "#" and spot in heat:
                heat[spot] += 1
    for spot, n in heat.items():
        if state[spot] == ".":
            state[spot] = "#" if n in @born@ else "."
        elif state[spot] == "#":
            state[spot] = "#" if n in @stay@ else @dead@
        else:
            state[spot] = "."
grid = ["".join(state[i, j] for j in range(C)) for i in range(R)]
@answer@
"""
ASKS = {
    "grid": ("Print the cells", 'print(*grid, sep="\\n")', "The cells, in the format of the input."),
    "rows": (
        "Print the number of living cells of each row and of each column",
        'print(*[row.count("#") for row in grid])\nprint(*[column.count("#") for column in zip(*grid)])',
        "Two lines: the numbers of the rows from top to bottom, and of the columns from left to right.",
    ),
}


def _make(dice: Dice, knobs: Mapping[str, Any]) -> Problem:
    flat, wraps, tired, steps = knobs["shape"] == "strip", knobs["wraps"], knobs["tired"], knobs["steps"]
    text, near = dice.pick([item for item in NEIGHBOURS.items() if all(a == 0 for a, _ in item[1]) == flat])
    born = choose(dice, (2, 3, 4) if len(near) > 4 else (1, 2), 1)
    if dice.chance(0.5):
        born = sorted({*born, between(dice, 1, len(near))})
    stay = choose(dice, [n for n in range(len(near) + 1) if [n] != born], 2)
    stay = [*stay, 0] if stay == born else stay
    ask, size = dice.pick(list(ASKS)), knobs["size"]
    names: dict[str, object] = {"near": near, "born": born, "stay": stay, "dead": '"o"' if tired else '"."'}
    names["answer"] = ASKS[ask][1]
    reference = fill(REFERENCE, around=AROUND[wraps], **names)
    late = ("len(history) < T:", "len(history) < T - 1:")
    if steps > 99:
        late = ("start + (T - start) % (len(history) - start)", "T % len(history)")
    mutants = [
        fill(REFERENCE, around=AROUND[not wraps], **names),
        swap(reference, "            n = 0\n", "            n = int(grid[i][j] == '#')\n"),
        swap(reference, *late),
        swap(reference, "NEAR, BORN, STAY =", "NEAR, STAY, BORN ="),
    ]
    if tired:
        mutants.append(swap(reference, ' and grid[i][j] == "."', ""))
    cells = "# (alive), o (tired) or . (dead)" if tired else "# (alive) or . (dead)"
    stays, births = (" or ".join(map(str, numbers)) for numbers in (stay, born))
    task = (
        f"{'A strip is a row of C cells' if flat else 'A grid has R rows of C cells'}. A cell is {cells}.",
        f"The neighbours of a cell are {text}.",
        "Beyond the last row or column comes the first one again, and the other way round; a cell that is reached in "
        "several ways counts several times, and a cell may be its own neighbour."
        if wraps
        else "Beyond the edges there are no cells.",
        "In a step all cells change at once:",
        f"a living cell with {stays} living neighbours stays alive, others {'become tired' if tired else 'die'};",
        when(tired, "a tired cell dies, whatever its neighbours;"),
        f"a dead cell with {births} living neighbours comes to life, others stay dead.",
        f"{ASKS[ask][0]} after T steps.",
    )

    def draw(dice: Dice, size: int, steps: int) -> str:
        rows, cols = 1 if flat else count(dice, min(size, 4) if steps > 99 else size, 2), count(dice, size, 3)
        if steps > 99:
            cols = min(cols, 12 if flat else 4)
        grid = ["".join(dice.pick("#..") for _ in range(cols)) for _ in range(rows)]
        return page(line((rows, cols, between(dice, 1, dice.pick((3, steps))))), *grid)

    return Problem(
        title="Cells on a strip" if flat else "Cells in a grid",
        statement=statement(
            task,
            ("The first line: R, C and T. Then R lines of C characters, the cells.",),
            ASKS[ask][2],
            (
                f"{'R = 1' if flat else f'1 <= R <= {size}'}; 1 <= C <= {size}; 0 <= T <= {steps}",
                when(steps > 99, f"R * C <= {12 if flat else 16}"),
                when(tired, "no cell is tired at the start"),
            ),
        ),
        reference=reference,
        brute=fill(BRUTE, spot="(i - a) % R, (j - b) % C" if wraps else "i - a, j - b", **names),
        mutants=tuple(mutants),
        small=lambda dice: draw(dice, min(size, 6), min(steps, 30)),
        full=lambda dice: draw(dice, size, steps),
        edges=(page("1 1 1", "#"), page("1 3 2", "#.#")),
    )


FAMILY = Family(
    "automaton",
    "Cellular automata on a strip or a grid.",
    (
        Knob("size", (6, 12)),
        Knob("shape", ("strip", "grid")),
        Knob("steps", (3, 20, 10**15)),
        Knob("wraps", OFF_ON),
        Knob("tired", OFF_ON),
    ),
    _make,
)
