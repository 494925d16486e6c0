"""Output for scripts: JSON on standard output, and nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

__all__ = ["AsJson", "AsLines", "print_json", "print_lines"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
AsLines = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that JSON does not have (NaN, infinities) are null."""
    typer.echo(json.dumps(_finite(value), indent=1, allow_nan=False))


def print_lines(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print one JSON object per line; see `print_json`."""
    for row in rows:
        typer.echo(json.dumps(_finite(row), sort_keys=True, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value
