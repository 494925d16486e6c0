"""The pages of the Python interface: what the modules' ``__all__`` names, and the environments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec

import griffe

__all__ = ["PAGES", "read"]

EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
"""A paragraph of an interpreter's session."""
PATHS = ["verifiers", "task_pools", ".", "agents"]
MODULES: dict[str, tuple[str, Sequence[str]]] = {
    "verifiers": (
        "Verifiers",
        ("rlanything_verifiers.alfworld", "rlanything_verifiers.coding", "rlanything_verifiers.osworld"),
    ),
    "task_pools": (
        "Task pools",
        (
            "rlanything_task_pools",
            "rlanything_task_pools.panel",
            "rlanything_task_pools.alfworld",
            "rlanything_task_pools.coding",
            "rlanything_task_pools.osworld",
        ),
    ),
    "envs": (
        "Environments",
        (
            "rlanything_envs.alfworld.env:AlfWorldEnv",
            "rlanything_envs.alfworld.vector:AlfWorldVectorEnv",
            "rlanything_envs.coding.env:CodingEnv",
            "rlanything_envs.osworld.env:OSWorldEnv",
            "rlanything_envs.conversation",
            "rlanything_envs.message",
            "rlanything_envs.views",
            "rlanything_envs.tools",
            "rlanything_envs.alfworld.short:ShortAlfWorld",
            "rlanything_envs.coding.short:ShortCoding",
            "rlanything_envs.spaces:Unicode",
            "rlanything_envs.verdict:Verdict",
            "rlanything_envs.errors",
            "rlanything_envs.testing",
            "rlanything_envs.osworld.readers",
            "rlanything_envs.osworld.recording",
            "rlanything_envs.osworld.desktop",
        ),
    ),
    "curriculum": ("Curriculum", ("rlanything_envs.curriculum",)),
    "llm": ("Language models", ("rlanything_envs.llm",)),
    "adapters": (
        "Adapters",
        (
            "rlanything_envs.adapters.rows",
            "rlanything_envs.adapters.trl",
            "rlanything_envs.adapters.openenv",
            "rlanything_envs.adapters.mcp",
            "rlanything_envs.adapters.skyrl",
            "rlanything_envs.adapters.verifiers",
            "rlanything_envs.adapters.nemo_gym",
            "rlanything_envs.adapters.sb3",
        ),
    ),
    "agents": (
        "Agents and training",
        (
            "rlanything_agents.config",
            "rlanything_agents.feedback",
            "rlanything_agents.feedback.unit_tests",
            "rlanything_agents.runs.train",
            "rlanything_agents.runs.loop",
            "rlanything_agents.runs.player",
            "rlanything_agents.runs.hooks",
            "rlanything_agents.runs.folder",
            "rlanything_agents.runs.checkpoints",
            "rlanything_agents.training.trainer",
            "rlanything_agents.domains.supervision",
            "rlanything_agents.runs.report",
            "rlanything_agents.feedback.metrics",
            "studies.statistics",
            "rlanything_agents.domains.alfworld",
            "rlanything_agents.domains.coding",
            "rlanything_agents.domains.osworld",
        ),
    ),
}
"""Of each page: title, and modules (all they export) or ``module:name``."""


@cache
def _loader() -> griffe.GriffeLoader:
    return griffe.GriffeLoader(search_paths=PATHS)


def read(path: str) -> griffe.Object | griffe.Alias:
    """A module or what is in it, from its source: nothing is imported, for what an adapter stands on may be missing."""
    package = path.partition(".")[0]
    if package not in _loader().modules_collection:
        _loader().load(package)
    return _loader().modules_collection[path]


def _page(title: str, places: Sequence[str]) -> str:
    """Markdown with one mkdocstrings directive for each public name, under its module."""
    parts = [f"# {title}\n"]
    shown = ""
    for place in places:
        module, _, name = place.partition(":")
        source = read(module)
        names = [name] if name else [str(export) for export in source.exports or ()]
        if module != shown:
            parts.append(f"## `{module}`\n")
            if not name and source.docstring:
                parts.append(f"{EXAMPLE.sub(_fenced, source.docstring.value)}\n")
        shown = module
        parts += [f"::: {module}.{item}\n" for item in names]
    return "\n".join(parts)


def _fenced(found: re.Match[str]) -> str:
    return f"```pycon\n{found[0].rstrip()}\n```\n"


PAGES: dict[str, Callable[[], str]] = {
    name: partial(_page, title, [place for place in places if find_spec(place.partition(":")[0])])
    for name, (title, places) in MODULES.items()
}
