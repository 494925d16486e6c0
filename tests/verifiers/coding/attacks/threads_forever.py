# expect: TLE_WALL
"""The program ends, its thread does not."""

import threading
import time

threading.Thread(target=time.sleep, args=(1e6,)).start()
