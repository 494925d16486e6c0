"""Contents of a PDF file, read by a separate process with limits on its time and memory."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rlanything_verifiers.osworld.errors import MissingLibrary
from rlanything_verifiers.osworld.file import File

__all__ = ["page_count", "pdf_images", "pdf_text"]

_WORKER = Path(__file__).with_name("pdf_worker.py")
_SECONDS = 40.0


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
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(_WORKER), what], input=file.data, capture_output=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise file.refuse("a PDF file that takes too long") from error
        if done.returncode == 3:
            raise MissingLibrary("pypdf")
        if done.returncode != 0:
            raise file.refuse(done.stderr.decode(errors="replace").strip()[-300:] or "a PDF file beyond the limits")
        return json.loads(done.stdout)
