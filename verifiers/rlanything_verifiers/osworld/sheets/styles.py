"""Formats of cells, conditional formats included."""

from __future__ import annotations

import operator
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

__all__ = ["STYLES", "blank", "read", "shown"]

_MOST = 3_000_000
"""Cells that conditional formats look at, counted for each rule and for each 100 characters: some ten seconds."""


def _color(color: Any) -> str | None:
    """A colour as ``FFRRGGBB``; one of the theme by its number."""
    from openpyxl.styles.colors import COLOR_INDEX

    if color is None:
        return None
    if color.type == "rgb":
        return f"FF{str(color.rgb)[-6:]}"
    if color.type == "indexed":
        return f"FF{COLOR_INDEX[color.indexed][-6:]}" if color.indexed < len(COLOR_INDEX) else None
    return f"{color.type}:{getattr(color, color.type)}:{color.tint:.3f}"


def _number_format(cell: Any, source: Any) -> Any:
    if cell.value is None or cell.data_type != "n":
        return None
    return cell.number_format if source is cell else source.numFmt and source.numFmt.formatCode


def _font(attribute: str) -> Callable[[Any, Any], Any]:
    def of(cell: Any, source: Any) -> Any:
        return getattr(source.font, attribute, None) if cell.value is not None else None

    return of


def _font_color(cell: Any, source: Any) -> Any:
    return _color(getattr(source.font, "color", None)) if cell.value is not None else None


def _fill_color(cell: Any, source: Any) -> Any:
    fill = source.fill
    if source is not cell:  # a conditional format keeps the colour of a solid fill in the other place
        return fill and (_color(fill.bgColor) if fill.bgColor.type else _color(fill.fgColor))
    return None if fill.tagname != "patternFill" else _color(fill.fgColor) if fill.fill_type else "00000000"


def _fill_type(cell: Any, source: Any) -> Any:
    return source.fill and source.fill.tagname


def _hyperlink(cell: Any, source: Any) -> Any:
    return ((link := cell.hyperlink) and (link.target or link.location)) or "" if cell.value is not None else None


def _merged(cell: Any, source: Any) -> bool:
    from openpyxl.cell.cell import MergedCell

    return isinstance(cell, MergedCell)


STYLES: Mapping[str, Callable[[Any, Any], Any]] = {
    "number_format": _number_format,
    "font_name": _font("name"),
    "font_family": _font("family"),
    "font_color": _font_color,
    "font_bold": _font("bold"),
    "font_italic": _font("italic"),
    "font_underline": _font("underline"),
    "font_size": _font("size"),
    "fill_type": _fill_type,
    "bgcolor": _fill_color,
    "fgcolor": _fill_color,
    "hyperlink": _hyperlink,
    "merge": _merged,
}
"""The properties of a cell. Those of the font are None on a cell without a value."""

_BLANK: Mapping[str, Any] = {"fill_type": "patternFill", "bgcolor": "00000000", "fgcolor": "00000000", "merge": False}


def blank(name: str) -> Any:
    """The property of a cell that was never touched."""
    return _BLANK.get(name)


def read(cell: Any, name: str) -> Any:
    """The property of a cell."""
    return blank(name) if _merged(cell, cell) and name != "merge" else STYLES[name](cell, cell)


def shown(sheet: Any, cells: Mapping[tuple[int, int], Any], names: Sequence[str]) -> dict[tuple[int, int], list[Any]]:
    """The properties of all cells that differ from a cell never touched."""
    untouched = [blank(name) for name in names]
    found = {place: [read(cell, name) for name in names] for place, cell in cells.items()}
    for place, rule in _active(sheet, cells):
        for number, name in enumerate(names):
            value = STYLES[name](cells[place], rule.dxf) if name not in ("hyperlink", "merge") else None
            if value is not None:
                found[place][number] = value
    return {place: values for place, values in found.items() if values != untouched}


