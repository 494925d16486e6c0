"""A separate program that reads PDF files and prints their contents as JSON: a child for each, with limits.

It knows nothing but its two libraries, so that a PDF file made to hurt ends a child of this process and no other. A
request is a line ``WHAT SIZE`` followed by so many bytes, where WHAT is ``pages``, ``text`` or ``images``; an answer is
a line ``STATUS SIZE`` followed by so many bytes: a status of 0 and JSON, of 6 where the time was over, or another one
and what is wrong with the file. It ends with its input. Its argument: most seconds by the clock for a file.
"""

import base64
import contextlib
import importlib
import io
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any

MEMORY = 1536 * 2**20
SECONDS = 20
LETTERS = 4_000_000
IMAGES = 200
IMAGE_BYTES = 32 * 2**20


def limit() -> None:
    """Set the limits of this process, where the system has them."""
    for kind, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_FSIZE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def look(data: bytes, what: str) -> object:
    """Contents of the file: the number of its pages, its text, or its images in base 64."""
    if what == "images":
        return _images(data)
    pdfium: Any = importlib.import_module("pypdfium2")
    opened = pdfium.PdfDocument(data)
    if what == "pages":
        return len(opened)
    text, size = [], 0
    for number in range(len(opened)):
        text.append(opened[number].get_textpage().get_text_range().replace("\r\n", "\n"))
        size += len(text[-1])
        if size > LETTERS:
            raise ValueError(f"more than {LETTERS} characters of text")
    return "\n".join(text)


def _images(data: bytes) -> list[str]:
    import pypdf

    images: list[str] = []
    size = 0
    for page in pypdf.PdfReader(io.BytesIO(data)).pages:
        for image in page.images:
            size += len(image.data)
            if size > IMAGE_BYTES or len(images) >= IMAGES:
                raise ValueError(f"more than {IMAGES} pictures, or {IMAGE_BYTES} bytes of them")
            images.append(base64.b64encode(image.data).decode())
    return images


def answer(data: bytes, what: str) -> tuple[int, bytes]:
    """Status and content of the answer."""
    try:
        return 0, json.dumps(look(data, what)).encode()
    except Exception as error:
        return 4, f"{type(error).__name__}: {error}"[:300].encode()


def in_a_child(data: bytes, what: str, seconds: float) -> tuple[int, bytes]:
    """The answer of a child that has the limits; 5 where it did not survive them."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        limit()
        status, content = answer(data, what)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(b"%d " % status + content)
        os._exit(0)
    os.close(writing)
    found, end, slow = [], time.monotonic() + seconds, False
    while select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
        if not (part := os.read(reading, 1 << 20)):
            break
        found.append(part)
    else:
        slow = True
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    _, ended = os.waitpid(child, 0)
    if slow:
        return 6, b""
    given, _, content = b"".join(found).partition(b" ")
    return (int(given), content) if ended == 0 and given.isdigit() else (5, b"a PDF file beyond the limits")


def main() -> int:
    """Answer requests until there are no more."""
    seconds = float(sys.argv[1])
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(ImportError):
        importlib.import_module("pypdfium2")  # once for all children
    while line := requests.readline():
        what, size = line.split()
        status, content = in_a_child(requests.read(int(size)), what.decode(), seconds)
        answers.write(b"%d %d\n" % (status, len(content)) + content)
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
