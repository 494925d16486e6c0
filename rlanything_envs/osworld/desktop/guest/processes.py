"""Programs started on request, with their output or left running, and files: all of it inside the desktop."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass

from .interior import Answer, Interior

__all__ = ["Finished", "Processes"]

_KEPT_OUTPUT = 16 << 20
"""Bytes of a stream that are kept; the rest is dropped."""
_FILE_SECONDS = 60.0
_LAUNCH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program printed, and its exit status (minus the signal's number where one ended it)."""

    output: str
    error: str
    returncode: int


class Processes:
    """Runs programs in the session's environment, from its home directory.

    All methods raise `InteriorError` where the inside of the desktop has ended.
    """

    def __init__(self, interior: Interior) -> None:
        self._interior = interior

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the session's programs."""
        return self._interior.environment

    @property
    def home(self) -> str:
        """The home directory."""
        return self._interior.settings.home

    def run(
        self,
        command: list[str] | str,
        *,
        shell: bool = False,
        timeout: float,
        merge: bool = False,
        cwd: str | None = None,
        module: str = "",
        free: float = math.inf,
    ) -> Finished:
        """Run a command to its end.

        ``["python", "-c", code]`` runs in a copy of a process that has loaded ``pyautogui``, and ``module`` where one
        is named. ``merge`` sends both streams to ``output``. ``free`` limits the time without that in which other work
        kept the desktop from the processors.

        Raises:
            OSError: the program is not there or cannot be started.
            ValueError: the command is empty or its quotes do not match.
            Refusal: it printed without end, and has been killed with its children.
            TimeoutError: it was still running after ``timeout`` seconds; it has been killed with its children.
        """
        argv = self._argv(command, shell)
        place = cwd or self.home
        if isinstance(argv, list) and len(argv) == 3 and argv[:2] in (["python", "-c"], ["python3", "-c"]):
            request = {"kind": "python", "cwd": place, "module": module}
            answer = self._interior.ask(request, timeout, argv[2].encode(errors="surrogateescape"), merge, free)
        else:
            answer = self._interior.ask({"kind": "run", "command": argv, "cwd": place}, timeout, merge=merge)
        return Finished(_text(answer.out), _text(answer.err), int(answer.values["returncode"]))

    def launch(self, command: list[str] | str, *, shell: bool = False) -> int:
        """Start a program and leave it running; returns its process id inside.

        Raises:
            OSError: the program is not there or cannot be started.
            ValueError: the command is empty or its quotes do not match.
        """
        request = {"kind": "launch", "command": self._argv(command, shell), "cwd": self.home}
        return int(_done(self._interior.ask(request, _LAUNCH_SECONDS)).values["pid"])

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: there is none that may be read.
            Refusal: it is a device, a pipe, or too large.
        """
        return _done(self._interior.ask({"kind": "read", "path": path}, _FILE_SECONDS)).out

    def store(self, path: str, data: bytes) -> None:
        """Write a file, with the directories above it.

        Raises:
            OSError: it cannot be written.
        """
        _done(self._interior.ask({"kind": "store", "path": path}, _FILE_SECONDS, data))

    def tree(self, path: str) -> bytes:
        """A directory and everything below it, as JSON.

        Raises:
            OSError: there is none that may be read.
            Refusal: it has too many entries, or too deep ones.
        """
        return _done(self._interior.ask({"kind": "list", "path": path}, _FILE_SECONDS)).out

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
        words = [f"{self.home}/{word[2:]}" if word.startswith("~/") else word for word in command]
        return ["/bin/sh", "-c", *words] if shell else words  # as Popen has it


def _done(answer: Answer) -> Answer:
    if "returncode" in answer.values:
        raise OSError("the process that carries it out was killed")
    return answer


def _text(data: bytes) -> str:
    return data[:_KEPT_OUTPUT].decode(errors="replace")
