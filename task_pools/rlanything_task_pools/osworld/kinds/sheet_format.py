"""Cells of a sheet get another look."""

from rlanything_task_pools.osworld.checks import compared
from rlanything_task_pools.osworld.kinds._sheets import SAVE, book, draw_table
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, opened, pressed
from rlanything_task_pools.osworld.office import Look, Sheet
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

PERCENT = "0.00%"


def make(rng: RngStream, words: Words) -> State:
    """A price list that looks plain."""
    table = draw_table(rng, words, 4 + rng.below(3))
    row = 2 + rng.below(len(table.items))
    item = table.items[row - 2]
    head = ("A1", "B1", "C1")
    prices = [f"C{number}" for number in range(2, table.last + 1)]

    def level(goal: str, sheet: Sheet, steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        rule = {"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["font_bold", "number_format"]}
        data = {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}
        gold = book(sheet)
        return Level(
            f'In the spreadsheet "{table.file}" on the Desktop, {goal}. Save the file.',
            compared("compare_table", table.path, gold, rules=[data, rule]),
            {table.path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    bold, percent = Look(bold=True), Look(number_format=PERCENT)
    how = "Select the cells and press Ctrl+B."
    where = f"The item {item} is in row {row}."
    shown = "Select the cells and press Ctrl+Shift+5."
    plain = table.sheet
    line = [f"{column}{row}" for column in "ABC"]
    to_prices = [pressed("ctrl+home", "right*2", "down", f"shift+down*{len(prices) - 1}"), pressed("ctrl+shift+5")]
    to_row = [pressed("ctrl+home", f"down*{row - 1}", "shift+right*2"), pressed("ctrl+b")]
    to_head = [pressed("ctrl+home", "shift+right*2"), pressed("ctrl+b")]
    with_percent = "show the prices as percentages with two decimals, without changing their values"
    return State(
        files={table.path: book(plain)},
        levels=[
            level("make the three cells of the header bold", plain.look(head, bold), 2, (how,), to_head),
            level(
                f"make the three cells of the row of {item} bold, and no others",
                plain.look(line, bold),
                3,
                (how, where),
                to_row,
            ),
            level(with_percent, plain.look(prices, percent), 3.5, (shown,), to_prices),
            level(
                f"make the three cells of the header bold, and {with_percent}",
                plain.look(head, bold).look(prices, percent),
                5,
                (how, shown),
                to_head + to_prices,
            ),
        ],
        opened=[opened(table.path)],
    )


KIND = Kind("sheet_format", ("libreoffice_calc",), make)
