"""Text in pictures, recognised by the program tesseract in a process with limits."""

from __future__ import annotations

import io

from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import program
from rlanything_verifiers.osworld.limited import run_limited
from rlanything_verifiers.osworld.opening import image

__all__ = ["recognised_text"]

_SMALL = 1_000_000
"""Pixels of a picture below which it is read at twice its size: letters of a screen are smaller than printed ones."""

_SECONDS = 60
"""Of processor time."""


def recognised_text(file: File) -> str:
    """The English text in a picture, line by line.

    Raises:
        Unreadable, VerifierError: the file is not a picture, or beyond the limits.
    """
    if (picture := image(file).convert("RGB")).width * picture.height < _SMALL:
        picture = picture.resize((2 * picture.width, 2 * picture.height))
    data = io.BytesIO()
    picture.save(data, "PNG")
    command = [program("tesseract"), "stdin", "stdout", "-l", "eng"]
    return run_limited(file, command, data.getvalue(), seconds=_SECONDS).decode(errors="replace")
