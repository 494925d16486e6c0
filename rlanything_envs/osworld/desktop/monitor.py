"""QEMU's monitor: commands to a virtual machine from outside (QMP, JSON objects over a Unix socket)."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["Monitor"]

_PATIENCE = 300.0
"""Seconds for one command; a snapshot writes the memory of the machine."""


class Monitor:
    """A connection to the monitor of a running QEMU.

    Args:
        path: its socket.
        alive: whether QEMU still runs, while its socket is awaited.
        patience: seconds until it must be there.

    Raises:
        DesktopError: (all methods, too) QEMU has ended, does not answer, or refuses; the message has its reason.
    """

    def __init__(self, path: Path, alive: Callable[[], bool], patience: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE)
        end = time.monotonic() + patience
        try:
            while True:
                try:
                    self._socket.connect(str(path))
                    break
                except (FileNotFoundError, ConnectionRefusedError) as error:
                    if not alive() or time.monotonic() > end:
                        raise DesktopError("QEMU did not start") from error
                    time.sleep(0.02)
            self._lines = self._socket.makefile("rb")
            self._lines.readline()  # the greeting
            self.ask("qmp_capabilities")
        except BaseException as error:
            self._socket.close()
            if isinstance(error, OSError):
                raise DesktopError(f"QEMU's monitor: {error}") from error
            raise

    def ask(self, command: str, **arguments: Any) -> Any:
        """Have a command carried out; returns its answer."""
        try:
            self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
            while line := self._lines.readline():
                answer = json.loads(line)
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise DesktopError(f"QEMU refuses {command}: {answer['error'].get('desc')}")
        except (OSError, ValueError) as error:
            raise DesktopError(f"QEMU's monitor, {command}: {error}") from error
        raise DesktopError(f"QEMU ended at {command}")

    def line(self, command: str) -> str:
        """Have a line of the monitor for people carried out; what it prints."""
        return str(self.ask("human-monitor-command", **{"command-line": command}))

    def close(self) -> None:
        """Leave QEMU as it is."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
