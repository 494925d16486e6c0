"""The families of generated problems: each public module of this package but ``base`` is one, its ``FAMILY``."""

from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem

__all__ = ["FAMILIES", "Family", "Knob", "Level", "Problem"]


def _discover() -> dict[str, Family]:
    names = (module.name for module in iter_modules(__path__))
    modules = sorted(name for name in names if name != "base" and not name.startswith("_"))
    families: list[Family] = [import_module(f"{__name__}.{name}").FAMILY for name in modules]
    return {family.name: family for family in sorted(families, key=lambda family: family.name)}


FAMILIES = MappingProxyType(_discover())
"""All families by name, in the order of the names."""
