"""Options of the form ``KEY=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    import yaml

    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise OptionError(f"{option} {text!r:.80}: expected key=value")
        try:
            found[key] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that there is not
            raise OptionError(f"{option} {text!r:.80}: {error}") from None
    return found
