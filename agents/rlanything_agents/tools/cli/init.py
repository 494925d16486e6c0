"""``rlanything init``: a run file to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from rlanything_agents.runs.storage import storing
from rlanything_verifiers.installed import checkout

__all__ = ["init"]


def names(incomplete: str = "") -> list[str]:
    """Run files that come with the library, with their folder."""
    found = (path.relative_to(_folder()).with_suffix("").as_posix() for path in _run_files())
    return sorted(name for name in found if name.startswith(incomplete))


def init(
    name: Annotated[
        str,
        typer.Argument(
            help="Run file to copy: quickstart, coding-quickstart, paper/alfworld, ...", autocompletion=names
        ),
    ] = "quickstart",
    out: Annotated[Path | None, typer.Option(help="New file. Default: NAME.yaml in this folder.")] = None,
) -> None:
    """Write a run file for `rlanything train` that you can edit."""
    from rlanything_agents.config.load import ConfigError

    if name not in names():
        near = get_close_matches(name, names(), n=1)
        raise ConfigError(f"no run file {name!r:.80}: {f'did you mean {near[0]}?' if near else ', '.join(names())}")
    target = out or Path(f"{Path(name).name}.yaml")
    with storing(target):
        try:
            with target.open("x", encoding="utf-8") as file:
                file.write((_folder() / f"{name}.yaml").read_text(encoding="utf-8"))
        except FileExistsError:
            raise ConfigError(f"{target} exists: name another file with --out") from None
    typer.echo(f"{target}: written. Next: rlanything train {target} --dry-run")


def _run_files() -> Iterator[Path]:
    yield from _folder().glob("*.yaml")
    yield from _folder().glob("paper/*.yaml")


def _folder() -> Path:
    """Folder of the run files: in the wheel, or of the checkout."""
    here = checkout()
    return here / "configs" if here is not None else Path(str(files("rlanything_agents") / "configs"))
