# expect: OK
# control: escapes
"""Memory by steps of ten mebibytes, each page of it used, at most 800."""

import mmap

blocks = []
try:
    while len(blocks) < 80:
        blocks.append(bytearray(b"x") * (10 << 20))
except MemoryError:
    pass
private = len(blocks)
try:
    while len(blocks) < 80:
        blocks.append(mmap.mmap(-1, 10 << 20))  # shared between processes
        blocks[-1].write(b"x" * (10 << 20))
except (MemoryError, OSError):
    pass
if len(blocks) * 10 > 512:
    print("ESCAPED", len(blocks) * 10, "MB")
print("done", private > 20)
