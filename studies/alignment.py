"""``studies alignment``: do a judge's step rewards bring an update closer to the gradient of success?

The report: cosines of small batches, their differences to outcomes alone, bias and noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from rlanything_agents.runs.folder import write_atomically
from studies.figures import colours_of, new_figure, save_figure
from studies.report import write_frame
from studies.statistics import MIN_SEEDS, Estimate, estimate
from studies.tables import NONE, Table
from studies.updates import GROUPS, OUTCOME, PLAIN

__all__ = ["read_alignment", "write_alignment"]

CLAIM = (
    "**Claim.** A judge's step rewards bring the update from a small batch closer to the gradient of success than "
    "outcomes alone do."
)
REFUTED = (
    "**What would refute it**, set down before the run: at no lambda, group size and treatment of silent groups is the "
    "trained judge's mean cosine with the gradient of success above that of outcomes alone (paired on the same "
    "batches, 95 % interval over the batches of all seeds). Supported in a cell only if, besides, the mean difference "
    "is above 0 in every seed."
)

Kind = tuple[str, float, str]


def read_alignment(folder: Path) -> tuple[pd.DataFrame, list[dict[str, object]]]:
    """One row for each kind of update, group size and seed; and the totals of each seed."""
    rows, seeds = [], []
    for path in sorted(folder.glob("align/seed-*/result.json")):
        seed = int(path.parent.name.removeprefix("seed-"))
        result = json.loads(path.read_text(encoding="utf-8"))
        rows += [{"seed": seed, **row} for row in result.pop("rows")]
        seeds.append({"seed": seed, **result})
    return pd.DataFrame(rows), seeds


def write_alignment(folder: Path) -> Path:
    """Write alignment.parquet, alignment.md and the figure from the results so far; return the Markdown."""
    results, seeds = read_alignment(folder)
    text = "No seed has been compared yet.\n"
    if seeds:
        write_frame(results, folder / "alignment.parquet")
        save_figure(_draw(results), folder / "figures" / "alignment")
        tables = [_cosine_table(results), _difference_table(results), _mean_table(results)]
        text = "\n".join([CLAIM, "", REFUTED, "", *(table.markdown() for table in tables), _seed_note(seeds), ""])
    page = folder / "alignment.md"
    write_atomically(page, text)
    return page


def _differences(results: pd.DataFrame, kind: Kind, size: int) -> dict[int, NDArray[np.float64]]:
    """By seed, cosine of each batch less that of outcomes alone on the same batch."""
    ours, base = _cosines(results, kind, size), _cosines(results, (OUTCOME, 0.0, ""), size)
    return {seed: ours[seed] - base[seed] for seed in ours}


def _cosine_table(results: pd.DataFrame) -> Table:
    """Mean cosine of a small batch's update with the gradient of success."""

    def cell(kind: Kind, size: int) -> str:
        found = _cosines(results, kind, size)
        return _text(estimate(np.concatenate(list(found.values())).tolist()))

    return _table(
        results,
        "Cosine of a small batch's update with the gradient of success",
        "Means over the batches of all seeds with 95 % intervals over batches. The gradient's own noise is corrected "
        "for; a batch without an update counts 0. Groups of one outcome are dropped (the paper's filter) or included; "
        "masked: dropped, and so are step indices where all that are left share one outcome (the preset `masked`).",
        cell,
    )


def _difference_table(results: pd.DataFrame) -> Table:
    """Cosine of each kind of update less that of outcomes alone."""

    def cell(kind: Kind, size: int) -> str:
        found = _differences(results, kind, size)
        pooled = estimate(np.concatenate(list(found.values())).tolist())
        means = [float(values.mean()) for values in found.values()]
        every = all(mean > 0 for mean in means) or all(mean < 0 for mean in means)
        clear = pooled.low is not None and pooled.high is not None and (pooled.low > 0 or pooled.high < 0)
        text = _text(pooled, signed=True) + ("*" if clear and every else "")
        if (over := estimate(means)).low is not None:
            text += f" ({over.low:+.3f} to {over.high:+.3f})"
        return text

    return _table(
        results,
        "Cosine less that of outcomes alone",
        "Paired on the same batches; brackets: 95 % intervals over the batches of all seeds; parentheses, from "
        f"{MIN_SEEDS} seeds on: 95 % Student intervals over seeds. * the bracket excludes 0, and the seeds agree.",
        cell,
        without=(OUTCOME,),
    )


def _mean_table(results: pd.DataFrame) -> Table:
    """Bias and variance of the updates."""

    def cell(kind: Kind, size: int) -> str:
        rows = _rows(results, kind, size)
        cells = []
        for measure in ("bias", "noise"):
            values = rows[measure].dropna().tolist()
            cells.append(f"{np.mean(values):.2f}" if values else NONE)
        return f"{cells[0]}, {cells[1]}, {100 * rows['empty'].mean():.0f} %"

    return _table(
        results,
        "Bias and noise",
        "Cosine of the mean update with the gradient of success (1: no bias); variance of the updates over the square "
        "of their mean; share of batches without an update. Means over seeds.",
        cell,
    )


