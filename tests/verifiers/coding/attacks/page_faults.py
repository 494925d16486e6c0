# expect: TLE_WALL TLE
"""The kernel's time, in small pieces."""

import mmap
import time

room = mmap.mmap(-1, 64 << 20)
while True:
    for place in range(0, 64 << 12, 1 << 12):
        room[place] = 1
    room.madvise(mmap.MADV_DONTNEED)
    time.sleep(0.001)
