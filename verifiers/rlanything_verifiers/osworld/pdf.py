"""Contents of a PDF file, read by a separate process with limits on its time and memory."""

from __future__ import annotations

import atexit
import base64
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from rlanything_verifiers.osworld.errors import Unreadable, VerifierError
from rlanything_verifiers.osworld.file import File

__all__ = ["page_count", "pdf_images", "pdf_text"]

_PROGRAM = Path(__file__).with_name("pdf_worker.py")

_SECONDS = 40.0
"""By the clock, for one file."""

_SLOW = 6
"""Status of a file that was not read in time; the processors may have been busy with the agent's desktop."""

_HEAD, _LARGEST = 64, 64 * 2**20
"""Bytes of an answer's first line, and of its content."""


class _Worker:
    """The process that reads PDF files, started when first needed and once more where it has ended or after a fork."""

    def __init__(self, program: Path = _PROGRAM, seconds: float = _SECONDS) -> None:
        self.command = [sys.executable, "-I", str(program), str(seconds)]
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def ask(self, what: str, data: bytes) -> tuple[int, bytes]:
        """Status and content of its answer.

        Raises:
            VerifierError: it gives none to an empty file either.
        """
        with self.lock:
            try:
                return self._exchange(what, data)
            except (OSError, ValueError) as error:
                reason = str(error)
            try:
                self._exchange(what, b"")
            except (OSError, ValueError) as error:
                raise VerifierError(f"the process that reads PDF files ended: {error}") from error
            return 5, f"the process that reads it ended: {reason}".encode()

    def _exchange(self, what: str, data: bytes) -> tuple[int, bytes]:
        if self.process is None or self.process.poll() is not None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(self.command, **pipes)  # type: ignore[call-overload]
        try:
            return self._answer(self.process, what, data)
        except BaseException:  # its answer would be taken for that of the next request
            self.process.kill()
            self.process.wait()
            raise

    def _answer(self, process: subprocess.Popen[bytes], what: str, data: bytes) -> tuple[int, bytes]:
        assert process.stdin is not None  # nosec B101 # both are pipes
        assert process.stdout is not None  # nosec B101
        process.stdin.write(b"%s %d\n" % (what.encode(), len(data)) + data)
        process.stdin.flush()
        status, size = process.stdout.readline(_HEAD).split()
        if not 0 <= int(size) <= _LARGEST:
            raise ValueError(f"an answer of {int(size)} bytes")
        if len(content := process.stdout.read(int(size))) < int(size):
            raise ValueError("an answer that ends too early")
        return int(status), content

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _forget(self) -> None:
        """The process belongs to the parent: of a child's requests and the parent's, none would meet its answer."""
        self.lock = threading.Lock()
        self.process = None


_WORKER = _Worker()


def page_count(file: File) -> int:
    """The number of pages."""
    return int(_look(file, "pages"))


def pdf_text(file: File) -> str:
    """The text of all pages."""
    return str(_look(file, "text"))


def pdf_images(file: File) -> list[File]:
    """The pictures, page by page."""
    return [File("picture", base64.b64decode(data), file.reference) for data in _look(file, "images")]


def _look(file: File, what: str) -> Any:
    with file.reading():
        status, content = _WORKER.ask(what, file.data)
        if status == _SLOW:
            raise Unreadable(f"{file.name}: more than {_SECONDS:g} s were needed to read it")
        if status != 0:
            raise file.refuse(content.decode(errors="replace"))
        return json.loads(content)
