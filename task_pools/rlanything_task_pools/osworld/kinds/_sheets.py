"""Sheets of items with amounts and prices, and keys for the spreadsheet program."""

from dataclasses import dataclass

from rlanything_task_pools.osworld.kinds.base import DESKTOP, draw_several, pressed, typed
from rlanything_task_pools.osworld.office import Sheet, Workbook
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream

__all__ = ["SAVE", "Table", "book", "draw_table", "filled"]

SAVE = pressed("ctrl+s")
HEAD = ("item", "amount", "price")


@dataclass(frozen=True, slots=True)
class Table:
    """A sheet of items."""

    path: str
    name: str
    """Of the sheet."""
    items: list[str]
    amounts: list[int]
    prices: list[int]
    spare: list[str]
    """Items that are not in it."""

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.path.rpartition("/")[2]

    @property
    def sheet(self) -> Sheet:
        """The sheet."""
        return Sheet(self.name, [HEAD, *zip(self.items, self.amounts, self.prices, strict=True)])

    @property
    def last(self) -> int:
        """The number of the last row, counted from 1 as the program does."""
        return len(self.items) + 1


def draw_table(rng: RngStream, words: Words, rows: int) -> Table:
    """A sheet of items with amounts and prices that all differ."""
    drawn = draw_several(rng, words.items, rows + 2)
    numbers = [2 + number for number in rng.shuffled(90)]
    return Table(
        path=f"{DESKTOP}/{rng.pick(words.topics)}.xlsx",
        name=rng.pick(words.places),
        items=drawn[:rows],
        amounts=numbers[:rows],
        prices=numbers[rows : 2 * rows],
        spare=drawn[rows:],
    )


def book(*sheets: Sheet) -> bytes:
    """The file of some sheets."""
    return Workbook(sheets).to_bytes()


def filled(column: int, row: int, *values: object) -> str:
    """The line that goes to a cell and fills it and those to its right; places are counted from 0."""
    texts = [typed(str(value)) for value in values]
    ends = [pressed("tab")] * (len(texts) - 1) + [pressed("enter")]
    typing = "; ".join(part for pair in zip(texts, ends, strict=True) for part in pair)
    return f"{pressed('ctrl+home', f'down*{row}', f'right*{column}')}; {typing}"
