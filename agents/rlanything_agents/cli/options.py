"""Options of the form ``KEY=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["OptionError", "key_values"]


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
