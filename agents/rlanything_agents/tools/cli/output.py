"""Output of the command line: JSON for scripts, untrusted text on a console, and errors in one line."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rlanything_agents.runs.storage import TRY_LATER, failing_disk
from rlanything_verifiers.installed import extra_with, install
from rlanything_verifiers.plain_text import printable

__all__ = [
    "AsJson",
    "AsLines",
    "console",
    "error_console",
    "plain_errors",
    "plain_text",
    "print_json",
    "print_lines",
    "resumable",
]

WIDTH = 100
"""Columns of an output that is not a terminal."""
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
AsLines = Annotated[bool, typer.Option("--json", help="Print JSON Lines.")]


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
    return [_finite(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


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
    """Print what a user can mend as one line and exit with its code; an error of the program itself is raised.

    Errors of this project name the thing, the place and the remedy, which a traceback would hide; so do those about a
    disk, a connection, a package that is not installed, and a command line that cannot be parsed.

    Args:
        packages: Further packages whose errors are printed as one line.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _unread():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(128 + signal.SIGPIPE) from None
        if (found := _explained(error, ("rlanything_", *packages))) is None:
            raise
        typer.echo(f"error: {printable(found[0])}", err=True)
        try:
            sys.stdout.flush()
        except OSError:  # what it holds would fail again at the interpreter's end, and the exit code would be 120
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(found[1]) from None


def _unread() -> bool:
    """Whether who reads the standard output has left."""
    output = select.poll()
    output.register(sys.stdout, 0)
    return bool(output.poll(0))


def _explained(error: Exception, packages: tuple[str, ...]) -> tuple[str, int] | None:
    """The line about an error and the exit code; None for an error of the program."""
    if hasattr(error, "format_message"):  # of the parser: typer has its classes from click, or brings them itself
        if type(error).__name__ == "NoArgsIsHelpError":
            return None
        context = getattr(error, "ctx", None)
        where = f" (rlanything {context.command_path.partition(' ')[2]} --help)" if context is not None else ""
        return " ".join(error.format_message().split()) + where.replace("  ", " "), 2
    if type(error).__module__.startswith(packages):
        return str(error), getattr(error, "exit_code", 2)
    if (said := failing_disk(error)) is not None:
        return said, TRY_LATER
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        extra = extra_with(package)
        return None if extra is None else (f"this needs the package {package}: {install(extra)}", 2)
    if isinstance(error, ConnectionError | TimeoutError):
        return f"a connection failed ({error}): the same command resumes", TRY_LATER
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}", 2
    return None


class _Terminated(KeyboardInterrupt):
    """SIGTERM arrived: the same as Ctrl-C, with another exit code."""


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Say how to resume after Ctrl-C and SIGTERM, and exit with 130 or 143.

    Args:
        folder: Where the interrupted work is stored.
    """
    owner = os.getpid()

    def terminate(number: int, _: Any) -> None:
        if os.getpid() == owner:
            raise _Terminated
        signal.signal(number, signal.SIG_DFL)  # a forked process ends as it would without this command
        os.kill(os.getpid(), number)

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if main else None
    try:
        yield
    except KeyboardInterrupt as error:
        what, code = ("terminated", 143) if isinstance(error, _Terminated) else ("interrupted", 130)
        typer.echo(f"\n{what} ({folder}): the same command resumes", err=True)
        raise typer.Exit(code) from None
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)
