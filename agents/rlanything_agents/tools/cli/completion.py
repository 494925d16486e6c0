"""Completions of the shell after Tab: names from the installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

__all__ = ["config_keys", "domains", "panels", "splits", "trackers"]


def domains(incomplete: str) -> list[str]:
    """Installed domains."""
    from rlanything_task_pools.domain import domain_names

    return _beginning(domain_names(), incomplete)


def panels(incomplete: str) -> list[str]:
    """Shipped panels."""
    from rlanything_task_pools.panel import panel_names

    return _beginning(panel_names(), incomplete)


def splits(incomplete: str) -> list[str]:
    """Splits of the task generators."""
    from rlanything_task_pools.knobs import SPLITS

    return _beginning(SPLITS, incomplete)


def trackers(incomplete: str) -> list[str]:
    """Trackers."""
    from rlanything_agents.config import TRACKERS

    return _beginning(TRACKERS, incomplete)


def config_keys(incomplete: str) -> list[str]:
    """Keys of a run's configuration with an equals sign; those of a section after its complete name."""
    from rlanything_agents.config import RunConfig

    return _beginning((f"{key}=" for key in _keys(RunConfig, "")), incomplete)


def _keys(model: Any, prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}"
        for inner in (field.annotation, *get_args(field.annotation)):
            if hasattr(inner, "model_fields"):
                yield from _keys(inner, f"{prefix}{name}.")


def _beginning(names: Any, incomplete: str) -> list[str]:
    return sorted({str(name) for name in names if str(name).startswith(incomplete)})
