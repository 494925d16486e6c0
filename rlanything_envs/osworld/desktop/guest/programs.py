"""Endpoints that run programs and move windows."""

from __future__ import annotations

import time
from typing import Any

from .processes import Finished
from .requests import Guest, Reply, Request, as_json, as_text, command_of, failed, need, seconds_of
from .windows import activate, close, open_file, windows

__all__ = [
    "activate_window",
    "close_window",
    "execute",
    "execute_with_verification",
    "launch",
    "open_",
    "run_bash_script",
    "run_python",
]

_EXECUTE_SECONDS = 120.0
_PYTHON_SECONDS = 30.0
_SCRIPT_SECONDS = 100.0
"""Limits of upstream's server."""


def execute(guest: Guest, request: Request) -> Reply:
    """Run a command to its end; a status other than zero is still a success of the request."""
    (command, shell), seconds = command_of(request), seconds_of(request, _EXECUTE_SECONDS)
    try:
        done = guest.processes.run(command, shell=shell, timeout=seconds)
    except (OSError, ValueError) as error:
        return failed(error)
    return as_json(_success(done))


def _success(done: Finished) -> dict[str, Any]:
    return {"status": "success", "output": done.output, "error": done.error, "returncode": done.returncode}


def execute_with_verification(guest: Guest, request: Request) -> Reply:
    """Run a command, then wait until a window exists or another command succeeds."""
    (command, shell), seconds = command_of(request), seconds_of(request, _EXECUTE_SECONDS)
    wanted = request.json.get("verification") or {}
    patience = float(request.json.get("max_wait_time", 10))
    pause = float(request.json.get("check_interval", 1))
    try:
        done = guest.processes.run(command, shell=shell, timeout=seconds)
    except (OSError, ValueError) as error:
        return failed(error)
    begin = time.monotonic()
    while True:
        checks = {}
        if title := wanted.get("window_exists"):
            checks["window_exists"] = any(str(title) in window.title for window in windows(guest.processes))
        if check := wanted.get("command_success"):
            checks["command_success"] = guest.processes.run(check, shell=True, timeout=5).returncode == 0
        waited = time.monotonic() - begin
        if all(checks.values()):
            return as_json({**_success(done), "verification": checks, "wait_time": waited})
        if waited >= patience:
            late = {**_success(done), "status": "verification_failed", "verification": checks, "wait_time": waited}
            return as_json(late, 500)
        time.sleep(pause)


def launch(guest: Guest, request: Request) -> Reply:
    """Start a program and leave it running."""
    command, shell = command_of(request)
    try:
        guest.processes.launch(command, shell=shell)
    except (OSError, ValueError) as error:
        return failed(error)
    return as_text(f"{command if isinstance(command, str) else ' '.join(command)} launched successfully")


def run_python(guest: Guest, request: Request) -> Reply:
    """Run Python code in the guest."""
    code, seconds = need(request.json, "code"), seconds_of(request, _PYTHON_SECONDS)
    try:
        done = guest.processes.run(["python", "-c", code], timeout=seconds)
    except TimeoutError as error:
        return as_json({"status": "error", "message": str(error), "error": "timeout", "output": None}, 500)
    except (OSError, ValueError) as error:
        return failed(error)
    good = done.returncode == 0
    answer = {"status": "success" if good else "error", "message": done.output + done.error, "need_more": False}
    return as_json({**answer, "output": done.output, "error": done.error, "return_code": done.returncode})


def run_bash_script(guest: Guest, request: Request) -> Reply:
    """Run a Bash script; its two streams come back as one."""
    script = need(request.json, "script")
    folder = request.json.get("working_dir")
    cwd = guest.path(folder) if isinstance(folder, str) and folder else None
    seconds = seconds_of(request, _SCRIPT_SECONDS)
    try:
        done = guest.processes.run(["/bin/bash", "-c", script], timeout=seconds, merge=True, cwd=cwd)
    except TimeoutError as error:
        return as_json({"status": "error", "output": str(error), "error": "", "returncode": -1}, 500)
    except (OSError, ValueError) as error:
        return failed(error)
    status = "success" if done.returncode == 0 else "error"
    return as_json({"status": status, "output": done.output, "error": "", "returncode": done.returncode})


def open_(guest: Guest, request: Request) -> Reply:
    """Open a file or start a program and wait for its window."""
    path = need(request.json, "path")
    open_file(guest.processes, guest.path(path) if path[:1] in "~/$" else path)
    return as_text("File opened and window activated successfully")


def activate_window(guest: Guest, request: Request) -> Reply:
    """Raise and focus a window."""
    name = need(request.json, "window_name")
    activate(guest.processes, name, bool(request.json.get("strict")), bool(request.json.get("by_class")))
    return as_text("Window activated successfully")


def close_window(guest: Guest, request: Request) -> Reply:
    """Ask a window to close."""
    name = need(request.json, "window_name")
    close(guest.processes, name, bool(request.json.get("strict")), bool(request.json.get("by_class")))
    return as_text("Window closed successfully.")
