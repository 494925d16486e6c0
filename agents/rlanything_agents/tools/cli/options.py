"""Options of the form ``KEY=VALUE``, and options that several commands share."""

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
