"""Reading YAML of unknown origin: plain values only, within bounds, and one kind of error."""

from __future__ import annotations

from typing import Any

__all__ = ["YamlError", "read_yaml"]

MAX_LENGTH = 1_000_000
"""Longest text that is read, in characters."""
MAX_DEPTH = 100
"""Values within values. PyYAML takes time that grows with the square of the depth."""
MAX_VALUES = 100_000
"""Most values in a text; PyYAML takes some seconds for as many. References count as often as they are used: a few lines
of them can stand for more values than any memory holds, which shows as soon as one of them is printed."""
_LONGEST_INTEGER = 10_000
"""Bits. Python itself refuses to write out longer ones."""


class YamlError(ValueError):
    """The text is not YAML, or more of it than is read; the message has the place where PyYAML knows it."""


def read_yaml(text: str, *, references: bool = True) -> Any:
    """The value of a text in YAML.

    Args:
        text: Of unknown origin.
        references: Whether there may be any.

    Raises:
        YamlError: It is none, or beyond the bounds.
        ImportError: PyYAML is not installed.
    """
    import yaml

    if len(text) > MAX_LENGTH:
        raise YamlError(f"{len(text)} characters; at most {MAX_LENGTH} are read")
    try:
        _check(text, references)
        value = yaml.safe_load(text)
        _count(value, MAX_VALUES)
    except YamlError:
        raise
    except RecursionError:
        raise YamlError("a value that contains itself") from None
    except Exception as error:
        # Besides its own errors, PyYAML lets out whatever a tag meets: !!int '' an IndexError, !!timestamp x an
        # AttributeError, !!bool x a KeyError, 2024-13-01 a ValueError.
        said = str(error) if isinstance(error, yaml.YAMLError) else f"a value that is not of its type ({error})"
        raise YamlError(" ".join(said.split())[:400]) from None
    return value


def _check(text: str, references: bool) -> None:
    """Go through the text without building anything, and stop where it is beyond the bounds."""
    import yaml

    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent) and not references:
            raise YamlError("YAML with references")
        if depth > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels")
        if number > 2 * MAX_VALUES:
            raise YamlError(f"more than {MAX_VALUES} values")


def _count(value: Any, left: int) -> int:
    """How many more values there may be after this one.

    Raises:
        YamlError: There are too many, or an integer is too long.
    """
    left -= 1
    if left < 0:
        raise YamlError(f"more than {MAX_VALUES} values, references counted as often as they are used")
    if isinstance(value, dict):
        for key, item in value.items():
            left = _count(item, _count(key, left))
    elif isinstance(value, list | tuple | set):
        for item in value:
            left = _count(item, left)
    elif isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise YamlError(f"an integer of {value.bit_length()} bits; at most {_LONGEST_INTEGER} are read")
    return left
