"""What the shell offers after Tab: names that the installed packages and files of this directory know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer

__all__ = ["arms", "config_keys", "domains", "panels", "regimes", "splits", "trackers"]


def domains(incomplete: str) -> list[str]:
    """Installed domains."""
    from rlanything_task_pools.domain import domain_names

    return _beginning(domain_names(), incomplete)


def splits(incomplete: str) -> list[str]:
    """Splits of the task generators."""
    from rlanything_task_pools.knobs import SPLITS

    return _beginning(SPLITS, incomplete)


def trackers(incomplete: str) -> list[str]:
    """Trackers."""
    from rlanything_agents.trackers import TRACKERS

    return _beginning(TRACKERS, incomplete)


def panels(incomplete: str) -> list[str]:
    """Panels that a study's policies can be played on."""
    return _beginning(
        ("train", "valid_seen", "valid_unseen", "train_official", "official_seen", "official_unseen"), incomplete
    )


def regimes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Regimes of the study file."""
    return _beginning(_study_file(ctx).get("regimes", {}), incomplete)


def arms(ctx: typer.Context, incomplete: str) -> list[str]:
    """Arms of the study file, or of the study in a folder."""
    study = _study_file(ctx)
    return _beginning([*study.get("variants", {}), *study.get("arms", [])], incomplete)


def config_keys(incomplete: str) -> list[str]:
    """Keys of a run's configuration, with their equals sign; those of a section once its name is complete."""
    from rlanything_agents.config import RunConfig

    return _beginning((f"{key}=" for key in _keys(RunConfig, "")), incomplete)


def _keys(model: Any, prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for inner in (field.annotation, *get_args(field.annotation)):
            if hasattr(inner, "model_fields"):
                yield from _keys(inner, f"{prefix}{name}.")


def _study_file(ctx: typer.Context) -> dict[str, Any]:
    from rlanything_verifiers.plain_yaml import read_yaml

    folder, file = ctx.params.get("folder"), ctx.params.get("file")
    default = f"configs/study/{ctx.info_name}.yaml"
    for path in (folder and Path(folder) / "study.json", file, Path(default)):
        try:
            found = read_yaml(Path(path).read_text(encoding="utf-8")) if path else None
        except (OSError, ValueError):
            continue
        if isinstance(found, dict):
            return found
    return {}


def _beginning(names: Any, incomplete: str) -> list[str]:
    return sorted({str(name) for name in names if str(name).startswith(incomplete)})
