# expect: OK
# ruff: noqa
"""The worker's memory. Input: the judge's process number."""

import ctypes
import os
import platform
import sys

judge = int(sys.stdin.readline())
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": {"ptrace": 101, "process_vm_readv": 310}, "aarch64": {"ptrace": 117, "process_vm_readv": 270}}
number = NUMBERS[platform.machine()]
buffer = ctypes.create_string_buffer(64)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)
for target in (os.getppid(), judge, 1):
    for name in ("mem", "environ", "maps", "cmdline", "fd", "root"):
        try:
            path = f"/proc/{target}/{name}"
            os.listdir(path) if name in ("fd", "root") else open(path, "rb").read(1)
            print("ESCAPED", path)
        except OSError:
            pass
    if libc.syscall(number["ptrace"], 16, target, 0, 0) == 0:
        print("ESCAPED ptrace")
    if libc.syscall(number["process_vm_readv"], target, vector, 1, vector, 1, 0) >= 0:
        print("ESCAPED process_vm_readv")
print("done")
