"""Options that several commands share, those of the form ``KEY=VALUE``, and their completions after Tab."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_verifiers.plain_yaml import YamlError, read_yaml

if TYPE_CHECKING:
    from rlanything_task_pools.panel import Panel

__all__ = ["Changes", "config_keys", "domains", "key_values", "open_panel", "panels", "splits", "trackers"]


def domains(incomplete: str) -> list[str]:
    """Installed domains."""
    from rlanything_task_pools.domain import domain_names

    return _beginning(domain_names(), incomplete)


def panels(incomplete: str) -> list[str]:
    """Shipped panels."""
    from rlanything_task_pools.panel import panel_names

    return _beginning(panel_names(), incomplete)


def splits(incomplete: str) -> list[str]:
    """Splits of the task generators."""
    from rlanything_task_pools.knobs import SPLITS

    return _beginning(SPLITS, incomplete)


def trackers(incomplete: str) -> list[str]:
    """Trackers."""
    from rlanything_agents.config import TRACKERS

    return _beginning(TRACKERS, incomplete)


def config_keys(incomplete: str) -> list[str]:
    """Keys of a run's configuration with an equals sign; those of a section after its complete name."""
    from rlanything_agents.config.load import keys_of

    return _beginning((f"{key}=" for key in keys_of()), incomplete)


def _agents(incomplete: str) -> list[str]:
    return _beginning(("random", "expert", "openai:", "qwen3vl:", "hf:", "run:", "python:"), incomplete)


def _beginning(names: Any, incomplete: str) -> list[str]:
    return sorted({str(name) for name in names if str(name).startswith(incomplete)})


Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set a key: rollout.tasks=8. Repeatable.", autocompletion=config_keys
    ),
]
"""Changes of a configuration."""

# An agent, and how it plays.
Agent = Annotated[
    str,
    typer.Option(
        help="random, expert, openai:MODEL, qwen3vl:MODEL, hf:CHECKPOINT, run:FOLDER or python:MODULE:NAME.",
        autocompletion=_agents,
    ),
]
Parallel = Annotated[int | None, typer.Option(min=1, help="Parallel episodes.")]
EnvironmentArguments = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="KEY=VALUE", help="Environment argument, such as backend=bwrap. Repeatable."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Address of an OpenAI-compatible service. Default: $OPENAI_BASE_URL; else api.openai.com if "
        "$OPENAI_API_KEY is set; else http://localhost:8000/v1."
    ),
]
KeyEnv = Annotated[
    str | None, typer.Option(help="Environment variable with the API key. Default: OPENAI_API_KEY, without --base-url.")
]
MaxTokens = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum tokens per answer. Default: 1024, or fewer with hf: if the context is short."),
]
Temperature = Annotated[float | None, typer.Option(min=0, help="Temperature; 0 is greedy. Default: 1, or a run's own.")]


def key_values(given: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Parse ``["size=3", "kinds=[a, b]"]`` to a mapping; values are YAML.

    Args:
        given: Values of the option; None without any.
        option: Name of the option, for the message of an error.

    Raises:
        ConfigError: A value is not of this form.
    """
    from rlanything_agents.config.load import ConfigError

    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {text!r:.80}: expected key=value")
        try:
            found[key] = read_yaml(value)
        except YamlError as error:
            raise ConfigError(f"{option} {text!r:.80}: {error}") from None
    return found


def open_panel(name: str | None, pool: Path | None, limit: int | None) -> Panel:
    """The tasks of a panel, or of a pool.

    Args:
        name: Name of a panel, or its JSON file.
        pool: A pool's file, or the folder of a run; given where ``name`` is None.
        limit: Maximum tasks, from the beginning.

    Raises:
        PoolError: Both or neither are given, or the tasks cannot be loaded.
    """
    from rlanything_task_pools.errors import PoolError
    from rlanything_task_pools.panel import load_panel, panel_names, pool_panel

    if (name is None) == (pool is None):
        raise PoolError(f"give either --panel ({', '.join(panel_names())}) or a pool")
    return pool_panel(pool, limit) if pool is not None else load_panel(str(name), limit)
