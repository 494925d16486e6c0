"""Lines of a packed file of unknown origin, within bounds."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from rlanything_agents.runs.stored.folder import ReadError

__all__ = ["unpacked_lines"]

MAX_UNPACKED = 1 << 30
"""Bytes a file may unpack to; an iteration of 128 episodes of a large model has some 20 MB."""
MAX_LINE = 32 << 20
"""Longest line, which is one episode; of a longer one nothing is read."""


def unpacked_lines(
    file: BinaryIO, *, unpacked: int = MAX_UNPACKED, longest: int = MAX_LINE
) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line of a gzip file, while it lasts; None for a line that is too long.

    Args:
        file: A gzip file.
        unpacked: Most bytes to unpack.
        longest: Most bytes of a line.

    Raises:
        ReadError: The file is cut short, damaged or unpacks to more than the limit; the lines before that were given.
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
                    raise ReadError(f"it unpacks to more than {unpacked >> 20} MiB; the rest is not shown")
                yield number, whole
                number += 1
    except (EOFError, OSError, zlib.error) as error:
        raise ReadError(f"it is damaged or cut short after {number} episodes ({error})") from None
