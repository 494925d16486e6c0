# expect: TLE_WALL TLE
"""Threads that are in each other's way for a moment, and then sleep on the time that they waited."""

import hashlib
import threading
import time


def work():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10_000)
    time.sleep(1000)


try:
    while True:
        threading.Thread(target=work, daemon=True).start()
except RuntimeError:
    time.sleep(1000)
