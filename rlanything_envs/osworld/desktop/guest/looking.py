"""Endpoints that look at the screen."""

from __future__ import annotations

import json
from typing import Any

from .interior import InteriorError
from .requests import Guest, Reply, Request, as_error, as_json, as_text, need
from .windows import windows

__all__ = [
    "accessibility",
    "batch",
    "cursor_position",
    "platform",
    "screen_size",
    "screenshot",
    "terminal",
    "window_size",
]

_CURSOR_SECONDS = 30.0


def screenshot(guest: Guest, request: Request) -> Reply:
    """PNG with the pointer in it; with ``?format=raw`` the pixels as they are (blue, green, red, unused)."""
    pixels = guest.screen.read()
    size = {"X-Width": str(pixels.width), "X-Height": str(pixels.height)}
    if request.query.get("format") == "raw":
        return Reply(pixels.bgrx, "application/octet-stream", headers=size)
    return Reply(pixels.png(), "image/png", headers=size)


def accessibility(guest: Guest, _: Request) -> Reply:
    """The accessibility tree as XML text under ``AT``."""
    try:
        return as_json({"AT": guest.accessibility.tree()})
    except InteriorError as error:
        return as_error(str(error))


def terminal(guest: Guest, _: Request) -> Reply:
    """The text of the terminal in the active window; null where there is none."""
    try:
        return as_json({"output": guest.accessibility.terminal(), "status": "success"})
    except InteriorError as error:
        return as_error(str(error))


def batch(guest: Guest, request: Request) -> Reply:
    """Several looks in one call: a line of JSON, then the bytes of the screenshot.

    Query: ``screenshot`` (its pixels as they are), ``accessibility``, ``terminal``.
    """
    answer: dict[str, Any] = {}
    picture = b""
    if request.query.get("screenshot"):
        pixels = guest.screen.read()
        picture = pixels.bgrx
        answer["screenshot"] = {"width": pixels.width, "height": pixels.height}
    try:
        if request.query.get("accessibility"):
            answer["accessibility_tree"] = guest.accessibility.tree()
        if request.query.get("terminal"):
            answer["terminal"] = guest.accessibility.terminal()
    except InteriorError as error:
        return as_error(str(error))
    return Reply(json.dumps(answer).encode() + b"\n" + picture, "application/octet-stream")


def screen_size(guest: Guest, _: Request) -> Reply:
    """Width and height of the screen."""
    width, height = guest.interior.settings.screen
    return as_json({"width": width, "height": height})


def window_size(guest: Guest, request: Request) -> Reply:
    """Width and height of the first window of a class."""
    name = need(request.form or request.json, "app_class_name")
    for window in windows(guest.processes):
        if name.lower() in window.application.lower():
            return as_json({"width": window.width, "height": window.height})
    return as_error(f"no window of the class {name!r}", 404)


def cursor_position(guest: Guest, _: Request) -> Reply:
    """Where the pointer is."""
    code = "import pyautogui; print(*pyautogui.position())"
    x, y = guest.processes.run(["python", "-c", code], timeout=_CURSOR_SECONDS).output.split()
    return as_json([int(x), int(y)])


def platform(_: Guest, __: Request) -> Reply:
    """The operating system."""
    return as_text("Linux")
