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
    settings,
    slide_rules,
    slides,
    sound,
    tables,
    text,
    values,
)
from rlanything_verifiers.osworld.registry import METRICS

__all__ = [
    "METRICS",
    "archives",
    "browser",
    "databases",
    "desktop",
    "document_rules",
    "documents",
    "images",
    "pdfs",
    "settings",
    "slide_rules",
    "slides",
    "sound",
    "tables",
    "text",
    "values",
]
