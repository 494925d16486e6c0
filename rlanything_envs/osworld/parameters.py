"""The parameters of set-up steps: each kind is a function that reads an untrusted JSON value.

All of them raise `ValueError`, with a message that follows the name of the parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["any_text", "command", "downloads", "seconds", "text", "texts", "truth", "until", "uploads", "visits"]


def text(value: Any) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a text that is not empty")
    return value


def any_text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def texts(value: Any) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a list of texts that is not empty")
    return [text(item) for item in value]


def command(value: Any) -> list[str] | str:
    """A command as words or as one text."""
    if isinstance(value, str):
        return text(value)
    if not isinstance(value, list | tuple) or not value or not all(isinstance(word, str) for word in value):
        raise ValueError("must be a text or a list of texts, and not empty")
    return list(value)


def truth(value: Any) -> bool:
    """Published tasks write some truth values as texts."""
    if isinstance(value, str) and value.lower() in ("true", "false", ""):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def seconds(value: Any) -> float:
    """A time in seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 3600:
        raise ValueError("must be a number of seconds")
    return float(value)


def downloads(value: Any) -> list[tuple[str, str]]:
    """URLs and their target paths."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError('must be a list of {"url": ..., "path": ...}')
    return [(text(item.get("url")), text(item.get("path"))) for item in value]


def uploads(value: Any) -> list[tuple[str, str]]:
    """Files of the asset directory and their target paths."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError('must be a list of {"local_path": ..., "path": ...}')
    return [(f"asset:{text(item.get('local_path'))}", text(item.get("path"))) for item in value]


def until(value: Any) -> dict[str, Any]:
    """The condition on a command's result until which a step waits."""
    if not isinstance(value, Mapping) or not set(value) <= {"returncode", "stdout", "stderr"}:
        raise ValueError("must have returncode, stdout or stderr")
    return dict(value)


def visits(value: Any) -> list[dict[str, Any]]:
    """Visits to web pages."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError("must be a list of visits")
    ago = "visit_time_from_now_in_seconds"
    for item in value:
        if isinstance(item.get(ago), bool) or not isinstance(item.get(ago), int) or not 0 <= item[ago] < 10**10:
            raise ValueError(f"needs {ago} in each visit")
    return [{"url": text(item.get("url")), "title": any_text(item.get("title")), ago: item[ago]} for item in value]
