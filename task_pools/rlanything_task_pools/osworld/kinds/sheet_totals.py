"""Sums, averages and products are put into cells."""

from rlanything_task_pools.osworld.checks import cells
from rlanything_task_pools.osworld.kinds._sheets import SAVE, book, draw_table, filled
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, opened
from rlanything_task_pools.osworld.office.workbook import Value
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A price list that lacks totals."""
    table = draw_table(rng, words, 4)
    sheet, last = table.sheet, table.last
    end = last + 1
    blank: dict[str, Value] = dict.fromkeys([f"A{end}", f"C{end}", f"D{end}", f"A{end + 1}", "D1"])
    products = [amount * price for amount, price in zip(table.amounts, table.prices, strict=True)]

    def level(goal: str, values: dict[str, Value], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        done = sheet
        for cell, value in values.items():
            done = done.put(cell, value)
        return Level(
            f'In the spreadsheet "{table.file}" on the Desktop, {goal} Save the file.',
            cells(table.path, {"B2": table.amounts[0], f"C{last}": table.prices[-1], **blank, **values}),
            {table.path: book(done)},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    amounts: dict[str, Value] = {f"A{end}": "total", f"B{end}": sum(table.amounts)}
    prices: dict[str, Value] = {f"C{end}": sum(table.prices)}
    mean: dict[str, Value] = {f"A{end + 1}": "mean", f"B{end + 1}": sum(table.amounts) / 4}
    values: dict[str, Value] = {"D1": "value"} | {f"D{row + 2}": product for row, product in enumerate(products)}
    total = f'write "total" into cell A{end} and the sum of all amounts into cell B{end}'
    formula = f"A formula such as =SUM(B2:B{last}) puts the sum of a column into a cell."
    product = "A formula such as =B2*C2 multiplies two cells."
    keys = filled(0, end - 1, "total", f"=SUM(B2:B{last})")
    below = [filled(3, 0, "value"), *(filled(3, row - 1, f"=B{row}*C{row}") for row in range(2, end))]
    return State(
        files={table.path: book(sheet)},
        levels=[
            level(f"{total}.", amounts, 3, (formula,), [keys]),
            level(
                f"{total}, and the sum of all prices into cell C{end}.",
                amounts | prices,
                4,
                (formula,),
                [keys, filled(2, end - 1, f"=SUM(C2:C{last})")],
            ),
            level(
                f'{total}. Write "mean" into cell A{end + 1} and the average of all amounts into cell B{end + 1}.',
                amounts | mean,
                5,
                (formula, f"=AVERAGE(B2:B{last}) is the average of a column."),
                [keys, filled(0, end, "mean", f"=AVERAGE(B2:B{last})")],
            ),
            level(
                'write "value" into cell D1, and below it, for each item, its amount times its price.',
                values,
                7,
                (product, "The formula of a row uses the cells of this row."),
                below,
            ),
            level(
                f'write "value" into cell D1, and below it, for each item, its amount times its price. Then {total}, '
                f"and the sum of the values into cell D{end}.",
                {**values, **amounts, f"D{end}": sum(products)},
                11,
                (product, formula),
                [*below, keys, filled(3, end - 1, f"=SUM(D2:D{last})")],
            ),
        ],
        opened=[opened(table.path)],
    )


KIND = Kind("sheet_totals", ("libreoffice_calc",), make)
