"""Card of an exported pool: a README whose front matter ``datasets`` and the Hugging Face Hub read."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rlanything_task_pools.domain import UnknownDomain, get_domain

__all__ = ["card"]

_MEANING = {
    "tasks": "a version of a task in a slot; `payload`, `traits` and `change` are JSON texts",
    "slots": "a slot, with the versions of its root, its active task and its candidate",
    "events": "a task that was proposed, accepted, rejected or discarded, with the reason",
    "outcomes": "an episode; `success` is empty where the infrastructure failed",
}


def card(tables: Mapping[str, Sequence[Mapping[str, Any]]], format: str) -> str:
    """The text of the README.

    Args:
        tables: Rows by table.
        format: Format of the tables: ``parquet`` or ``datasets``.
    """
    domains = sorted({str(row["domain"]) for row in tables["tasks"]})
    filled = [name for name in _MEANING if tables[name]]
    title = f"Tasks of {', '.join(domains)} for RLAnything"
    head: dict[str, Any] = {
        "pretty_name": title,
        "task_categories": ["reinforcement-learning"],
        "tags": ["rlanything", "rl-environment", *domains],
    }
    if format == "parquet":
        head["configs"] = [
            {"config_name": name, "default": name == "tasks", "data_files": f"{name}.parquet"} for name in filled
        ]
    # JSON values are YAML, too.
    lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
    body = "\n".join([f"# {title}", "", *_lines(tables, filled, domains, format)])
    return "\n".join(["---", *lines, "---", "", body]) + "\n"


def _lines(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], filled: Sequence[str], domains: Sequence[str], format: str
) -> Iterator[str]:
    yield "A task pool that `rlanything pool export` wrote. Its import replays the proof of every task, and then its"
    yield "environment plays the active tasks:"
    yield ""
    yield "```python"
    yield "import gymnasium as gym"
    yield ""
    yield "import rlanything_envs"
    yield "from rlanything_task_pools.export import import_pool"
    yield ""
    yield 'pool = import_pool("PATH/OF/THIS/FOLDER", "pool.sqlite")'
    for name in domains:
        yield f'env = gym.make("{_env_id(name)}", tasks=pool)'
    yield "```"
    yield ""
    yield "The tables alone:"
    yield ""
    yield "```python"
    yield f"from datasets import {'load_dataset' if format == 'parquet' else 'load_from_disk'}"
    yield ""
    if format == "parquet":
        yield 'tasks = load_dataset("PATH/OF/THIS/FOLDER", "tasks", split="train")'
    else:
        yield 'tasks = load_from_disk("PATH/OF/THIS/FOLDER")["tasks"]'
    yield "```"
    yield ""
    yield "| table | rows | a row is |"
    yield "|---|---|---|"
    yield from (f"| {name} | {len(tables[name]):,} | {_MEANING[name]} |" for name in filled)


def _env_id(domain: str) -> str:
    try:
        return get_domain(domain).env_id
    except UnknownDomain:
        return "ID-OF-ITS-ENVIRONMENT"
