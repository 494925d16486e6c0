"""Charts of a sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["CHART_PROPERTIES", "read"]


def _title(title: Any) -> str | None:
    rich = title and title.tx and title.tx.rich
    return None if not rich else "".join(run.t or "" for paragraph in rich.p for run in paragraph.r or [])


def _axis(name: str) -> Callable[[Any], str | None]:
    return lambda chart: _title(getattr(getattr(chart, name, None), "title", None))


def _anchor(chart: Any) -> list[Any]:
    anchor = chart.anchor
    corners = [getattr(anchor, name, None) for name in ("_from", "to")]
    return [getattr(anchor, "editAs", None), *[(corner.col, corner.row) for corner in corners if corner]]


CHART_PROPERTIES: Mapping[str, Callable[[Any], Any]] = {
    "title": lambda chart: _title(chart.title),
    "legend": lambda chart: chart.legend and chart.legend.position,
    "anchor": _anchor,
    "width": lambda chart: chart.width,
    "height": lambda chart: chart.height,
    "type": lambda chart: chart.tagname,
    "direction": lambda chart: getattr(chart, "barDir", None),
    "xtitle": _axis("x_axis"),
    "ytitle": _axis("y_axis"),
    "ztitle": _axis("z_axis"),
}
"""Properties of a chart that can be compared."""


def read(sheet: Any, names: set[str]) -> list[Any]:
    """The charts in the order of their data: the ranges of values and categories, and some properties."""
    found = [
        ([_series(series) for series in chart.series], {name: CHART_PROPERTIES[name](chart) for name in names})
        for chart in sheet._charts
    ]
    return sorted(found, key=repr)


def _series(series: Any) -> tuple[str, str]:
    values = getattr(series, "val", None) or getattr(series, "yVal", None)
    categories = getattr(series, "cat", None) or getattr(series, "xVal", None)
    return _range(values), _range(categories)


def _range(source: Any) -> str:
    """``Sheet1!A1:A5``, without quotation marks and dollar signs."""
    for name in ("numRef", "strRef", "multiLvlStrRef"):
        if (reference := getattr(source, name, None)) is not None:
            return str(reference.f).replace("$", "").replace("'", "")
    return ""
