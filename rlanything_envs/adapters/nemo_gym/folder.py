"""The folder that ``gym`` reads: rows of tasks, the apps of the servers, and their configuration."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from rlanything_envs.adapters import rows as plain_rows
from rlanything_task_pools import Task
from rlanything_verifiers.installed import install

__all__ = ["group_rows", "rows", "write_servers"]


def rows(tasks: Iterable[Task], name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows of NeMo Gym's JSONL, one a task.

    Args:
        tasks: The tasks; a row holds all of its task, proof included, which the agent does not show the model.
        name: Name of the server, by `write_servers`.
        prompt: System prompt; none if empty. The environment's first message explains the task in any case.
    """
    return [_row(row, name, prompt) for row in plain_rows.task_rows(tasks)]


def group_rows(count: int, name: str, prompt: str = "") -> list[dict[str, Any]]:
    """Rows whose tasks the curriculum of the server's pool deals, one a group; arguments as for `rows`."""
    return [_row(row, name, prompt) for row in plain_rows.group_rows(count, name=name)]


def _row(row: dict[str, Any], name: str, prompt: str) -> dict[str, Any]:
    return {
        "responses_create_params": {"input": [{"role": "system", "content": prompt}] if prompt else []},
        "agent_ref": {"type": "responses_api_agents", "name": f"{name}_agent"},
        **{key: row[key] for key in ("task", "group") if key in row},
    }


_SERVERS = {"resources_servers/rlanything": "TextServer", "responses_api_agents/rlanything_agent": "TextAgent"}
"""Folders of the servers below that of `write_servers`, and the class of each."""
_OURS = (
    *_SERVERS,
    "environment_servers/legacy_agent",
    "responses_api_agents/gymnasium_agent",
    "responses_api_models/openai_model",
)
"""Servers that run in this environment, whose packages are all they need."""
_APP = "from rlanything_envs.adapters.nemo_gym import {0}\n\nif __name__ == '__main__':\n    {0}.run_webserver()\n"
_TASK_DATA = '''"""Fields of a row, for NeMo Gym's check of data sets: one of the three."""

from pydantic import BaseModel, ConfigDict


class TaskData(BaseModel):
    model_config = ConfigDict(extra="allow")

    task: str | None = None
    seed: int | None = None
    group: str | None = None
'''
_TEST = "import app\n\n\ndef test_the_server_can_be_imported() -> None:\n    assert app.TextServer\n"
"""For ``gym env test``."""


def write_servers(
    folder: str | Path,
    rows: Iterable[Mapping[str, Any]],
    env_id: str,
    *,
    name: str,
    max_steps: int = 1000,
    **settings: Any,
) -> Path:
    """Write the servers of an environment and its rows, for ``gym`` with this folder as its working directory.

    Several environments may share a folder. The servers run in this interpreter's environment where it is a virtual
    one: NeMo Gym then builds none of its own for them.

    Args:
        folder: The folder, made where it is missing.
        rows: Rows, by `rows` or `group_rows` with the same name.
        env_id: Id of the environment.
        name: Name of the server, the configuration and the file of rows.
        max_steps: The agent's limit on answers. The environment's own limit should end episodes before.
        settings: Other fields of `TextServerConfig`, as JSON has them; ``pool`` is a path from here.

    Returns:
        Path of the configuration, for ``--config``. It is for ``--model-type openai_model`` or another model of NeMo
        Gym's.
    """
    folder, environment = Path(folder).absolute(), Path(sys.prefix)
    needed = " ".join(str(Path.cwd()) if word == "." else word for word in shlex.split(install())[2:])
    for place, kind in _SERVERS.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "app.py").write_text(_APP.format(kind), encoding="utf-8")
        (folder / place / "requirements.txt").write_text(f"{needed}\n", encoding="utf-8")
    if (environment / "bin" / "activate").exists():
        for place in _OURS:
            link = folder / "environments" / place / ".venv"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(environment)
    server = folder / "resources_servers" / "rlanything"
    for part, text in (("task_data.py", _TASK_DATA), ("tests/test_app.py", _TEST)):
        (server / part).parent.mkdir(exist_ok=True)
        (server / part).write_text(text, encoding="utf-8")
    data, config = server / "data" / f"{name}.jsonl", folder / f"{name}.yaml"
    data.parent.mkdir(exist_ok=True)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config.write_text(
        yaml.safe_dump(_configuration(folder, name, data, env_id, max_steps, settings), sort_keys=False),
        encoding="utf-8",
    )
    return config


def _configuration(
    folder: Path, name: str, data: Path, env_id: str, max_steps: int, settings: Mapping[str, Any]
) -> dict[str, Any]:
    agent = f"{name}_agent"
    server: dict[str, Any] = {
        "allowed_agents": ["rlanything_agent", "gymnasium_agent"],
        "entrypoint": "app.py",
        "domain": "agent",
        "verified": False,
        "description": f"{env_id}, by RLAnything",
        "value": "Tasks with proofs; failures are never rewards",
        "env_id": env_id,
        **settings,
        **({"pool": str(Path(settings["pool"]).absolute())} if settings.get("pool") else {}),
    }
    return {
        "uv_venv_dir": str(folder / "environments"),
        "skip_venv_if_present": True,
        name: {"resources_servers": {"rlanything": server}},
        agent: {
            "responses_api_agents": {
                "rlanything_agent": {
                    "entrypoint": "app.py",
                    "resources_server": {"type": "resources_servers", "name": name},
                    "model_server": {"type": "responses_api_models", "name": "policy_model"},
                    "max_steps": max_steps,
                    "datasets": [{"name": name, "type": "example", "jsonl_fpath": str(data.relative_to(folder))}],
                }
            }
        },
        f"{name}_environment_server": {
            "environment_servers": {
                "legacy_agent": {
                    "entrypoint": "app.py",
                    "agent_server": {"type": "responses_api_agents", "name": agent},
                }
            }
        },
    }
