"""The command that adds an extra to this library, from how it was installed: out of a checkout, a file or an index.

Every message that names such a command gets it here. A name that no index lists would be the name that somebody else
registers first, so an index is named only where the library came from one.
"""

from __future__ import annotations

import json
import shlex
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["DISTRIBUTION", "checkout", "extra_with", "install"]

DISTRIBUTION = "rlanything-envs"
"""Name of the distribution."""


def install(*extras: str) -> str:
    """The command that installs this library again with more packages.

    Args:
        extras: Extras to add; without any the library itself is repaired.
    """
    more = f"[{','.join(extras)}]" if extras else ""
    return shlex.join(["pip", "install", *_source(more)])


def extra_with(module: str) -> str | None:
    """The extra that installs a module, by the metadata of the installed library; None if none does.

    Args:
        module: Name under which it is imported; distributions with another name are in a table.
    """
    name = _DISTRIBUTIONS.get(module, module).replace("_", "-")
    for text in _requirements():
        wanted, _, marker = text.partition(";")
        if "extra ==" in marker and _name(wanted) == name:
            return marker.partition("extra ==")[2].strip(" \"')")
    return None


_DISTRIBUTIONS = {"tokenizers": "transformers", "safetensors": "transformers", "sklearn": "scikit-learn"}
"""What installs a module that has another name than its distribution or comes with one."""


def checkout() -> Path | None:
    """The checkout that this code runs in; None where it was copied to site-packages."""
    for folder in Path(__file__).resolve().parents[1:3]:
        project = folder / "pyproject.toml"
        if project.is_file() and f'name = "{DISTRIBUTION}"' in project.read_text(encoding="utf-8"):
            return folder
    return None


def _source(more: str) -> list[str]:
    """Arguments of pip: this library with its extras, from where it came."""
    here = checkout()
    if here is not None:
        return ["-e", f"{'.' if here == Path.cwd() else here}{more}"]
    origin = _origin()
    address = str(origin.get("url", ""))
    if not address:
        return [f"{DISTRIBUTION}{more}"]
    if address.startswith("file:") and "vcs_info" not in origin:
        return [f"{unquote(urlsplit(address).path)}{more}"]
    vcs = origin.get("vcs_info")
    if isinstance(vcs, dict):
        address = f"{vcs.get('vcs', 'git')}+{address}@{vcs.get('commit_id', 'HEAD')}"
    return [f"{DISTRIBUTION}{more} @ {address}"]


@lru_cache(maxsize=1)
def _origin() -> dict[str, Any]:
    """What pip noted about the source (PEP 610); empty where it was an index."""
    try:
        text = distribution(DISTRIBUTION).read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _requirements() -> list[str]:
    try:
        return distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        return []


def _name(requirement: str) -> str:
    name = requirement.strip()
    for mark in "[<>=!~ (":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-")
