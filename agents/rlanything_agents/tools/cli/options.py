"""Options of the form ``KEY=VALUE``, and options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlanything_agents.tools.cli import completion
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

if TYPE_CHECKING:
    from rlanything_task_pools.panel import Panel

__all__ = ["Changes", "OptionError", "key_values", "open_panel"]

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change one key: rollout.tasks=8.", autocompletion=completion.config_keys
    ),
]
"""Changes of a configuration."""


class OptionError(ValueError):
    """The value of an option cannot be parsed; the message names the option."""


def key_values(given: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Parse ``["size=3", "kinds=[a, b]"]`` to a mapping; values are YAML.

    Args:
        given: Values of the option; None without any.
        option: Name of the option, for the message of an error.

    Raises:
        OptionError: A value is not of this form.
    """
    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise OptionError(f"{option} {text!r:.80}: expected key=value")
        try:
            found[key] = read_yaml(value)
        except YamlError as error:
            raise OptionError(f"{option} {text!r:.80}: {error}") from None
    return found


def open_panel(name: str | None, pool: Path | None, limit: int | None) -> Panel:
    """The tasks of a panel, or of a pool.

    Args:
        name: Name of a panel, or the JSON file of one.
        pool: A pool's file, or the folder of a run; given where ``name`` is None.
        limit: Most tasks, from the beginning.

    Raises:
        PanelError: Both or neither are given, or the tasks cannot be loaded.
    """
    from rlanything_task_pools.panel import PanelError, load_panel, panel_names, pool_panel

    if (name is None) == (pool is None):
        raise PanelError(f"give either --panel ({', '.join(panel_names())}) or a pool")
    if pool is not None:
        return pool_panel(pool / "pool.sqlite" if pool.is_dir() else pool, limit)
    return load_panel(str(name), limit)
