# expect: TLE_WALL TLE
"""The same with threads that wait for the interpreter."""

import threading
import time


def work():
    while time.process_time() < 0.3:
        pass
    time.sleep(1000)


try:
    while True:
        threading.Thread(target=work, daemon=True).start()
except RuntimeError:
    time.sleep(1000)
