# expect: OK
# control: escapes
"""As many threads as it can get, at most 1000, started by many at once."""

import threading

end = threading.Event()
threading.stack_size(32 << 10)
threads = []


def more():
    try:
        while len(threads) < 1000:
            thread = threading.Thread(target=end.wait, daemon=True)
            thread.start()
            threads.append(thread)
    except (RuntimeError, MemoryError):
        pass


starters = []
try:
    for _ in range(20):
        starters.append(threading.Thread(target=more))
        starters[-1].start()
except (RuntimeError, MemoryError):
    starters.pop()
for starter in starters:
    starter.join()
if len(threads) > 144:
    print("ESCAPED", len(threads), "threads")
end.set()
for thread in threads:
    thread.join()
print("done", len(threads) >= 8)
