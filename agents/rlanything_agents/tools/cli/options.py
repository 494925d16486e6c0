"""Options of the form ``KEY=VALUE``, and those that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rlanything_agents.tools.cli import completion
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["Changes", "OptionError", "key_values"]

Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change one key: rollout.tasks=8.", autocompletion=completion.config_keys
    ),
]
"""Changes of a configuration."""


class OptionError(ValueError):
    """What was given for an option cannot be read; the message names the option."""


def key_values(given: Sequence[str] | None, option: str) -> dict[str, Any]:
    """``["size=3", "kinds=[a, b]"]`` as a mapping; values are YAML.

    Args:
        given: What the user typed.
        option: Its name, for the message of an error.

    Raises:
        OptionError: Not of this form.
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
