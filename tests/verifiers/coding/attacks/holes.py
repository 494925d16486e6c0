# expect: OLE
# ruff: noqa
"""A file of a terabyte that holds one byte."""

import os

for offset in (1 << 40, 2 << 20, (1 << 20) - 1, 1 << 20):
    for call in (lambda n: os.ftruncate(1, n), lambda n: os.pwrite(1, b"x", n), lambda n: os.pwrite(1, b"xx", n)):
        try:
            call(offset)
        except OSError:
            pass
