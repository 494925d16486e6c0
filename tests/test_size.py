"""The project's size: each number may fall, and a commit that raises one says why."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pydantic import BaseModel

from rlanything_agents.config import RunConfig
from rlanything_agents.tools.cli import app

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("verifiers", "task_pools", "rlanything_envs", "agents")
LIMITS = {
    "lines of the four packages": 94_841,
    "lines of studies, benchmarks, scripts and examples": 9_363,
    "lines of tests": 71_606,
    "files of the four packages": 702,
    "settings of a run": 152,
    "commands": 21,
}


def files(*folders: str) -> list[Path]:
    """Python files of the checkout in these folders."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no checkout of git")
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(".py") and (ROOT / name).exists()]


def lines(*folders: str) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files(*folders))


def settings(model: type[BaseModel]) -> int:
    """Keys of a section and of the sections in it; a choice of sections counts all of them."""
    return sum(
        sum(map(settings, sections)) if (sections := sections_of(field.annotation)) else 1
        for field in model.model_fields.values()
    )


def sections_of(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for part in getattr(annotation, "__args__", ()) for section in sections_of(part)]


def commands(group: object) -> int:
    """Leaf commands of the command line."""
    return len(group.registered_commands) + sum(commands(sub.typer_instance) for sub in group.registered_groups)  # type: ignore[attr-defined]


def test_nothing_grows() -> None:
    now = {
        "lines of the four packages": lines(*PACKAGES),
        "lines of studies, benchmarks, scripts and examples": lines("studies", "benchmarks", "scripts", "examples"),
        "lines of tests": lines("tests"),
        "files of the four packages": len(files(*PACKAGES)),
        "settings of a run": settings(RunConfig),
        "commands": commands(app),
    }
    grown = {what: f"{number}, at most {LIMITS[what]}" for what, number in now.items() if number > LIMITS[what]}
    assert not grown, "delete something of no further use, or raise the number in this file and say why in the commit"
    assert now.keys() == LIMITS.keys()
