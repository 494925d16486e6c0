"""Sheets get names, new sheets are added, and rows stay in place while others scroll."""

from dataclasses import replace

from rlanything_task_pools.osworld.checks import compared
from rlanything_task_pools.osworld.kinds._sheets import SAVE, book, draw_table
from rlanything_task_pools.osworld.kinds.base import Kind, Level, State, draw_several, named, opened, pressed
from rlanything_task_pools.osworld.office import Sheet
from rlanything_task_pools.osworld.words import Words
from rlanything_task_pools.rng_stream import RngStream


def make(rng: RngStream, words: Words) -> State:
    """A price list in a book of one sheet."""
    table = draw_table(rng, words, 6)
    name, more = draw_several(rng, [place for place in words.places if place != table.name], 2)
    sheet = table.sheet
    renamed, frozen = replace(sheet, name=name), replace(sheet, freeze="A2")
    both_done = replace(renamed, freeze="A2")

    def level(goal: str, sheets: list[Sheet], steps: float, hints: tuple[str, ...], keys: list[str]) -> Level:
        rules = [{"type": "sheet_name"}, {"type": "freeze", "sheet_idx0": 0, "sheet_idx1": "EI0"}]
        rules += [{"type": "sheet_data", "sheet_idx0": n, "sheet_idx1": f"EI{n}"} for n in range(len(sheets))]
        gold = book(*sheets)
        return Level(
            f'In the spreadsheet "{table.file}" on the Desktop, {goal}. Save the file.',
            compared("compare_table", table.path, gold, rules=rules),
            {table.path: gold},
            steps,
            (*hints, "Press Ctrl+S to save the file."),
            [*keys, SAVE],
        )

    rename = f'rename the sheet "{table.name}" to "{name}"'
    freeze = "freeze the first row, so that it stays in place when one scrolls"
    add = f'add an empty sheet named "{more}" after it'
    how = "Double-click the name of the sheet below the cells to change it."
    view = "Freeze Cells is in the menu View."
    new = "The menu Sheet inserts sheets."
    return State(
        files={table.path: book(sheet)},
        levels=[
            level(freeze, [frozen], 2, (view,), FREEZE),
            level(rename, [renamed], 3, (how,), _renamed(name)),
            level(f"{rename} and {freeze}", [both_done], 5, (how, view), _renamed(name) + FREEZE),
            level(f"{rename} and {add}", [renamed, Sheet(more, [])], 6, (how, new), _renamed(name) + _added(more)),
        ],
        opened=[opened(table.path)],
    )


FREEZE = [pressed("ctrl+home", "down", "alt+v"), pressed("down*13", "enter")]


def _renamed(name: str) -> list[str]:
    return [pressed("alt+s"), pressed("down*17", "enter"), named(name)]


def _added(name: str) -> list[str]:
    return [pressed("alt+s"), pressed("down*9", "enter"), named(name)]


KIND = Kind("sheet_layout", ("libreoffice_calc",), make)
