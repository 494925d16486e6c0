"""The console of the command line, and untrusted text on it."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from rlanything_verifiers.plain_text import printable

__all__ = ["console", "error_console", "plain_text"]

WIDTH = 100
"""Columns of an output that is not a terminal."""


def console() -> Console:
    """Console without markup and without automatic highlighting."""
    return Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def error_console() -> Console:
    """Console on standard error for progress, since standard output is for results."""
    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def plain_text(value: str, style: str = "") -> Text:
    """Untrusted text for the screen, without markup and without characters that move the cursor."""
    return Text(printable(value), style=style)
