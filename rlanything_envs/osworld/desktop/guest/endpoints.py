"""The requests of OSWorld's guest protocol and our own few, each with the function that answers it."""

from __future__ import annotations

import time
from collections.abc import Callable

from . import files, looking, programs
from .requests import Guest, Reply, Request, as_json

__all__ = ["ROUTES", "Endpoint"]

VERSION = 2
"""Of our own additions to the protocol: ``/healthz``, ``/reset``, ``/batch``."""


def healthz(guest: Guest, _: Request) -> Reply:
    """Who answers, for which screen, whether this server is out of reach of the desktop's programs, and their state."""
    settings = guest.interior.settings
    value = {"status": "ok", "server": "rlanything-guest", "version": VERSION, "screen": list(settings.screen)}
    apart = settings.sandbox is not None or settings.user is not None
    return as_json({**value, **guest.interior.state(), "apart": apart})


def reset(guest: Guest, _: Request) -> Reply:
    """A new home and no application."""
    begin = time.monotonic()
    guest.interior.end()
    guest.interior.start()
    return as_json({"status": "success", "seconds": time.monotonic() - begin})


Endpoint = Callable[[Guest, Request], Reply]

ROUTES: dict[tuple[str, str], Endpoint] = {
    ("GET", "/screenshot"): looking.screenshot,
    ("GET", "/accessibility"): looking.accessibility,
    ("GET", "/terminal"): looking.terminal,
    ("GET", "/platform"): looking.platform,
    ("GET", "/cursor_position"): looking.cursor_position,
    ("GET", "/healthz"): healthz,
    ("GET", "/batch"): looking.batch,
    ("POST", "/reset"): reset,
    ("POST", "/execute"): programs.execute,
    ("POST", "/execute_with_verification"): programs.execute_with_verification,
    ("POST", "/run_python"): programs.run_python,
    ("POST", "/run_bash_script"): programs.run_bash_script,
    ("POST", "/screen_size"): looking.screen_size,
    ("POST", "/window_size"): looking.window_size,
    ("POST", "/file"): files.file,
    ("POST", "/list_directory"): files.list_directory,
    ("POST", "/desktop_path"): files.desktop_path,
    ("POST", "/wallpaper"): files.wallpaper,
    ("POST", "/setup/execute"): programs.execute,
    ("POST", "/setup/execute_with_verification"): programs.execute_with_verification,
    ("POST", "/setup/launch"): programs.launch,
    ("POST", "/setup/open_file"): programs.open_,
    ("POST", "/setup/activate_window"): programs.activate_window,
    ("POST", "/setup/close_window"): programs.close_window,
    ("POST", "/setup/upload"): files.upload,
    ("POST", "/setup/download_file"): files.download_file,
    ("POST", "/setup/change_wallpaper"): files.change_wallpaper,
}
"""Method and path of every endpoint."""
