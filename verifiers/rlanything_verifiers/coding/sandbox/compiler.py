"""The server in a compile worker: it runs one of the compiler's programs after the other, from a file into another."""

# ruff: noqa: PTH107, PTH208

from __future__ import annotations

import ctypes
import os
import resource
import signal

from . import messages, program, submission
from .messages import Socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

#: A program of the compiler: its words, and which of them name its input and its output.
Step = tuple[list[str], str, str]
#: Memory of each of the compiler's programs in bytes: the largest standard header takes 300 MiB.
_MEMORY = 2 << 30
#: Largest file in bytes: assembler text, objects, executables and messages.
FILE = 64 << 20
#: Names of standard input and output, for workers without a directory to write to.
INPUT, OUTPUT = "/proc/self/fd/0", "/proc/self/fd/1"


def serve(
    control: Socket,
    scratch: str | None,
    steps: list[Step],
    environment: dict[str, str],
    filters: ctypes.Structure | None,
) -> NoReturn:
    """Run the steps that are asked for; never returns.

    No file of theirs outlives a step. A worker with its own root has a directory in memory there; others have no
    directory, but ``/proc``, through which the compiler opens its standard streams.
    """
    code = 1
    try:
        if scratch is not None:
            os.chdir(scratch)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        while True:
            kind, body, _ = messages.receive(control)
            if kind != messages.COMPILE:
                code = 1 if kind else 0
                break
            words, source, result = steps[body[0]]
            if scratch is None:
                words = [{source: INPUT, result: OUTPUT}.get(word, word) for word in words]

            def start(stdio: list[int], cpu: float, server: int, words=words, source=source) -> NoReturn:  # type: ignore[no-untyped-def]
                _start(words, None if scratch is None else source, stdio, cpu, server, environment, filters)

            def finish(stdio: list[int], result=result) -> None:  # type: ignore[no-untyped-def]
                _take(result, stdio[1])

            submission.run(
                control, start, None, own_children=filters is not None, finish=None if scratch is None else finish
            )
    except OSError:  # the judge is gone
        code = 0
    finally:
        os._exit(code)


def _start(
    words: list[str],
    source: str | None,
    stdio: list[int],
    cpu: float,
    server: int,
    environment: dict[str, str],
    filters: ctypes.Structure | None,
) -> NoReturn:
    try:
        if source is not None:
            copy = os.open(source, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            _copy(stdio[0], copy)
            os.close(copy)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        program.lock(stdio, cpu, server, filters)
        os.execve(words[0], words, environment)  # nosec B606 # the compiler, with our own words
    finally:
        os._exit(messages.NOT_STARTED)


def _take(result: str, target: int) -> None:
    """Move a step's result into a file, and empty the directory."""
    try:
        made = os.open(result, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:  # the source was refused
        pass
    else:
        _copy(made, target)
        os.close(made)
    for name in os.listdir("."):
        os.remove(name)


def _copy(source: int, target: int) -> None:
    left = os.fstat(source).st_size
    place = 0
    while left > place:
        place += os.sendfile(target, source, place, left - place)
