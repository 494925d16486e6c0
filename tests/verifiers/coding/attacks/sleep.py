# expect: TLE_WALL
"""Uses no time and does not end."""

import time

while True:
    time.sleep(60)
