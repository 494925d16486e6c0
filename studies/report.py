"""Report of a study: results.parquet, curves.parquet, table.md, table.tex, figures and index.html."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import yaml

from rlanything_agents.runs.folder import write_atomically
from rlanything_agents.runs.report.page import page_templates
from studies.figures import draw_curves, draw_forest, save_figure
from studies.jobs import stored_runs
from studies.plan import BEFORE, StudyError, StudyFile
from studies.results import read_curves, read_results
from studies.tables import Table, differences, iter_tables, measures_of, ordered

__all__ = ["read_study", "write_frame", "write_study_report"]

CURVE_CHARTS = (
    ("panel.0", "success, in-domain panel"),
    ("panel.1", "success, out-of-domain panel"),
    ("success.active", "success on training tasks"),
    ("feedback.policy_kept", "groups that teach the policy (share)"),
    ("judge_quality.process_balanced", "judge, balanced process accuracy"),
    ("policy.entropy", "entropy of sampled tokens (nats)"),
)
ACCEPTED_CHARTS = (("tasks.accepted", "accepted tasks"), ("tasks.proposed", "proposed tasks, proved solvable"))
SMOOTH = 3
"""Iterations in the running mean that is drawn."""


def read_study(folder: Path) -> StudyFile:
    """The study file a folder was made with.

    Raises:
        StudyError: It is not the folder of a study.
    """
    path = folder / "study.json"
    if not path.is_file():
        raise StudyError(f"{folder} is not the folder of a study (no study.json)")
    return StudyFile.model_validate_json(path.read_text(encoding="utf-8"))


def write_study_report(folder: Path) -> Path:
    """Write everything that shows a study, finished or not; return the page.

    Raises:
        StudyError: It is not the folder of a study.
    """
    study = read_study(folder)
    results, curves = read_results(folder), read_curves(folder)
    write_frame(results, folder / "results.parquet")
    write_frame(curves, folder / "curves.parquet")
    regimes = [name for name in study.regimes if name in {*results.regime, *curves.regime}]
    sections: list[dict[str, Any]] = []
    tables: list[Table] = []
    for regime in regimes:
        panels = panels_of(folder, regime)
        measures = measures_of(panels)
        of_regime = list(iter_tables(results, study, regime, measures)) if (results.regime == regime).any() else []
        tables += of_regime
        arms = ordered(study, sorted({*results[results.regime == regime].arm, *curves[curves.regime == regime].arm}))
        figures = {
            "forest": draw_forest([(m.label, differences(results, study, regime, m)) for m in measures[: len(panels)]]),
            "curves": draw_curves(_named(curves, regime, panels), arms, CURVE_CHARTS, smooth=SMOOTH),
            "accepted": draw_curves(_named(curves, regime, panels), arms, ACCEPTED_CHARTS),
        }
        sections.append(
            {
                "name": regime,
                "meaning": study.regimes[regime].meaning,
                "tables": of_regime,
                "arms": [(arm, _meaning(study, arm)) for arm in arms],
                "figures": [
                    save_figure(figure, folder / "figures" / f"{regime}-{name}")
                    for name, figure in figures.items()
                    if figure is not None
                ],
            }
        )
    _write_tables(tables, folder)
    page = folder / "index.html"
    html = (
        page_templates("studies")
        .get_template("study.html.j2")
        .render(
            study=study,
            sections=sections,
            command=_text(folder / "command.txt"),
            versions=json.loads(_text(folder / "versions.json") or "{}"),
            progress=_progress(folder),
        )
    )
    write_atomically(page, html)
    return page


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a Parquet file at once."""
    scratch = path.with_name(f"{path.name}.part")
    frame.to_parquet(scratch, index=False)
    scratch.replace(path)


def _write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write table.md and table.tex."""
    empty = "No run has ended yet.\n"
    write_atomically(folder / "table.md", "\n".join(table.markdown() for table in tables) or empty)
    write_atomically(folder / "table.tex", "\n".join(table.latex() for table in tables) or f"% {empty}")


def panels_of(folder: Path, regime: str) -> list[str]:
    """The panels of a regime, in-domain first."""
    config = yaml.safe_load((folder / "configs" / regime / f"{BEFORE}.yaml").read_text(encoding="utf-8"))
    return list(config["evaluation"]["panels"])


def _named(curves: pd.DataFrame, regime: str, panels: Sequence[str]) -> pd.DataFrame:
    """Curves of a regime, panels called by their number."""
    names = {f"panel.{panel}": f"panel.{number}" for number, panel in enumerate(panels)}
    found = curves[curves.regime == regime]
    return found.assign(metric=found.metric.replace(names))


def _meaning(study: StudyFile, arm: str) -> str:
    if arm == BEFORE:
        return "The warm start that all arms of a seed share, untrained."
    return study.variants[arm].meaning if arm in study.variants else ""


def _progress(folder: Path) -> str:
    runs = [(key, run) for key, run in stored_runs(folder) if key.arm != BEFORE]
    done = sum(run.summary.exists() for _, run in runs)
    return f"{done} of {len(runs)} runs that were begun have ended."


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
