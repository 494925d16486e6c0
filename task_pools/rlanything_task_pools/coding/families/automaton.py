"""Family: cellular automata on a strip or a grid, after a few steps or after very many."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, letters
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, either, line, page, power, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

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
    "grid": (
        "Print the state of every cell",
        'print(*grid, sep="\\n")',
        "R lines of C characters: the cells after T steps, written as in the input@tired@.",
    ),
    "rows": (
        "Print the number of living cells in each row and in each column",
        'print(*[row.count("#") for row in grid])\nprint(*[column.count("#") for column in zip(*grid)])',
        "Two lines. The first line contains R integers, the numbers for the rows from top to bottom; the second line "
        "contains C integers, the numbers for the columns from left to right.",
    ),
}
SETTINGS = (
    Setting("A biologist grows a culture on a glass plate and takes a picture of it every hour."),
    Setting(
        "An artist has built a wall of lamps. Nobody switches them: each lamp watches those near it.",
        {"cell": "lamp", "alive": "lit", "living": "lit", "dead": "dark", "dies": "darkens", "tired": "dim"},
    ),
    Setting(
        "Moss creeps over the stone floor of an old courtyard, and every spring it looks different.",
        {"cell": "slab", "alive": "mossy", "living": "mossy", "dead": "bare", "dies": "withers", "tired": "dry"},
    ),
)


def _borders(flat: bool, wraps: bool) -> str:
    shape = "strip" if flat else "grid"
    if not wraps:
        return f"There are no cells outside of the {shape}."
    return (
        f"The {shape} wraps around: {'the first cell' if flat else 'the first row'} follows after the last one"
        f"{when(not flat, ', and the first column after the last one')}. A neighbour that is reached in several "
        "ways counts once for each of them, and a cell may be its own neighbour."
    )


def _neighbours(numbers: Sequence[int]) -> str:
    return f"{either(numbers)} living neighbour{when(list(numbers) != [1], 's')}"


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    flat, wraps, tired, steps = knobs["shape"] == "strip", knobs["wraps"], knobs["tired"], knobs["steps"]
    text, near = rng.pick([item for item in NEIGHBOURS.items() if all(a == 0 for a, _ in item[1]) == flat])
    born = choose(rng, (2, 3, 4) if len(near) > 4 else (1, 2), 1)
    if rng.chance(0.5):
        born = sorted({*born, between(rng, 1, len(near))})
    stay = choose(rng, [n for n in range(len(near) + 1) if [n] != born], 2)
    stay = [*stay, 0] if stay == born else stay
    ask, size = rng.pick(list(ASKS)), knobs["size"]
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
    vast = steps > 99  # so many that the cells have to come back to an earlier state soon
    most = size if flat or not vast else 3 + size // 6
    task = (
        f"{'A strip is a row of C cells' if flat else 'A grid has R rows of C cells each'}. Every cell is "
        f"{'alive (#), tired (o) or dead (.)' if tired else 'alive (#) or dead (.)'}. "
        f"The neighbours of a cell are {text}. {_borders(flat, wraps)}",
        "In each step all cells change at the same moment:\n"
        + bullets(
            f"A living cell with exactly {_neighbours(stay)} stays alive; any other living cell "
            f"{'becomes tired' if tired else 'dies'}.",
            when(tired, "A tired cell dies, whatever its neighbours are."),
            f"A dead cell with exactly {_neighbours(born)} becomes alive; any other dead cell stays dead.",
        ),
        f"{ASKS[ask][0]} after T steps.",
    )

    def draw(rng: RngStream, size: int, steps: int) -> str:
        rows, cols = 1 if flat else count(rng, size, 2), count(rng, size, 3)
        grid = ["".join(rng.pick("#..") for _ in range(cols)) for _ in range(rows)]
        return page(line((rows, cols, between(rng, 1, rng.pick((3, steps))))), *grid)

    return Problem(
        title="Cells on a strip" if flat else "Cells in a grid",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains three integers R, C and T: the numbers of rows, columns and steps.\n"
            "Each of the next R lines contains C characters: the cells of a row at the start, from left to right.",
            prints=fill(ASKS[ask][2], tired=", with o for a tired one" if tired else "").strip(),
            input=Input(
                Line("R C T"),
                Lines("R", "row", row=letters("#.")),
                "R = 1" if flat else f"1 <= R <= {most}",
                f"1 <= C <= {most}",
                f"0 <= T <= {power(steps)}",
                Limit(
                    f"every row has C characters, each '#' or '.'{when(tired, ' (no cell is tired at the start)')}",
                    lambda row, C: len(row) == C,
                ),
            ),
        ),
        reference=reference,
        brute=fill(BRUTE, spot="(i - a) % R, (j - b) % C" if wraps else "i - a, j - b", **names),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(most, 6), min(steps, 30)),
        full=lambda rng: draw(rng, most, steps),
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
