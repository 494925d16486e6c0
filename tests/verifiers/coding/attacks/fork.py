# expect: OK
# control: escapes
"""More processes, by every door."""

import ctypes
import os
import platform

libc = ctypes.CDLL(None, use_errno=True)
CLONE = {"x86_64": 56, "aarch64": 220}[platform.machine()]


def child():
    if os.fork() == 0:
        os._exit(0)


def clone():
    pid = libc.syscall(CLONE, 17, 0, 0, 0, 0)  # SIGCHLD: what fork is
    if pid == 0:
        libc._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone")


def system():
    if os.system("true") == 0:
        return
    raise OSError("system")


def hidden_import():
    if __import__("importlib").import_module("po" + "six").system("true") != 0:
        raise OSError("posix.system")


def popen():
    import subprocess

    subprocess.run(["/bin/true"], check=True)


def spawn():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def pool():
    import multiprocessing

    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()


for attack in (*[child] * 20, clone, system, hidden_import, popen, spawn, pool):
    try:
        attack()
        print("ESCAPED", attack.__name__)
    except OSError:
        pass
print("done")
