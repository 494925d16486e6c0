# expect: OK
"""Memory in pipes, outside the address space."""

import os

kept = 0
pipes = []
try:
    while len(pipes) < 1000:
        pipes.append(os.pipe())
        os.set_blocking(pipes[-1][1], False)
        try:
            __import__("fcntl").fcntl(pipes[-1][1], 1031, 1 << 20)  # F_SETPIPE_SZ
            print("ESCAPED pipe size")
        except OSError:
            pass
        kept += os.write(pipes[-1][1], b"x" * (1 << 20))
except OSError:
    pass
if kept > 4 << 20:
    print("ESCAPED", kept, "bytes")
print("done", kept > 0)
