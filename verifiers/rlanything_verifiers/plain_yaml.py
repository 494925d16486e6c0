"""Parser of untrusted YAML: plain values only, within bounds, and one type of error."""

from __future__ import annotations

from functools import cache
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
        value = _bounded_loader()(text).get_single_data()
        _check_integers(value)
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


@cache
def _bounded_loader() -> type[Any]:
    """PyYAML's safe loader, which checks the bounds on each node before any value is built."""
    import yaml

    class Bounded(yaml.SafeLoader):
        """A reference counts as many values as what it stands for: PyYAML copies them where mappings are merged."""

        def __init__(self, text: str) -> None:
            super().__init__(text)
            self._total, self._sizes = 0, dict[str, int]()
            self._open: list[str | None] = []

        def compose_node(self, parent: Any, index: Any) -> Any:
            event, before = self.peek_event(), self._total  # type: ignore[no-untyped-call]
            alias = isinstance(event, yaml.AliasEvent)
            if alias and event.anchor in self._open:
                raise YamlError("a value that contains itself")
            self._total += self._sizes.get(event.anchor, 1) if alias else 1
            if self._total > MAX_VALUES:
                raise YamlError(f"more than {MAX_VALUES} values, references counted as often as they are used")
            if len(self._open) >= MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
                raise YamlError(f"nested deeper than {MAX_DEPTH} levels")
            self._open.append(None if alias else event.anchor)
            node = super().compose_node(parent, index)
            self._open.pop()
            if event.anchor is not None and not alias:
                self._sizes[event.anchor] = self._total - before
            return node

    return Bounded


def _check_integers(value: Any) -> None:
    """Raise `YamlError` where an integer is too long."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_integers(key)
            _check_integers(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            _check_integers(item)
    elif isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise YamlError(f"an integer of {value.bit_length()} bits; at most {_LONGEST_INTEGER} are read")
