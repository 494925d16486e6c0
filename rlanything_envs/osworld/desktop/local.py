"""What desktops of this machine have in common: sizes, start and end, and that a broken one is replaced."""

from __future__ import annotations

import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Protocol, Self

from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import DesktopError

__all__ = ["LocalDesktop", "Running", "check_memory", "check_screen", "end_process", "start_process"]

_UNITS = {"k": 10, "m": 20, "g": 30}


class Running(Protocol):
    """The processes of a desktop that has started."""

    client: GuestClient

    def restore(self) -> None:
        """Go back to the state after the start.

        Raises:
            DesktopError: it cannot.
        """
        ...

    def runs(self) -> bool:
        """Whether everything still runs that the desktop's programs cannot reach."""
        ...

    def end(self) -> None:
        """End all processes and delete their files."""
        ...


class LocalDesktop(ABC):
    """A desktop whose processes this one starts and ends."""

    def __init__(self) -> None:
        self._running: Running | None = None

    @abstractmethod
    def _start(self) -> Running: ...

    @property
    def client(self) -> GuestClient:
        """The way to the running guest.

        Raises:
            DesktopError: the desktop is not running.
        """
        if self._running is None:
            raise DesktopError("the desktop is not running: call start() first")
        return self._running.client

    def start(self) -> None:
        """Start the desktop, unless it runs; returns when the first screenshot can be taken.

        Raises:
            MissingExtra: a package of an extra is not installed, such as the Docker SDK.
            DesktopError: something is not installed (`MissingPackages`), or the desktop does not start; the message has
                its output.
        """
        if self._running is None:
            self._running = self._start()

    def reset(self) -> None:
        """Go back to the state after the start. A desktop that cannot is replaced.

        Raises:
            DesktopError: it cannot be started again.
        """
        if self._running is not None:
            try:
                self._running.restore()
                return
            except DesktopError:
                self.close()
        self.start()

    def intact(self) -> bool:
        """Whether everything that the desktop's programs cannot reach still runs."""
        return self._running is not None and self._running.runs()

    def close(self) -> None:
        """End every process of the desktop and forget its files."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_screen(screen: Sequence[int]) -> tuple[int, int]:
    """A size of a screen.

    Raises:
        SettingError: not two numbers from 320 to 8192.
    """
    if len(screen) != 2 or not all(isinstance(side, int) and 320 <= side <= 8192 for side in screen):
        raise SettingError(f"a screen has a width and a height of 320 to 8192 pixels, not {screen!r}")
    return screen[0], screen[1]


def check_memory(text: str) -> int:
    """A number of bytes, as docker writes it: ``"4g"``, ``"512m"``.

    Raises:
        SettingError: it is written otherwise.
    """
    number, unit = text[:-1], text[-1:].lower()
    if not number.isascii() or not number.isdigit() or unit not in _UNITS:
        raise SettingError(f"a memory is written like '4g' or '512m', not {text!r:.80}")
    return int(number) << _UNITS[unit]


def start_process(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process that asks the kernel to be ended with its parent.

    The kernel ends it with the *thread* that started it, so it gets one that lives as long as it does.

    Args:
        command: the program and its arguments.
        **options: of `subprocess.Popen`; standard input is closed.

    Raises:
        DesktopError: it cannot be started.
    """
    started: Future[subprocess.Popen[bytes]] = Future()

    def keep() -> None:
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(process)
        process.wait()

    threading.Thread(target=keep, name="rlanything-desktop", daemon=True).start()
    try:
        return started.result()
    except OSError as error:
        raise DesktopError(f"cannot start {command[0]}: {error}") from error


def end_process(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask a process to end; after `seconds` the kernel ends it."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
