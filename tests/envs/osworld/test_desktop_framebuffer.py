"""The file of pixels: its format, and the tricks a program in the desktop could play with it."""

import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.osworld.desktop.guest.framebuffer import Framebuffer


def dump(width: int, height: int, pixels: bytes, *, bits: int = 32, colours: int = 2) -> bytes:
    """A screen as Xvfb writes it: 25 words, a colour map, the lines (XWDFile.h)."""
    words = [0] * 25
    words[0], words[4], words[5], words[11], words[12], words[19] = 160, width, height, bits, 4 * width, colours
    return struct.pack(">25I", *words) + b"\0" * 60 + b"\1" * 12 * colours + pixels


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_pixels_come_back(tmp_path_factory, width, height, data):
    pixels = data.draw(st.binary(min_size=4 * width * height, max_size=4 * width * height))
    file = tmp_path_factory.mktemp("screen") / "Xvfb_screen0"
    file.write_bytes(dump(width, height, pixels))
    read = Framebuffer(file).read()
    assert (read.width, read.height, read.bgrx) == (width, height, pixels)
    lowest = data.draw(st.integers(1, 12))
    read, kept = Framebuffer(file).read(lowest), min(height, lowest)
    assert (read.width, read.height, read.bgrx) == (width, kept, pixels[4 * width * (height - kept) :])


def test_the_order_of_the_colours(tmp_path):
    file = tmp_path / "screen"
    file.write_bytes(dump(2, 1, bytes([1, 2, 3, 0, 4, 5, 6, 0])))
    assert np.asarray(Framebuffer(file).read().image()).tolist() == [[[3, 2, 1], [6, 5, 4]]]


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(dump(1, 1, b"\0\0\0\0"))
    (tmp_path / "screen").symlink_to(tmp_path / "secret")
    with pytest.raises(match="cannot read"):
        Framebuffer(tmp_path / "screen").read()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "screen")
    with pytest.raises(match="too short"):
        Framebuffer(tmp_path / "screen").read()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x" * 99,
        dump(1, 1, b"\0\0\0"),
        dump(1, 1, b"\0\0\0\0", bits=24),
        dump(0, 1, b""),
        dump(100_000, 100_000, b""),
        dump(1, 1, b"\0\0\0\0", colours=1)[:100].replace(struct.pack(">I", 1), struct.pack(">I", 2**31)),
        b"\xff" * 4000,
    ],
)
def test_files_that_are_no_screen(tmp_path, content):
    (tmp_path / "screen").write_bytes(content)
    with pytest.raises(OSError, match=r"screen|pixels"):
        Framebuffer(tmp_path / "screen").read()
