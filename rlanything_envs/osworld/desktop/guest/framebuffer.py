"""The pixels of the screen, read from the file in which Xvfb keeps them.

Xvfb with ``-fbdir`` maps its screen into a file in the X window dump format (XWDFile.h): a header of 25 big-endian
32-bit words, a colour map, then the lines, 4 bytes a pixel in the order blue, green, red, unused. Reading it costs
no request to the server, and the pointer is in it.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Framebuffer", "Pixels"]

_HEADER = struct.Struct(">25I")
_COLOUR_BYTES = 12
_WIDEST = 8192
_PNG_LEVEL = 1
"""zlib level of a screenshot: a desktop is flat, and level 6 takes twice the time for a third of the bytes."""


class Pixels(NamedTuple):
    """A copy of the screen: ``height`` lines of ``width`` pixels, 4 bytes each: blue, green, red, unused."""

    width: int
    height: int
    bgrx: bytes

    def image(self) -> Any:
        """As a Pillow image.

        Raises:
            ImportError: the package ``python3-pil`` is missing.
        """
        from PIL import Image

        return Image.frombuffer("RGB", (self.width, self.height), self.bgrx, "raw", "BGRX", 0, 1)

    def png(self) -> bytes:
        """As a PNG file."""
        import io

        file = io.BytesIO()
        self.image().save(file, "png", compress_level=_PNG_LEVEL)
        return file.getvalue()


class Framebuffer:
    """The screen behind one file.

    Args:
        path: the file, or the descriptor of an open one.
    """

    def __init__(self, path: Path | int) -> None:
        self.path = path

    def read(self, lowest: int | None = None) -> Pixels:
        """Copy the screen, or so many of its lowest lines.

        Raises:
            OSError: there is no such file, or it is no screen of 32 bits a pixel.
        """
        try:
            # Programs of the desktop can write here, and the reader may be outside: follow no link, wait for no pipe.
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
            if isinstance(self.path, int):
                descriptor = os.open(f"/proc/self/fd/{self.path}", flags)
            else:
                descriptor = os.open(self.path, flags | os.O_NOFOLLOW)
            with open(descriptor, "rb") as file:  # noqa: PTH123
                head = file.read(_HEADER.size)
                if len(head) < _HEADER.size:
                    raise OSError(f"{self.path}: too short for a screen")
                fields = _HEADER.unpack(head)
                header_bytes, width, height = fields[0], fields[4], fields[5]
                bits, line_bytes, colours = fields[11], fields[12], fields[19]
                if bits != 32 or line_bytes != 4 * width:
                    raise OSError(f"{self.path}: {bits} bits a pixel, {line_bytes} bytes a line; need 32")
                if not (0 < width <= _WIDEST and 0 < height <= _WIDEST and colours <= _WIDEST):
                    raise OSError(f"{self.path}: no screen has {width} by {height} pixels")
                skipped = 0 if lowest is None else max(0, height - lowest)
                height -= skipped
                file.seek(header_bytes + _COLOUR_BYTES * colours + line_bytes * skipped)
                bgrx = file.read(line_bytes * height)
        except OSError as error:
            raise OSError(f"cannot read the screen: {error}") from error
        if len(bgrx) != line_bytes * height:
            raise OSError(f"{self.path}: {len(bgrx)} bytes of pixels, expected {line_bytes * height}")
        return Pixels(width, height, bgrx)
