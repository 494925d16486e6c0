# expect: RE
"""A 32-bit system call on a 64-bit machine, where numbers mean something else."""

import ctypes
import mmap
import platform

if platform.machine() != "x86_64":
    raise SystemExit(1)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print("ESCAPED", ctypes.CFUNCTYPE(ctypes.c_int)(address)(), flush=True)
