"""``rlanything desktop``: packages and images of desktops, and a desktop to attach to."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from rlanything_agents.tools.cli.errors import plain_errors
from rlanything_verifiers.plain_text import printable, printable_lines

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Desktops: their packages and images, and one to attach to.")

Screen = Annotated[str, typer.Option(metavar="WIDTHxHEIGHT", help="Size of the screen in pixels.")]


@app.callback()
def desktop() -> None:
    """Desktops: their packages and images, and one to attach to."""


@app.command()
def install(
    more: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SET", help="Further packages: mail (Thunderbird), media (VLC)."),
    ] = None,
) -> None:
    """Install the Debian packages of the bwrap desktop that are missing; for root on Debian or Ubuntu."""
    from rlanything_envs.osworld.desktop.doctor import install as install_missing

    with plain_errors():
        names = install_missing(tuple(more or ()))
    typer.echo(f"installed {' '.join(names)}" if names else "nothing to install")


@app.command()
def build(
    image: Annotated[str, typer.Option(help="Name of the image.")] = "rlanything-desktop",
    base: Annotated[str, typer.Option(help="A Debian 12 image, or 'debootstrap' to make one without a registry.")] = (
        "debian:bookworm-slim"
    ),
    vm: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Build the disk (qcow2) of a virtual machine instead (root).")
    ] = None,
) -> None:
    """Build the image of the docker desktop, or the disk of the vm desktop, from Debian packages."""
    from rlanything_envs.osworld.desktop.disk import build_disk
    from rlanything_envs.osworld.desktop.image import build_image

    with plain_errors():
        for line in build_image(image, base) if vm is None else build_disk(vm):
            typer.echo(printable(line))


@app.command()
def serve(
    backend: Annotated[str, typer.Option(help="bwrap or docker.")] = "bwrap",
    port: Annotated[int, typer.Option(min=0, max=65535, help="On the loopback interface; 0: any free port.")] = 5000,
    screen: Screen = "1920x1080",
    token: Annotated[str | None, typer.Option(help="Bearer token; else a random one, which is printed.")] = None,
    network: Annotated[bool, typer.Option(help="Programs in the desktop may use the network.")] = False,
) -> None:
    """Start a desktop and serve the guest protocol on a port of this machine until interrupted."""
    from rlanything_envs.osworld.desktop import make_desktop
    from rlanything_envs.osworld.desktop.serve import Relay

    if backend not in ("bwrap", "docker"):
        raise typer.BadParameter(f"bwrap and docker can be served, not {backend}")
    settings = {"screen": _size(screen), "network": network or None}
    with plain_errors(), make_desktop(backend, **settings) as machine, Relay(machine.client, port, token) as relay:
        typer.echo(f"{relay.url}  token {relay.token}")
        done = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: done.set())
        try:
            done.wait()
        except KeyboardInterrupt:
            typer.echo("ended")


@app.command()
def conformance(
    url: Annotated[str, typer.Argument(metavar="URL", help="A guest: http://HOST:PORT.")],
    token: Annotated[str | None, typer.Option(help="Bearer token, for guests that want one.")] = None,
) -> None:
    """Check whether a running guest speaks OSWorld's protocol, one line a request."""
    from rlanything_envs.osworld.desktop.conformance import check_guest

    failed = requests = 0
    with plain_errors():
        for check in check_guest(url, token):
            requests += 1
            mark = "ok" if check.passed else "optional" if check.optional else "FAILED"
            failed += not (check.passed or check.optional)
            typer.echo(f"{mark:9} {check.name}" + ("" if check.passed else f": {printable(str(check.problem), 300)}"))
    typer.echo(f"{requests - failed} of {requests} as expected")
    raise typer.Exit(1 if failed else 0)


@app.command()
def coverage(
    folder: Annotated[
        Path, typer.Argument(metavar="TASKS", help="Folder of task files, in one folder each application.")
    ],
) -> None:
    """Count the task files that are read, supported, and winnable without a network, as a table in Markdown."""
    from rlanything_envs.osworld.coverage import coverage as count
    from rlanything_envs.osworld.coverage import table

    with plain_errors():
        typer.echo(printable_lines(table(count(folder))))


@app.command("fetch-assets")
def fetch_assets(
    sources: Annotated[
        list[Path], typer.Argument(metavar="TASKS...", help="Task files, or folders of them.", exists=True)
    ],
    directory: Annotated[
        Path | None, typer.Option(help="The cache; default: $RLANYTHING_ASSETS or ~/.cache/rlanything/osworld.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what is missing and download nothing.")] = False,
) -> None:
    """Download the remote files of tasks; an interrupted download continues where it stopped."""
    from rlanything_task_pools.osworld import AssetError, Assets, asset_urls, import_folder, load, read_payload

    with plain_errors():
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


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = map(int, text.lower().split("x"))
    except ValueError:
        raise typer.BadParameter(f"a size is WIDTHxHEIGHT, such as 1920x1080, not {text!r}") from None
    return width, height