def _seed_note(seeds: Sequence[dict[str, object]]) -> str:
    """The totals of each seed, in words."""
    return "\n".join(
        f"Seed {row['seed']}: {row['played']:,} episodes, {100 * float(str(row['success'])):.1f} % solved; cosine of "
        f"the two halves of the reference {float(str(row['halves'])):.2f}.  "
        for row in seeds
    )


def _draw(results: pd.DataFrame) -> Any:
    """A chart for each group size: cosines of batches above, of the mean update below."""
    sizes = sorted(results["size"].unique())
    figure, grid = new_figure(2 * len(sizes), len(sizes))
    sources = [name for name in dict.fromkeys(results.source) if name not in (PLAIN, OUTCOME)]
    lams = sorted(set(results.lam) - {0.0})
    colours = colours_of([PLAIN, *(f"lambda {lam:g}" for lam in lams)])
    for number, axes in enumerate(grid):
        size, bias = sizes[number % len(sizes)], number >= len(sizes)
        for name, colour in ((OUTCOME, "#000000"), (PLAIN, colours[PLAIN])):
            at = _shown(results, (name, 0.0, ""), size, bias)
            if at is not None:
                axes.axvline(at.mean, color=colour, linewidth=1.2, label=name)
                if at.low is not None and at.high is not None:
                    axes.axvspan(at.low, at.high, color=colour, alpha=0.08, linewidth=0)
        for row, source in enumerate(sources):
            for k, lam in enumerate(lams):
                for m, silent in enumerate(GROUPS):
                    at = _shown(results, (source, lam, silent), size, bias)
                    if at is None:
                        continue
                    y = -row + 0.3 - 0.6 * (len(GROUPS) * k + m) / max(1, len(GROUPS) * len(lams) - 1)
                    colour = colours[f"lambda {lam:g}"]
                    if at.low is not None and at.high is not None:
                        axes.plot([at.low, at.high], [y, y], color=colour, linewidth=1.2, alpha=0.7)
                    label = f"lambda {lam:g}, silent groups {silent}" if not row else None
                    axes.plot([at.mean], [y], "osD"[m], color=colour, markersize=4, label=label, fillstyle=_FILL[m])
        axes.axvline(0, color="#d0d7de", linewidth=0.8, zorder=0)
        axes.set_yticks([-row for row in range(len(sources))], sources if number % len(sizes) == 0 else [], fontsize=8)
        what = "cosine of the mean update (bias)" if bias else "cosine of a batch's update"
        axes.set_title(f"groups of {size}: {what}", loc="left", fontsize=9, fontweight="bold")
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25, axis="x")
        axes.spines[["top", "right"]].set_visible(False)
    labels = {artist.get_label(): artist for axes in grid for artist in axes.lines if artist.get_label()[0] != "_"}
    figure.legend(labels.values(), labels, loc="outside upper center", ncols=4, fontsize=8, frameon=False)
    return figure


_FILL = ("full", "none", "full")


def _shown(results: pd.DataFrame, kind: Kind, size: int, bias: bool) -> Estimate | None:
    if not bias:
        return estimate(np.concatenate(list(_cosines(results, kind, size).values())).tolist())
    values = _rows(results, kind, size)["bias"].dropna().tolist()
    return estimate(values) if values else None


def _table(
    results: pd.DataFrame, title: str, note: str, cell: Callable[[Kind, int], str], without: Sequence[str] = ()
) -> Table:
    sizes = sorted(int(size) for size in results["size"].unique())
    kinds = dict.fromkeys(
        (str(s), float(lam), str(g)) for s, lam, g in zip(results.source, results.lam, results.silent, strict=True)
    )
    rows = [
        (kind[0], f"{kind[1]:g}" if kind[1] else "", kind[2], *(cell(kind, size) for size in sizes))
        for kind in kinds
        if kind[0] not in without
    ]
    header = ("step rewards", "lambda", "silent groups", *(f"groups of {size}" for size in sizes))
    return Table(title=title, note=note, header=header, rows=tuple(rows))


def _rows(results: pd.DataFrame, kind: Kind, size: int) -> pd.DataFrame:
    source, lam, silent = kind
    return results[
        (results.source == source) & (results.lam == lam) & (results.silent == silent) & (results["size"] == size)
    ]


def _cosines(results: pd.DataFrame, kind: Kind, size: int) -> dict[int, NDArray[np.float64]]:
    rows = _rows(results, kind, size)
    return {int(seed): np.asarray(values) for seed, values in zip(rows.seed, rows.cosines, strict=True)}


def _text(value: Estimate, *, signed: bool = False) -> str:
    form = "+.3f" if signed else ".3f"
    text = format(value.mean, form)
    return text if value.low is None else f"{text} [{value.low:{form}}, {value.high:{form}}]"
