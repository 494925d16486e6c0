"""Redaction of keys in files and messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["REDACTED", "redact"]

REDACTED = "[redacted]"

_HEADER = re.compile(
    r"""(?ix) ( ["']? (?: proxy-)? (?: authorization | x-api-key | api[-_]?key | access[-_]?token | cookie ) ["']?
    \s* [:=] \s* ["']? ) (?: (?: bearer | basic ) \s+ )? [^\s"',;}]{6,} """
)
_BEARER = re.compile(r"(?i)(\bbearer\s+)[a-z0-9._~+/=-]{8,}")
# Prefixes of keys; a length of sixteen characters distinguishes them from ordinary hyphenated words.
_PREFIXED = re.compile(r"\b(?:sk|pk|rk|hf|gsk|ghp|gho|ghs|xai|nvapi|AKIA|AIza)[-_]?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}")

_NAMES = re.compile(r"(?i)\A(?:proxy-)?(?:authorization|x-api-key|api[-_]?key|access[-_]?token|cookie)\Z")


def redact(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Replace keys in ``value``: the given ones, and all that look like a key or an Authorization header.

    Args:
        value: A text, or JSON-like data whose texts are searched.
        secrets: Exact texts to hide.

    Examples:
        >>> redact({"Authorization": "Bearer abc", "say": "my key is k-12345"}, ["k-12345"])
        {'Authorization': '[redacted]', 'say': 'my key is [redacted]'}
    """
    known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
    return _redact(value, known)


def _redact(value: Any, known: list[str]) -> Any:
    if isinstance(value, str):
        for secret in known:
            value = value.replace(secret, REDACTED)
        value = _HEADER.sub(rf"\1{REDACTED}", value)
        value = _BEARER.sub(rf"\1{REDACTED}", value)
        return _PREFIXED.sub(REDACTED, value)
    if isinstance(value, dict):
        return {
            _redact(name, known): REDACTED
            if isinstance(name, str) and _NAMES.match(name) and isinstance(item, str)
            else _redact(item, known)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_redact(item, known) for item in value]
    return value
