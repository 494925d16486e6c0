"""Programs started on request: with their output, or left running."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from dataclasses import dataclass

from .zygote import Zygote

__all__ = ["Finished", "Processes"]

LONGEST_OUTPUT = 16 << 20
"""Bytes of a stream that are kept; the rest is dropped."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program printed, and its exit status (minus the signal's number where one ended it)."""

    output: str
    error: str
    returncode: int


class _Streams:
    """Two anonymous files for what a program prints.

    Files, not pipes: a program that leaves a child behind would keep a pipe open and its caller waiting.
    """

    def __enter__(self) -> _Streams:
        self.out, self.err = os.memfd_create("stdout"), os.memfd_create("stderr")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.out)
        os.close(self.err)

    @staticmethod
    def text(fd: int) -> str:
        return os.pread(fd, LONGEST_OUTPUT, 0).decode(errors="replace")


class Processes:
    """Runs programs in the session's environment, from its home directory."""

    def __init__(self, zygote: Zygote, environment: dict[str, str]) -> None:
        self._zygote = zygote
        self.environment = environment

    @property
    def _home(self) -> str:
        return self.environment["HOME"]

    def run(
        self,
        command: list[str] | str,
        *,
        shell: bool = False,
        timeout: float,
        merge: bool = False,
        cwd: str | None = None,
    ) -> Finished:
        """Run a command to its end.

        ``["python", "-c", code]`` goes to the zygote. ``merge`` sends both streams to ``output``.

        Raises:
            OSError: the program is not there or cannot be started.
            ValueError: the command is empty or its quotes do not match.
            TimeoutError: it was still running after ``timeout`` seconds; it has been killed with its children.
        """
        argv = self._argv(command, shell)
        with _Streams() as streams:
            err = streams.out if merge else streams.err
            if isinstance(argv, list) and len(argv) == 3 and argv[:2] in (["python", "-c"], ["python3", "-c"]):
                code = argv[2].encode()
                home = cwd or self._home
                status = self._zygote.run(code, self.environment, home, streams.out, err, timeout)
            else:
                status = self._wait(argv, shell, streams.out, err, timeout, cwd)
            return Finished(streams.text(streams.out), "" if merge else streams.text(streams.err), status)

    def _wait(self, argv: list[str] | str, shell: bool, out: int, err: int, timeout: float, cwd: str | None) -> int:
        process = subprocess.Popen(  # nosec B602 # inside the guest, whoever uses it may run anything
            argv,
            shell=shell,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=self.environment,
            cwd=cwd or self._home,
            start_new_session=True,
        )
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise TimeoutError(f"still running after {timeout:g} seconds") from None

    def launch(self, command: list[str] | str, *, shell: bool = False) -> int:
        """Start a program and leave it running; returns its process id.

        Raises:
            OSError: the program is not there or cannot be started.
            ValueError: the command is empty or its quotes do not match.
        """
        process = subprocess.Popen(  # nosec B602 # as above
            self._argv(command, shell),
            shell=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            cwd=self._home,
            start_new_session=True,
        )
        return process.pid

    def _argv(self, command: list[str] | str, shell: bool) -> list[str] | str:
        """The command as upstream reads it: a text is split unless it is for the shell, ``~/`` is the home."""
        if isinstance(command, str):
            if not command.strip():
                raise ValueError("the command is empty")
            if shell:
                return command
            command = shlex.split(command)
        if not command:
            raise ValueError("the command is empty")
        return [f"{self._home}/{word[2:]}" if word.startswith("~/") else word for word in command]
