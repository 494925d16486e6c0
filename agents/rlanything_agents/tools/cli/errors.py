"""What a user of the command line sees of an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from rlanything_verifiers.plain_text import printable

__all__ = ["plain_errors"]


@contextmanager
def plain_errors(*packages: str) -> Iterator[None]:
    """Print our own errors as one line and exit with 2, or as they say; let every other error through.

    Our errors carry the thing, the place and the remedy; a traceback would bury them.

    Args:
        packages: Further packages whose errors are such.
    """
    try:
        yield
    except (ValueError, LookupError, RuntimeError, ImportError) as error:
        if not type(error).__module__.startswith(("rlanything_", *packages)):
            raise
        typer.echo(f"error: {printable(str(error))}", err=True)
        raise typer.Exit(getattr(error, "exit_code", 2)) from None