def _active(sheet: Any, cells: Mapping[tuple[int, int], Any]) -> Iterator[tuple[tuple[int, int], Any]]:
    """Cells and the conditional formats that apply to them, the most important last.

    Comparisons with constants or cells, texts, ranks, averages and duplicates are worked out; a format that depends on
    a formula of another kind is taken not to apply.
    """
    work = 0
    formats = [(rule, area) for area in sheet.conditional_formatting for rule in area.rules if rule.dxf]
    for rule, area in sorted(formats, key=lambda pair: -(pair[0].priority or 0)):
        inside: dict[tuple[int, int], Any] = {}
        for part in area.cells.ranges:
            rows, columns = range(part.min_row, part.max_row + 1), range(part.min_col, part.max_col + 1)
            few = len(rows) * len(columns) < len(cells)
            for place in product(rows, columns) if few else cells:
                cell = cells.get(place) if place[0] in rows and place[1] in columns else None
                if cell is not None and cell.value is not None:
                    inside[place] = cell.value
                    work += len(str(cell.value)) // 100
                if (work := work + 1) > _MOST:
                    raise ValueError(f"conditional formats look at more than {_MOST} cells")
        condition = _condition(rule, list(inside.values()), cells)
        yield from ((place, rule) for place, value in inside.items() if condition(value))


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "lessThan": operator.lt,
    "lessThanOrEqual": operator.le,
    "equal": operator.eq,
    "notEqual": operator.ne,
    "greaterThanOrEqual": operator.ge,
    "greaterThan": operator.gt,
}

_TEXTS: Mapping[str, Callable[[str, str], bool]] = {
    "containsText": lambda value, text: text in value,
    "notContainsText": lambda value, text: text not in value,
    "beginsWith": str.startswith,
    "endsWith": str.endswith,
}


def _condition(rule: Any, values: list[Any], cells: Mapping[tuple[int, int], Any]) -> Callable[[Any], bool]:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if rule.type == "cellIs":
        operands = [_operand(formula, cells) for formula in rule.formula]
        if rule.operator in ("between", "notBetween") and len(operands) == 2:
            wanted = rule.operator == "between"
            return lambda value: _ordered(operands, value, lambda low, it, high: (low <= it <= high) is wanted)
        if rule.operator in _COMPARED and len(operands) == 1:
            compare = _COMPARED[rule.operator]
            return lambda value: _ordered(operands, value, lambda low, it, high: compare(it, low))
    if rule.type in _TEXTS and rule.text is not None:
        matches, text = _TEXTS[rule.type], str(rule.text).lower()
        return lambda value: matches(str(value).lower(), text)
    if rule.type == "top10" and numbers:
        rank = max(1, int(len(numbers) * rule.rank / 100) if rule.percent else int(rule.rank))
        best = set(sorted(numbers, reverse=not rule.bottom)[:rank])
        return lambda value: value in best
    if rule.type == "aboveAverage" and numbers:
        mean, known = statistics.fmean(numbers), set(numbers)
        beyond = operator.lt if rule.aboveAverage is False else operator.gt
        return lambda value: value in known and (beyond(value, mean) or (bool(rule.equalAverage) and value == mean))
    if rule.type in ("duplicateValues", "uniqueValues"):
        count = Counter(map(_folded, values))
        several = rule.type == "duplicateValues"
        return lambda value: (count[_folded(value)] > 1) is several
    return lambda value: False


def _ordered(operands: list[Any], value: Any, compare: Callable[[Any, Any, Any], bool]) -> bool:
    try:
        return bool(compare(min(operands), value, max(operands)))
    except TypeError:
        return False


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _operand(formula: str, cells: Mapping[tuple[int, int], Any]) -> Any:
    """The value of ``5``, ``"text"`` or ``$A$1``; None for any other formula."""
    from openpyxl.utils.cell import coordinate_to_tuple
    from openpyxl.utils.exceptions import CellCoordinatesException

    if len(text := str(formula).strip()) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if text.upper() in ("TRUE", "FALSE"):
        return text.upper() == "TRUE"
    try:
        return float(text)
    except ValueError:
        pass
    try:
        cell = cells.get(coordinate_to_tuple(text.replace("$", "")))
    except (CellCoordinatesException, ValueError):
        return None
    return None if cell is None else cell.value
