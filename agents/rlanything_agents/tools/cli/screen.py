"""The console of the command line, and text of unknown origin on it."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from rlanything_verifiers.plain_text import printable

__all__ = ["console", "plain_text"]

WIDTH = 100
"""Columns used where the output is no terminal."""


def console() -> Console:
    """A console that neither reads markup nor guesses at highlights."""
    return Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def plain_text(value: str, style: str = "") -> Text:
    """Untrusted text for the screen: no markup, nothing that moves the cursor."""
    return Text(printable(value), style=style)
