"""The ways to find something out, under OSWorld's names: each module adds its functions to `GETTERS`."""

from rlanything_verifiers.osworld.getters import applications, browser, desktop, files
from rlanything_verifiers.osworld.registry import GETTERS

__all__ = ["GETTERS", "applications", "browser", "desktop", "files"]
