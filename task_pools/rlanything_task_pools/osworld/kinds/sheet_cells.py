"""Values of cells are changed, and rows are added."""

from rlanything_task_pools.osworld.checks import cells
from rlanything_task_pools.osworld.kinds._sheets import SAVE, book, draw_table, filled
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, opened
from rlanything_task_pools.osworld.office.workbook import Value
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A price list."""
    table = draw_table(rng, words, 4 + rng.below(3))
    sheet, end = table.sheet, table.last + 1
    one, two = rng.shuffled(len(table.items))[:2]
    amount, price = 100 + rng.below(100), 200 + rng.below(100)
    new, more = table.spare
    before = {f"{column}{end}": None for column in "ABC"} | {f"A{end + 1}": None}

    def level(goal: str, values: dict[str, Value], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        done = sheet
        for cell, value in values.items():
            done = done.put(cell, value)
        known: dict[str, Value] = {f"B{row + 2}": amount for row, amount in enumerate(table.amounts)}
        known |= {f"C{row + 2}": price for row, price in enumerate(table.prices)}
        return Level(
            f'In the spreadsheet "{table.file}" on the Desktop, {goal} Save the file.',
            cells(table.path, {**known, **before, **values}),
            {table.path: book(done)},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    first: dict[str, Value] = {f"B{one + 2}": amount}
    second: dict[str, Value] = {f"C{two + 2}": price}
    row: dict[str, Value] = {f"A{end}": new, f"B{end}": amount + 7, f"C{end}": price + 9}
    last: dict[str, Value] = {f"A{end + 1}": more, f"B{end + 1}": amount + 8, f"C{end + 1}": price + 3}
    change = f"set the amount of {table.items[one]} to {amount}"
    price_too = f"the price of {table.items[two]} to {price}"
    added = f"add a row at the end: item {new}, amount {amount + 7}, price {price + 9}"
    at_first = f"The amount of {table.items[one]} is in cell B{one + 2}."
    below = f"The first empty row is row {end}."
    keys = filled(1, one + 1, amount)
    row_keys = filled(0, end - 1, *row.values())
    return State(
        files={table.path: book(sheet)},
        levels=[
            level(f"{change}.", first, 2, (at_first,), [keys]),
            level(f"{added}.", row, 4, (below, "Tab goes to the next cell of a row."), [row_keys]),
            level(
                f"{change} and {price_too}, and {added}.",
                first | second | row,
                7,
                (at_first, below),
                [keys, filled(2, two + 1, price), row_keys],
            ),
            level(
                f"{change}, {added}, and then another one: item {more}, amount {amount + 8}, price {price + 3}.",
                first | row | last,
                9,
                (at_first, below),
                [keys, row_keys, filled(0, end, *last.values())],
            ),
        ],
        opened=[opened(table.path)],
    )


KIND = Kind("sheet_cells", ("libreoffice_calc",), make)
