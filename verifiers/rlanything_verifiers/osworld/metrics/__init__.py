"""Metrics, which score values of a desktop in [0, 1], under OSWorld's names: each module adds its own to `METRICS`.

The values are read by `rlanything_verifiers.osworld.getters`.
"""

from rlanything_verifiers.osworld.metrics import (
    archives,
    browser,
    databases,
    desktop,
    document_rules,
    documents,
    images,
    pdfs,
    programs,
    settings,
    slide_rules,
    slides,
    sound,
    tables,
    text,
    upstream,
    values,
)
from rlanything_verifiers.osworld.registry import METRICS, UPSTREAM

__all__ = [
    "METRICS",
    "UPSTREAM",
    "archives",
    "browser",
    "databases",
    "desktop",
    "document_rules",
    "documents",
    "images",
    "pdfs",
    "programs",
    "settings",
    "slide_rules",
    "slides",
    "sound",
    "tables",
    "text",
    "upstream",
    "values",
]
