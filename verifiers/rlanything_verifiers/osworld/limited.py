"""Programs of others that read an untrusted file: in a separate process, with limits on time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rlanything_verifiers.osworld.errors import Unreadable, VerifierError
from rlanything_verifiers.osworld.file import File

__all__ = ["run_limited"]

_MEMORY = 2 * 2**30
_START = (
    "import os, resource, sys\n"
    "cpu, memory = int(sys.argv[1]), int(sys.argv[2])\n"
    "resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))\n"
    "resource.setrlimit(resource.RLIMIT_AS, (memory, memory))\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)
"""A limit set between fork and exec would be Python code in a copy of a process with threads, which can hang.

The only file that it writes is that of its messages: ffmpeg has one for each broken packet, and 4 KiB are enough."""


def run_limited(file: File, command: Sequence[str], data: bytes, *, seconds: int) -> bytes:
    """Standard output of a program that reads a file.

    Args:
        file: What is read, for the message of an error.
        command: The program and its arguments; ``{}`` stands for the path of a temporary file with the data.
        data: The content of that file; standard input where no argument is ``{}``.
        seconds: Maximum processor time; twice as much on the clock.

    Raises:
        Unreadable, VerifierError: The program failed.
        Unreadable: It took too long by the clock.
        VerifierError: It cannot be started, or there is no room for its file.
    """
    try:
        done = _run(command, data, seconds)
    except subprocess.TimeoutExpired as error:
        # Whoever keeps the processors busy may be the agent's desktop: slowness is no fault of the task's own file.
        raise Unreadable(f"{file.name}: {Path(command[0]).name} took more than {2 * seconds} s") from error
    except OSError as error:
        raise VerifierError(f"{Path(command[0]).name} cannot be started: {error}") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip()[-200:]
        raise file.refuse(f"{Path(command[0]).name} cannot read it (exit {done.returncode}): {last}")
    return done.stdout


def _run(command: Sequence[str], data: bytes, seconds: int) -> subprocess.CompletedProcess[bytes]:
    with tempfile.TemporaryDirectory(prefix="rlanything-verifier-") as folder:
        path = Path(folder, "file")
        if "{}" in command:
            path.write_bytes(data)
        arguments = [str(path) if part == "{}" else part for part in command]
        start = [sys.executable, "-I", "-S", "-c", _START, str(seconds), str(_MEMORY)]
        with Path(folder, "said").open("w+b") as said:
            done = subprocess.run(
                [*start, *arguments],
                input=b"" if "{}" in command else data,
                stdout=subprocess.PIPE,
                stderr=said,
                timeout=2.0 * seconds,
                env={"PATH": os.defpath, "OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"},
                cwd=folder,
            )
            said.seek(0)
            done.stderr = said.read()
        return done
