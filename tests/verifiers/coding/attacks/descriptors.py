# expect: OK
"""A forged result on an inherited descriptor, and other tests' inputs behind one."""

import os
import stat

for fd in range(3, 4096):
    try:
        os.fstat(fd)
        print("ESCAPED descriptor", fd)
    except OSError:
        pass
for fd in (0, 1, 2):
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        print("ESCAPED not a file", fd)
for call in (lambda: os.write(0, b"x"), lambda: os.ftruncate(0, 0), lambda: os.pwrite(0, b"x", 0)):
    try:
        call()
        print("ESCAPED input changed")
    except OSError:
        pass
print("done")
