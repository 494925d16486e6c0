"""Requests and replies, and what the endpoints need to answer them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from .accessibility import AccessibilityReader
from .framebuffer import Framebuffer
from .interior import Interior
from .multipart import Part
from .processes import Processes
from .storage import Refusal

__all__ = [
    "Guest",
    "Reply",
    "Request",
    "RequestError",
    "as_error",
    "as_json",
    "as_text",
    "command_of",
    "failed",
    "need",
    "seconds_of",
]

_LONGEST_TIMEOUT = 600.0


class RequestError(ValueError):
    """A request that lacks something or asks for the impossible; ``status`` is the HTTP status it gets."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """What came: query, and a body that was JSON, a form or multipart."""

    query: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] = field(default_factory=dict)
    form: dict[str, str] = field(default_factory=dict)
    files: dict[str, Part] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back."""

    body: bytes
    kind: str = "application/json"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def as_json(value: object, status: int = 200) -> Reply:
    """A reply of JSON."""
    return Reply(json.dumps(value).encode(), status=status)


def as_text(value: str) -> Reply:
    """A reply of plain text."""
    return Reply(value.encode(), "text/html; charset=utf-8")


def as_error(message: str, status: int = 500) -> Reply:
    """A failure as upstream words it."""
    return as_json({"status": "error", "message": message}, status)


class Guest:
    """The inside of the desktop and what the endpoints need of it."""

    def __init__(self, interior: Interior) -> None:
        self.interior = interior
        self.processes = Processes(interior)
        self.accessibility = AccessibilityReader(self.processes)
        self.screen = Framebuffer(interior.settings.pixels)

    def path(self, text: str) -> str:
        """A path of a request: ``~`` and variables are the user's, a relative one starts at the home."""
        home = self.processes.home
        if text == "~" or text.startswith("~/"):
            text = home + text[1:]
        for name, value in self.processes.environment.items():
            text = text.replace(f"${{{name}}}", value)
        for name in ("HOME", "USER"):
            text = text.replace(f"${name}", self.processes.environment[name])
        return str(PurePosixPath(home, text))


def need(values: dict[str, Any], name: str, kind: type | tuple[type, ...] = str) -> Any:
    """A value that the request must have; RequestError where it has not."""
    value = values.get(name)
    if not isinstance(value, kind) or not value:
        raise RequestError(f"the request needs {name!r}")
    return value


def seconds_of(request: Request, default: float) -> float:
    """The time limit the request asks for."""
    value = request.json.get("timeout", default)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= _LONGEST_TIMEOUT:
        raise RequestError(f"timeout must be a number of seconds up to {_LONGEST_TIMEOUT:g}, not {value!r}")
    return float(value)


def command_of(request: Request) -> tuple[list[str] | str, bool]:
    """The command of the request, and whether it is for the shell."""
    command = need(request.json, "command", (str, list))
    if isinstance(command, list) and not all(isinstance(word, str) for word in command):
        raise RequestError("a command is a text or a list of texts")
    return command, bool(request.json.get("shell", False))


def failed(error: Exception) -> Reply:
    """The reply that says what went wrong."""
    endless = isinstance(error, Refusal) and error.endless
    return as_error(str(error) or type(error).__name__, 413 if endless else 500)
