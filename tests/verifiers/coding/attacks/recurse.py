# expect: RE MLE
"""Recursion without end, in Python and in C."""

import sys

sys.setrecursionlimit(1 << 30)


class Deep:
    def __repr__(self):
        return repr(self)


repr(Deep())
