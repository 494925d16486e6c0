"""Requests and replies, and what the endpoints need to answer them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .accessibility import AccessibilityReader
from .framebuffer import Framebuffer
from .multipart import Part
from .processes import Processes
from .session import Session

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
    """The session and what the endpoints need of it."""

    def __init__(self, session: Session, processes: Processes, accessibility: AccessibilityReader) -> None:
        self.session = session
        self.processes = processes
        self.accessibility = accessibility
        self.screen = Framebuffer(session.framebuffer)

    def path(self, text: str) -> Path:
        """A path of a request: ``~`` and ``$HOME`` are the user's, a relative one starts at the home."""
        home = str(self.session.home)
        if text == "~" or text.startswith("~/"):
            text = home + text[1:]
        text = text.replace("$HOME", home).replace("${HOME}", home)
        return self.session.home / os.path.expandvars(text)


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
    return as_error(str(error) or type(error).__name__)
