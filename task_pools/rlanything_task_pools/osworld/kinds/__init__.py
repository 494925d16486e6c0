"""The kinds of generated tasks: each public module of this package but ``base`` is one, its ``KIND``."""

from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from rlanything_task_pools.osworld.kinds.base import Kind, Level, State

__all__ = ["KINDS", "Kind", "Level", "State"]


def _discover() -> dict[str, Kind]:
    names = (module.name for module in iter_modules(__path__))
    modules = sorted(name for name in names if name != "base" and not name.startswith("_"))
    kinds: list[Kind] = [import_module(f"{__name__}.{name}").KIND for name in modules]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}


KINDS = MappingProxyType(_discover())
"""All kinds by name, in the order of the names."""
