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

from rlanything_verifiers.osworld.errors import MissingLibrary, VerifierError
from rlanything_verifiers.osworld.file import File

__all__ = ["page_count", "pdf_images", "pdf_text"]

_PROGRAM = Path(__file__).with_name("pdf_worker.py")

_SECONDS = 40.0
"""By the clock, for one file."""


class _Worker:
    """The process that reads PDF files, started when first needed and once more where it has ended or after a fork."""

    def __init__(self, program: Path = _PROGRAM, seconds: float = _SECONDS) -> None:
        self.command = [sys.executable, "-I", str(program), str(seconds)]
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self.close)

    def ask(self, what: str, data: bytes) -> tuple[int, bytes]:
        """Status and content of its answer."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
                self.process = subprocess.Popen(self.command, **pipes)  # type: ignore[call-overload]
            try:
                return self._exchange(self.process, what, data)
            except (OSError, ValueError) as error:
                self.process.kill()
                raise VerifierError(f"the process that reads PDF files ended: {error}") from error
            except BaseException:  # an interrupt: its answer would be taken for that of the next request
                self.process.kill()
                raise

    def _exchange(self, process: subprocess.Popen[bytes], what: str, data: bytes) -> tuple[int, bytes]:
        assert process.stdin is not None  # nosec B101 # both are pipes
        assert process.stdout is not None  # nosec B101
        process.stdin.write(b"%s %d\n" % (what.encode(), len(data)) + data)
        process.stdin.flush()
        status, size = process.stdout.readline().split()
        return int(status), process.stdout.read(int(size))

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
        if status == 3:
            raise MissingLibrary(content.decode(errors="replace"))
        if status != 0:
            raise file.refuse(content.decode(errors="replace"))
        return json.loads(content)
