"""``rlanything view``."""

from __future__ import annotations

import contextlib
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlanything_agents.tools.cli.errors import plain_errors
from rlanything_agents.tools.cli.output import AsJson, print_lines

if TYPE_CHECKING:
    from rlanything_agents.tools.view import Site

__all__ = ["view"]


def view(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run or benchmark, or one with some.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the pages to a new folder instead of serving them.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a picture (PNG) of all screens of an episode instead.")
    ] = None,
    episode: Annotated[str, typer.Option(metavar="ITERATION/N", help="Episode of the picture.")] = "0/0",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at a run in a browser: curves, tasks and their lineage, every episode turn by turn.

    The run may still be going on; nothing in its folder is changed. The printed address has a token that gives
    access from this machine. Ctrl-C ends the viewer.
    """
    from rlanything_agents.tools.view import Site, serve

    def ready(url: str) -> None:
        if as_json:
            print_lines([{"url": url}])  # one line: a script reads it while the viewer goes on
        else:
            typer.echo(f"{path}: {url}  (Ctrl-C ends)")
        if browser:
            webbrowser.open(url)

    with plain_errors():
        site = Site(path)
        if sheet is not None:
            _sheet(site, episode, sheet, as_json)
            return
        if out is not None:
            _export(site, out, as_json)
            return
    try:
        with contextlib.suppress(KeyboardInterrupt):
            serve(site, port, ready=ready)
    except OSError as error:
        typer.echo(f"error: port {port} cannot be used: {error.strerror}; choose another with --port", err=True)
        raise typer.Exit(2) from None


def _sheet(site: Site, episode: str, target: Path, as_json: bool) -> None:
    from rlanything_agents.tools.view import draw_sheet

    iteration, _, number = episode.partition("/")
    if not (iteration.isdecimal() and number.isdecimal() and len(episode) < 20):
        raise typer.BadParameter(f"--episode is ITERATION/N, such as 0/3, not {episode!r:.40}")
    if not site.single:
        raise typer.BadParameter("--sheet is for one run: name its folder")
    picture = draw_sheet(site.runs[0], int(iteration), int(number))
    target.parent.mkdir(parents=True, exist_ok=True)
    picture.save(target, "PNG")
    if as_json:
        print_lines([{"sheet": str(target), "width": picture.width, "height": picture.height}])
    else:
        typer.echo(f"{target}: {picture.width} by {picture.height} pixels")


def _export(site: Site, target: Path, as_json: bool) -> None:
    from rich.console import Console

    from rlanything_agents.tools.view import export_site
    from rlanything_verifiers.plain_text import printable

    with Console(stderr=True).status("writing") as status:
        written = export_site(site, target, progress=lambda name: status.update(f"writing {printable(name, 60)}"))
    index = target / "index.html"
    if as_json:
        print_lines([{"index": str(index), "bytes": written, "runs": len(site.runs)}])
    else:
        typer.echo(f"{index}: {len(site.runs)} run(s), {written / 1e6:.1f} MB")
