"""Export of a site to files that open in a browser without a server."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path

from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.tools.view import shell
from rlanything_agents.tools.view.site import Site
from rlanything_task_pools import UnknownName

__all__ = ["export_site"]


def export_site(site: Site, target: Path, *, progress: Callable[[str], None] = lambda name: None) -> int:
    """Write the pages of a site.

    Browsers forbid a page to read neighbouring files, but allow it to load scripts, so each resource becomes a script
    with the compressed content.

    Args:
        site: The site.
        target: A new or empty folder; ``index.html`` in it is the first page.
        progress: Called with the name of each written resource.

    Returns:
        Number of bytes written.

    Raises:
        RunFolderError: The folder is not empty.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise RunFolderError(f"{target} is there already: name a new or an empty folder")
    written = _write(target / "index.html", shell.page(f"{site.path.resolve().name} · RLAnything", live=False).encode())
    for name in (*shell.STYLES, *shell.scripts(live=False), "icon.svg"):
        file = shell.static(name)
        assert file is not None  # nosec B101 # for the type checker; the names are the shell's own
        written += _write(target / "static" / name, file.read_bytes())
    for name in site.names():
        try:
            content = site.get(name)
        except (RunFolderError, UnknownName) as error:
            content = json.dumps({"error": str(error)}).encode()
        written += _write(target / "data" / f"{name}.js", _script(name, content))
        progress(name)
    for name in site.images():
        run, inner = site.run(name)
        try:
            written += _write(target / "data" / name, run.image(inner)[1])
        except UnknownName:
            continue  # not an image
        progress(name)
    return written


def _script(name: str, content: bytes) -> bytes:
    packed = base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f"RL.take({json.dumps(name)},{json.dumps(packed)});\n".encode()


def _write(path: Path, content: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return len(content)
