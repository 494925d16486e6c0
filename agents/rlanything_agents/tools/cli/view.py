"""``rlanything view``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rlanything_agents.tools.cli.output import AsJson, print_lines
from rlanything_verifiers.plain_text import printable

if TYPE_CHECKING:
    from rlanything_agents.tools.view import Site

__all__ = ["view"]


def view(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or benchmark, or a folder of several.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pages to a new folder instead of serving them.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Local port; 0 for a free one.")] = 0,
    as_json: AsJson = False,
) -> None:
    """View a run in a browser: curves, tasks and their lineage, every episode turn by turn.

    The run may still be running; nothing in its folder is changed. The printed address has a token that gives
    access from this machine. Ctrl-C ends the viewer.
    """
    from rlanything_agents.tools.view import Site, serve

    def ready(url: str) -> None:
        if as_json:
            print_lines([{"url": url}])  # one line: a script reads it while the viewer goes on
        else:
            typer.echo(f"{path}: {url}  (Ctrl-C ends)")

    site = Site(path)
    if out is not None:
        _export(site, out, as_json)
        return
    try:
        with contextlib.suppress(KeyboardInterrupt):
            serve(site, port, ready=ready)
    except OSError as error:
        typer.echo(f"error: port {port} cannot be used: {error.strerror}; choose another with --port", err=True)
        raise typer.Exit(2) from None


def _export(site: Site, target: Path, as_json: bool) -> None:
    from rlanything_agents.tools.view import export_site

    with Console(stderr=True).status("writing") as status:
        written = export_site(site, target, progress=lambda name: status.update(f"writing {printable(name, 60)}"))
    index = target / "index.html"
    if as_json:
        print_lines([{"index": str(index), "bytes": written, "runs": len(site.runs)}])
    else:
        typer.echo(f"{index}: {len(site.runs)} run(s), {written / 1e6:.1f} MB")
