# expect: TLE_WALL TLE
"""Always about to run, and never running."""

import threading
import time


def work(seconds):
    while True:
        time.sleep(seconds)


for i in range(30):
    threading.Thread(target=work, args=(0.02 + i / 1000,), daemon=True).start()
work(0.0001)
