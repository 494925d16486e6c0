"""Pivot tables, filters and sorting of a sheet."""

from __future__ import annotations

from typing import Any

__all__ = ["PIVOT_PROPERTIES", "filters", "read"]

PIVOT_PROPERTIES = frozenset(
    {
        "name",
        "show_total",
        "show_empty_row",
        "show_empty_col",
        "show_headers",
        "location",
        "filter",
        "selection",
        "ordered",
        "col_fields",
        "row_fields",
        "data_fields",
        "data_fields_name",
    }
)
"""Properties of a pivot table that can be compared; ``ordered`` and ``data_fields_name`` add to ``selection`` and
``data_fields``."""

_PLAIN = {
    "name": "name",
    "show_total": "visualTotals",
    "show_empty_row": "showEmptyRow",
    "show_empty_col": "showEmptyCol",
    "show_headers": "showHeaders",
}


def read(sheet: Any, names: set[str]) -> list[Any]:
    """The pivot tables in the order of their data: the range it comes from, and some properties."""
    return sorted((_pivot(pivot, names) for pivot in sheet._pivots), key=repr)


def _pivot(pivot: Any, names: set[str]) -> tuple[Any, dict[str, Any]]:
    """Fields are counted from the first one that has items, so that blank columns next to the data do not matter."""
    chosen = [[(item.h, item.x) for item in field.items if item.x is not None] for field in pivot.pivotFields]
    used = [number for number, items in enumerate(chosen) if items] or [0]
    first, last = used[0], used[-1]
    source = pivot.cache.cacheSource
    sheet, ref = source.worksheetSource.sheet, source.worksheetSource.ref
    area = (source.type, sheet, _shrunk(ref, first, len(chosen) - 1 - last))
    found: dict[str, Any] = {name: getattr(pivot, attribute) for name, attribute in _PLAIN.items() if name in names}
    if "location" in names:
        found["location"] = pivot.location and pivot.location.ref
    if names & {"filter", "selection"}:
        items = chosen[first : last + 1]
        found["selection"] = items if "ordered" in names else [sorted(part, key=repr) for part in items]
    if "filter" in names:
        found["filter"] = sorted(field.fld - first for field in pivot.pageFields)
    if "col_fields" in names:
        found["col_fields"] = [field.x - first for field in pivot.colFields]
    if "row_fields" in names:
        found["row_fields"] = [field.x - first for field in pivot.rowFields]
    if "data_fields" in names:
        found["data_fields"] = [
            (field.fld - first, field.name if "data_fields_name" in names else "", field.subtotal, field.showDataAs)
            for field in pivot.dataFields
        ]
    return area, found


def _shrunk(ref: str, left: int, right: int) -> tuple[int, int, int, int]:
    from openpyxl.utils.cell import range_boundaries

    first_column, first_row, last_column, last_row = (part or 0 for part in range_boundaries(ref))
    return first_row, first_column + left, last_row, last_column - right


def filters(sheet: Any) -> dict[str, Any]:
    """The filter of a sheet: its range, the accepted values of each column, and the sorting."""
    found = sheet.auto_filter
    columns = {}
    for column in found.filterColumn:
        values = column.filters and (bool(column.filters.blank), sorted(column.filters.filter))
        custom = column.customFilters and (
            bool(column.customFilters._and),
            sorted((part.operator or "", str(part.val)) for part in column.customFilters.customFilter),
        )
        columns[column.colId] = (bool(column.hiddenButton), column.showButton is not False, values, custom)
    state = found.sortState
    sorting = state and (
        bool(state.columnSort),
        bool(state.caseSensitive),
        state.ref,
        [(bool(part.descending), part.sortBy, part.ref, part.customList) for part in state.sortCondition],
    )
    return {"range": found.ref, "columns": columns, "sorting": sorting}
