"""Errors on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from rlanything_verifiers.plain_text import printable

__all__ = ["plain_errors"]


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
