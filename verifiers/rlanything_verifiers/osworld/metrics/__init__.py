"""Metrics, which score values of a desktop in [0, 1], under OSWorld's names: each module adds its own to `METRICS`.

The values are read by `rlanything_verifiers.osworld.getters`.
"""

from importlib import import_module
from pkgutil import iter_modules

from rlanything_verifiers.osworld.registry import METRICS, UPSTREAM

__all__ = ["METRICS", "UPSTREAM"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
