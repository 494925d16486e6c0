"""Comparing web addresses the way people do."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

__all__ = ["same_url", "without_query"]

_SECOND_LEVEL = frozenset({"ac", "co", "com", "edu", "gov", "net", "org"})
"""Second-level domains before a country's in addresses such as ``airbnb.com.sg``."""


def same_url(one: str, other: str) -> bool:
    """Whether two addresses mean the same page: ``www``, the top-level domain and a last slash do not matter."""
    try:
        return _normal(one) == _normal(other)
    except ValueError:
        return one == other


def without_query(url: str) -> str:
    """The address without its query."""
    try:
        return urlunsplit(urlsplit(url)._replace(query=""))
    except ValueError:
        return url


def _normal(url: str) -> tuple[str, str, str, str, str]:
    if not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", url):
        url = f"http://{url}"
    parts = urlsplit(url)
    labels = parts.netloc.lower().lstrip(".").split(".")
    if len(labels) > 1 and not labels[-1].isdigit():  # the last part of a number address is no name
        labels = labels[: -2 if len(labels) > 2 and labels[-2] in _SECOND_LEVEL and len(labels[-1]) == 2 else -1]
    host = ".".join(labels[1:] if labels[0] == "www" and len(labels) > 1 else labels)
    return parts.scheme.lower(), host, parts.path if parts.path != "/" else "", parts.query, parts.fragment
