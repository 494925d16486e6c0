# expect: TLE
"""An exit function without end."""

import atexit


@atexit.register
def forever():
    while True:
        pass
