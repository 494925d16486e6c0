# expect: TLE_WALL TLE
"""Two threads that wake each other."""

import os
import threading

there, back = os.pipe(), os.pipe()


def answer():
    while True:
        os.write(back[1], os.read(there[0], 1))


threading.Thread(target=answer, daemon=True).start()
while True:
    os.write(there[1], b"x")
    os.read(back[0], 1)
