"""Pages made from the code itself when the site is built, so that they cannot say anything else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import api_pages
import schema_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

__all__ = ["on_config", "on_files", "on_page_markdown"]

_DOCSTRING = re.compile(r"^<!-- docstring: (\S+) -->$", re.MULTILINE)
_EXAMPLE = re.compile(r"^```python\n.*?^```\n+", re.MULTILINE | re.DOTALL)

PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": schema_pages.command_line,
    "reference/configuration.md": schema_pages.configuration,
    "reference/task.md": schema_pages.task_file,
    "reference/pool.md": schema_pages.pool_file,
} | {f"reference/{name}.md": page for name, page in api_pages.PAGES.items()}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link the repository, whose address stands in ``[project.urls]`` alone (hook of mkdocs)."""
    project = Path(config.config_file_path).with_name("pyproject.toml").read_text(encoding="utf-8")
    config.repo_url, config.repo_name = tomllib.loads(project)["project"]["urls"]["Repository"], "Repository"
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages, and ``llms.txt`` with a list of all (hook of mkdocs)."""
    for path, page in PAGES.items():
        files.append(File.generated(config, path, content=page()))
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", *_listed(config.nav or [], files)]
    files.append(File.generated(config, "llms.txt", content="\n".join(lines) + "\n"))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the sections of a class's docstring where a page names the class (hook of mkdocs); the page has examples."""
    return _DOCSTRING.sub(lambda found: _sections(found[1]), markdown)


def _sections(path: str) -> str:
    docstring = api_pages.read(path).docstring
    if docstring is None:
        raise LookupError(f"{path} has no docstring")
    _, heading, text = docstring.value.partition("## Description")
    return _EXAMPLE.sub("", heading + text)


def _listed(nav: list[Any], files: Files, level: int = 2) -> Iterator[str]:
    """Entries of the navigation as a Markdown list with headings, for readers that are language models."""
    for entry in nav:
        (title, inside) = next(iter(entry.items())) if isinstance(entry, dict) else ("", entry)
        if isinstance(inside, list):
            yield from ("", f"{'#' * level} {title}", "", *_listed(inside, files, level + 1))
        else:
            file = files.get_file_from_path(inside)
            if file is None:
                raise LookupError(f"the navigation names {inside!r}, which is not a page")
            yield f"- [{title or 'Overview'}]({file.url})"
