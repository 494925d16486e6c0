"""``rlanything desktop``: packages, images and files of desktops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from rlanything_agents.tools.cli.output import error_console
from rlanything_verifiers.plain_text import printable

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Install and build desktops, and download their files.")


@app.callback()
def desktop() -> None:
    """Install and build desktops, and download their files."""


@app.command()
def install(
    more: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SET", help="Additional packages: mail (Thunderbird), media (VLC)."),
    ] = None,
    mirror: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL", help="Debian mirror. Default: $RLANYTHING_DEBIAN_MIRROR, else the one in this machine's apt."
        ),
    ] = None,
    system: Annotated[
        bool, typer.Option("--system", help="Install missing packages with apt instead, as root on Debian 12.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the root folder instead.")] = False,
) -> None:
    """Install the bwrap desktop, without root: pinned Debian packages in a folder ($RLANYTHING_DESKTOP)."""
    from rlanything_envs.osworld.desktop import root
    from rlanything_envs.osworld.desktop.packages import install_packages

    if remove:
        typer.echo("removed the root folder" if root.remove() else "no root folder is installed")
    elif system:
        names = install_packages(tuple(more or ()))
        typer.echo(f"installed {' '.join(names)}" if names else "nothing to install")
    else:
        with _progress() as report:
            made = root.install(more or (), mirror or (), report)
        typer.echo(f"the root folder is {made.path}, hash {made.hash}")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of the megabytes of packages that are unpacked."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=error_console()) as bar:
        task = bar.add_task("looking for a mirror", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@app.command()
def build(
    image: Annotated[str, typer.Option(help="Name of the image.")] = "rlanything-desktop",
    base: Annotated[
        str, typer.Option(help="Debian 12 base image, or 'debootstrap' to build one without a registry.")
    ] = ("debian:bookworm-slim"),
    vm: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Build the disk of a virtual machine (qcow2) instead, as root.")
    ] = None,
) -> None:
    """Build the docker image or the virtual machine of a desktop from Debian packages."""
    from rlanything_envs.osworld.desktop.disk import build_disk
    from rlanything_envs.osworld.desktop.image import build_image

    for line in build_image(image, base) if vm is None else build_disk(vm):
        typer.echo(printable(line))


@app.command("fetch-assets")
def fetch_assets(
    sources: Annotated[list[Path], typer.Argument(metavar="TASKS...", help="Task files or folders.", exists=True)],
    directory: Annotated[
        Path | None, typer.Option(help="Cache folder. Default: $RLANYTHING_ASSETS or ~/.cache/rlanything/osworld.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what is missing and download nothing.")] = False,
) -> None:
    """Download the remote files of tasks; an interrupted download resumes."""
    from rlanything_task_pools.osworld import AssetError, Assets, asset_urls, import_folder, load, read_payload

    assets = Assets(directory)
    urls: dict[str, None] = {}
    for source in sources:
        tasks, refused = import_folder(source) if source.is_dir() else ([load(source)], {})
        for path, reason in refused.items():
            typer.echo(f"passed over {printable(path)}: {printable(reason, 200)}", err=True)
        urls.update((url, None) for task in tasks for url in asset_urls(read_payload(task.payload)))
    missing = assets.missing(urls)
    typer.echo(f"{len(missing)} of {len(urls)} files are missing in {assets.directory}")
    failed = 0
    for number, url in enumerate(missing, 1):
        try:
            if not dry_run:
                assets.fetch([url])
            typer.echo(f"{number}/{len(missing)} {printable(url)}")
        except AssetError as error:
            failed += 1
            typer.echo(f"{number}/{len(missing)} FAILED {printable(str(error))}", err=True)
    raise typer.Exit(1 if failed else 0)
