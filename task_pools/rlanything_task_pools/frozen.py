"""Read-only JSON values, so that the data of a shared task cannot change."""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

MAX_DEPTH = 32
"""Deepest nesting accepted in a task's JSON; deeper input is taken for hostile."""


_SCALARS = frozenset({str, int, bool, type(None)})


class FrozenDict(dict[str, Any]):
    """An immutable dict; it pickles, copies and serialises like a dict."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a task's data is read-only; make a changed copy with dict(...)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> "FrozenDict":
        return self

    def __deepcopy__(self, memo: object) -> "FrozenDict":
        return self

    def __reduce__(self) -> tuple[type["FrozenDict"], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def freeze(value: object, where: str = "value", depth: int = MAX_DEPTH) -> Any:
    """A read-only deep copy of a JSON value: mappings become `FrozenDict`, lists become tuples.

    Frozen mappings are returned unchanged, so tasks on the same scene share it at no cost.

    Raises:
        ValueError: The value is not JSON (a type, a key, NaN or an infinity), or nested deeper than `MAX_DEPTH`.
    """
    if isinstance(value, FrozenDict | str | int) or value is None:
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where}: {value} is not a JSON number")
        return value
    if depth == 0:
        raise ValueError(f"{where}: nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list | tuple):
        return tuple(
            [
                item if type(item) in _SCALARS else freeze(item, f"{where}[{i}]", depth - 1)
                for i, item in enumerate(value)
            ]
        )
    if isinstance(value, Mapping):
        frozen: dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{where}: the key {key!r} is not a string")
            frozen[key] = freeze(item, f"{where}.{key[:40]}", depth - 1)
        return FrozenDict(frozen)
    raise ValueError(f"{where}: {type(value).__name__} is not a JSON type")


def canonical_json(value: object) -> str:
    """Canonical JSON of a value: sorted keys, no blanks, ASCII; equal values give equal bytes on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
