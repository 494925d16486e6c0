"""Rows of a table in a CSV file are changed in a text editor."""

from rlanything_task_pools.osworld.checks import csv_is
from rlanything_task_pools.osworld.kinds._editing import SAVE, appended, with_line, without_line
from rlanything_task_pools.osworld.kinds.base import DESKTOP, Kind, Level, State, draw_several, launched
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A price list."""
    name = f"{rng.pick(words.topics)}.csv"
    path = f"{DESKTOP}/{name}"
    *items, new = draw_several(rng, words.items, 5 + rng.below(2))
    amounts = [2 + rng.below(40) for _ in items]
    prices = [3 + number for number in rng.shuffled(40)[: len(items)]]
    rows = [f"{item},{amount},{price}" for item, amount, price in zip(items, amounts, prices, strict=True)]
    changed, gone = rng.shuffled(len(rows))[:2]
    price, amount = prices[changed] + 50, 50 + rng.below(40)
    other = f"{items[changed]},{amounts[changed]},{price}"
    more = f"{new},{amount},{price + 1}"

    def level(goal: str, after: list[str], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        text = _text(after)
        return Level(
            f'In the table "{name}" on the Desktop, {goal} Save the file.',
            csv_is(path, text),
            {path: text.encode()},
            steps,
            (*hints, "Values are separated by commas, without blanks.", "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    adding = f'add a row at the end: item "{new}", amount {amount}, price {price + 1}.'
    changing = f'change the price of "{items[changed]}" to {price}'
    with_other = [other if row == rows[changed] else row for row in rows]
    end = "Ctrl+End goes to the end of the file."
    where = f'The row of "{items[changed]}" is line {changed + 2}.'
    return State(
        files={path: _text(rows).encode()},
        levels=[
            level(adding, [*rows, more], 2, (end,), appended([more])),
            level(f"{changing}.", with_other, 3, (where,), with_line(1 + changed, other)),
            level(
                f"{changing}, and {adding}",
                [*with_other, more],
                5,
                (where, end),
                with_line(1 + changed, other) + appended([more]),
            ),
            level(
                f'remove the row of "{items[gone]}", {changing}, and {adding}',
                [*(row for row in with_other if row != rows[gone]), more],
                7,
                (where, "Home and Shift+Down select a line, Delete removes it."),
                with_line(1 + changed, other) + appended([more]) + without_line(1 + gone),
            ),
        ],
        opened=[launched("gedit", path)],
    )


def _text(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in ["item,amount,price", *rows])


KIND = Kind("edit_csv", ("os",), make)
