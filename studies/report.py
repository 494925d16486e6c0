"""Report of a study: results.parquet, curves.parquet, table.md and a figure for each regime."""

from __future__ import annotations

from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import yaml

from rlanything_agents.runs.folder import write_atomically
from studies.figures import draw_curves, save_figure
from studies.jobs import stored_runs
from studies.plan import BEFORE, StudyError, StudyFile
from studies.results import read_curves, read_results
from studies.tables import iter_tables, measures_of, ordered

__all__ = ["read_study", "write_frame", "write_study_report"]

CHARTS = (
    ("panel.0", "success, in-domain panel"),
    ("panel.1", "success, out-of-domain panel"),
    ("success.active", "success on training tasks"),
    ("feedback.policy_kept", "groups that teach the policy (share)"),
    ("judge_quality.process_balanced", "judge, balanced process accuracy, training episodes"),
    ("judge_quality.outcome_auc", "judge, outcome AUC, training episodes"),
    ("judge_quality.mid_auc", "judge, AUC in mid-episode, training episodes"),
    ("judge.likeliest", "judge, its most probable votes, fixed episodes"),
    ("policy.entropy", "entropy of sampled tokens (nats)"),
    ("tasks.accepted", "accepted tasks"),
    ("tasks.proposed", "proposed tasks, proved solvable"),
)
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
    """Write results.parquet, curves.parquet, figures and table.md of a study, finished or not; return the last.

    Raises:
        StudyError: It is not the folder of a study.
    """
    study = read_study(folder)
    results, curves = read_results(folder), read_curves(folder)
    write_frame(results, folder / "results.parquet")
    write_frame(curves, folder / "curves.parquet")
    lines = [f"# {study.name}", "", study.meaning, "", _progress(folder), "", f"```\n{_command(folder)}```"]
    for regime in (name for name in study.regimes if name in {*results.regime, *curves.regime}):
        lines += ["", f"## Regime {regime}", "", study.regimes[regime].meaning, ""]
        found, drawn = results[results.regime == regime], curves[curves.regime == regime]
        arms = ordered(study, sorted({*found.arm, *drawn.arm}))
        lines += [f"- `{arm}`: {study.variants[arm].meaning}" for arm in arms if arm in study.variants]
        panels = _panels_of(folder, regime)
        if len(found):
            lines += ["", *(table.markdown() for table in iter_tables(results, study, regime, measures_of(panels)))]
        names = {f"panel.{panel}": f"panel.{number}" for number, panel in enumerate(panels)}
        figure = draw_curves(drawn.assign(metric=drawn.metric.replace(names)), arms, CHARTS, smooth=SMOOTH)
        if figure is not None:
            save_figure(figure, folder / "figures" / f"{regime}-curves")
            lines += ["", f"![Curves](figures/{regime}-curves.png)"]
    page = folder / "table.md"
    write_atomically(page, "\n".join(lines) + "\n")
    return page


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a Parquet file at once."""
    scratch = path.with_name(f"{path.name}.part")
    frame.to_parquet(scratch, index=False)
    scratch.replace(path)


def _panels_of(folder: Path, regime: str) -> list[str]:
    """The panels of a regime, in-domain first."""
    config = yaml.safe_load((folder / "configs" / regime / f"{BEFORE}.yaml").read_text(encoding="utf-8"))
    return list(config["evaluation"]["panels"])


def _progress(folder: Path) -> str:
    runs = [(key, run) for key, run in stored_runs(folder) if key.arm != BEFORE]
    done = sum(run.summary.exists() for _, run in runs)
    return f"{done} of {len(runs)} runs that were begun have ended."


def _command(folder: Path) -> str:
    path = folder / "command.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""
