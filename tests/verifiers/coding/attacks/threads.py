# expect: OK
"""As many threads as it can get, at most 300."""

import threading

end = threading.Event()
threading.stack_size(32 << 10)
threads = []
try:
    while len(threads) < 300:
        threads.append(threading.Thread(target=end.wait, daemon=True))
        threads[-1].start()
except (RuntimeError, MemoryError):
    threads.pop()
end.set()
for thread in threads:
    thread.join()
print("done", len(threads) >= 8)
