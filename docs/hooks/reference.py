"""Reference pages made from the code itself when the site is built, so that they cannot say anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import api_pages
import schema_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["on_files"]

PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": schema_pages.command_line,
    "reference/configuration.md": schema_pages.configuration,
    "reference/task.md": schema_pages.task_file,
    "reference/pool.md": schema_pages.pool_file,
} | {f"reference/{name}.md": page for name, page in api_pages.PAGES.items()}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages (hook of mkdocs)."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    return files
