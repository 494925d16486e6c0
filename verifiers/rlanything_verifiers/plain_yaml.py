"""Parser of untrusted YAML: plain values only, within bounds, and one type of error."""

from __future__ import annotations

from typing import Any

__all__ = ["YamlError", "read_yaml"]

MAX_LENGTH = 1_000_000
"""Longest text that is read, in characters."""
MAX_DEPTH = 100
"""Deepest nesting. PyYAML takes time that grows with the square of the depth."""
MAX_VALUES = 100_000
"""Maximum values in a text; PyYAML takes seconds for as many. References count as often as they are used: a few lines
of them can expand to more values than any memory holds, as soon as one is printed."""
_LONGEST_INTEGER = 10_000
"""Maximum bits of an integer. Python itself refuses to print longer ones."""


class YamlError(ValueError):
    """The text is not YAML, or exceeds a bound; the message has the position where PyYAML reports it."""


def read_yaml(text: str) -> Any:
    """The value of a text in YAML.

    Args:
        text: An untrusted text.

    Raises:
        YamlError: The text is not YAML, or exceeds a bound.
        ImportError: PyYAML is not installed.
    """
    import yaml

    if len(text) > MAX_LENGTH:
        raise YamlError(f"{len(text)} characters; at most {MAX_LENGTH} are read")
    try:
        _check(text)
        value = yaml.safe_load(text)
        _count(value, MAX_VALUES)
    except YamlError:
        raise
    except RecursionError:
        raise YamlError("a value that contains itself") from None
    except Exception as error:
        # Besides its own errors, PyYAML raises any error of a tag's constructor: !!int '' an IndexError, !!timestamp x
        # an AttributeError, !!bool x a KeyError, 2024-13-01 a ValueError.
        said = str(error) if isinstance(error, yaml.YAMLError) else f"a value that is not of its type ({error})"
        raise YamlError(" ".join(said.split())[:400]) from None
    return value


def _check(text: str) -> None:
    """Check the bounds on the parser's events, before any value is built.

    A reference counts as many values as what it stands for: PyYAML copies them where mappings are merged.
    """
    import yaml

    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    depth = total = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            open_nodes.append((event.anchor, total))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.AliasEvent):
            if any(event.anchor == anchor for anchor, _ in open_nodes):
                raise YamlError("a value that contains itself")
            total += sizes.get(event.anchor or "", 0)
        if depth > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels")
        total += 1
        if total > 2 * MAX_VALUES:
            raise YamlError(f"more than {MAX_VALUES} values, references counted as often as they are used")


def _count(value: Any, left: int) -> int:
    """Number of values still allowed after this one.

    Raises:
        YamlError: There are too many values, or an integer is too long.
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
