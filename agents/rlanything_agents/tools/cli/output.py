"""Output of the command line: JSON for scripts, untrusted text on a console, and errors in one line."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rlanything_verifiers.plain_text import printable

__all__ = ["AsJson", "AsLines", "console", "error_console", "plain_errors", "plain_text", "print_json", "print_lines"]

WIDTH = 100
"""Columns of an output that is not a terminal."""
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


def console() -> Console:
    """Console without markup and without automatic highlighting."""
    return Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def error_console() -> Console:
    """Console on standard error for progress, since standard output is for results."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def plain_text(value: str, style: str = "") -> Text:
    """Untrusted text for the screen, without markup and without characters that move the cursor."""
    return Text(printable(value), style=style)


@contextmanager
def plain_errors(*packages: str) -> Iterator[None]:
    """Print errors of this project as one line, and exit with 2 or the error's own code; other errors are raised.

    Errors of this project name the thing, the place and the remedy, which a traceback would hide.

    Args:
        packages: Further packages whose errors are printed as one line.
    """
    try:
        yield
    except (ValueError, LookupError, RuntimeError, ImportError) as error:
        if not type(error).__module__.startswith(("rlanything_", *packages)):
            raise
        typer.echo(f"error: {printable(str(error))}", err=True)
        raise typer.Exit(getattr(error, "exit_code", 2)) from None
