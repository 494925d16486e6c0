"""What has to hold before ``make release`` builds: version, tag, changelog and address agree. Standard library only."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(root: Path, tag: str) -> Iterator[str]:
    """What has to be done before this checkout can be released.

    Args:
        root: The checkout.
        tag: Tag that is released; empty where there is none yet.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, address = project["version"], project["urls"]["Repository"]
    if "example." in address:
        yield f"pyproject.toml: project.urls.Repository is a placeholder ({address}): write the real address"
    if f"git clone {address} " not in (root / "README.md").read_text(encoding="utf-8"):
        yield f"README.md: the clone command has another address than project.urls.Repository ({address})"
    if tag and tag != f"v{version}":
        yield f"the tag {tag} is not v{version}, the version in pyproject.toml"
    if not re.search(rf"(?m)^## {re.escape(version)}\b", (root / "CHANGELOG.md").read_text(encoding="utf-8")):
        yield f"CHANGELOG.md has no section {version}: rename Unreleased"


if __name__ == "__main__":
    found = list(problems(ROOT, os.environ.get("GITHUB_REF_NAME", "")))
    sys.exit("\n".join(found) if found else None)
