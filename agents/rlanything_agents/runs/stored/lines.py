"""Bounded reader of the lines of an untrusted gzip file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from rlanything_agents.runs.storage import RunFolderError

__all__ = ["unpacked_lines"]

MAX_UNPACKED = 1 << 30
"""Maximum bytes of an unpacked file; an iteration of 128 episodes of a large model has about 20 MB."""
MAX_LINE = 32 << 20
"""Maximum bytes of a line, which is one episode; a longer line is skipped."""


def unpacked_lines(
    file: BinaryIO, *, unpacked: int = MAX_UNPACKED, longest: int = MAX_LINE
) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line of a gzip file; None as the content of a line that is too long.

    Args:
        file: A gzip file.
        unpacked: Maximum bytes to unpack.
        longest: Maximum bytes of a line.

    Raises:
        RunFolderError: The file is truncated, damaged, or unpacks to more than the limit; the lines before that have
            been yielded.
    """
    left, number = unpacked, 0
    try:
        with gzip.open(file, "rb") as lines:
            while line := lines.readline(min(longest, left) + 1):
                left -= len(line)
                whole = line if line.endswith(b"\n") or len(line) <= longest else None
                while not line.endswith(b"\n") and left > 0 and (line := lines.readline(min(longest, left))):
                    left -= len(line)
                if left <= 0:
                    raise RunFolderError(f"it unpacks to more than {unpacked >> 20} MiB; the rest is not shown")
                yield number, whole
                number += 1
    except (EOFError, OSError, zlib.error) as error:
        raise RunFolderError(f"it is damaged or cut short after {number} episodes ({error})") from None
