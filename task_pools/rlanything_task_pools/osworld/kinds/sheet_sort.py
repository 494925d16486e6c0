"""Rows of a sheet are sorted."""

from collections.abc import Callable
from typing import Any

from rlanything_task_pools.osworld.checks import compared
from rlanything_task_pools.osworld.kinds._sheets import HEAD, SAVE, book, draw_table
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, opened, pressed, typed
from rlanything_task_pools.osworld.office import Sheet
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

Row = tuple[str, int, int]


def make(rng: RngStream, words: Words) -> State:
    """A price list in no order."""
    table = draw_table(rng, words, 5 + rng.below(3))
    rows: list[Row] = list(zip(table.items, table.amounts, table.prices, strict=True))

    def level(how: str, key: Callable[[Row], Any], down: bool, steps: float, hint: str, keys: list[str]) -> Level:
        done = Sheet(table.name, [HEAD, *sorted(rows, key=key, reverse=down)])
        gold = book(done)
        return Level(
            f'In the spreadsheet "{table.file}" on the Desktop, sort the rows below the header {how}. Save the file.',
            compared("compare_table", table.path, gold, rules=[_same_data()]),
            {table.path: gold},
            steps,
            (hint, "The header has to stay in the first row.", "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    quick = "Put the cursor into the column and choose Sort Ascending or Sort Descending in the menu Data."
    return State(
        files={table.path: book(table.sheet)},
        levels=[
            level("by item, from A to Z", lambda row: row[0], False, 3, quick, _sorted(0, False)),
            level("by price, the highest first", lambda row: -row[2], False, 3.5, quick, _sorted(2, True)),
            level(
                "by the length of the item, the shortest first, and items of the same length from A to Z",
                lambda row: (len(row[0]), row[0]),
                False,
                9,
                "A short list can be typed anew.",
                _retyped(sorted(rows, key=lambda row: (len(row[0]), row[0]))),
            ),
        ],
        opened=[opened(table.path)],
    )


def _same_data() -> dict[str, Any]:
    return {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}


def _sorted(column: int, down: bool) -> list[str]:
    return [pressed("ctrl+home", f"right*{column}"), pressed("alt+d"), pressed(f"down*{2 if down else 1}", "enter")]


def _retyped(rows: list[Row]) -> list[str]:
    lines = [pressed("ctrl+home", "down")]
    for item, amount, price in rows:
        cells = [typed(item), pressed("tab"), typed(str(amount)), pressed("tab"), typed(str(price)), pressed("enter")]
        lines.append("; ".join(cells))
    return lines


KIND = Kind("sheet_sort", ("libreoffice_calc",), make)
