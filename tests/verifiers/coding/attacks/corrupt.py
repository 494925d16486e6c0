# expect: RE MLE TLE OK
"""Writes noise over its own heap."""

import ctypes

for step in range(0, 1 << 16, 8):
    ctypes.memset(id(object()) + step, 0xFF, 8)
