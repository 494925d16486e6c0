"""Getters, which read a value from a desktop, under OSWorld's names: each module adds its functions to `GETTERS`.

The comparison of the values is in `rlanything_verifiers.osworld.metrics`.
"""

from rlanything_verifiers.osworld.getters import applications, browser, desktop, files, pages, times
from rlanything_verifiers.osworld.registry import GETTERS

__all__ = ["GETTERS", "applications", "browser", "desktop", "files", "pages", "times"]
