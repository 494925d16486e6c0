# expect: TLE_WALL TLE
"""Woken by a clock again and again."""

import signal
import time

signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
while True:
    time.sleep(1)
