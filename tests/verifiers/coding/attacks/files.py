# expect: OK
# control: escapes
# ruff: noqa
"""Files of the machine. Input: a secret file, a folder that everybody may write."""

import os
import sys

secret, folder = sys.stdin.read().split("\n")[:2]
tries = {
    "passwd": lambda: open("/etc/passwd").read(),
    "secret": lambda: open(secret).read(),
    "relative": lambda: open("../../../.." + secret).read(),
    "descriptor": lambda: os.open(secret, os.O_PATH) and open(f"/proc/self/fd/{os.open(secret, os.O_PATH)}").read(),
    "list": lambda: os.listdir(folder),
    "root": lambda: os.listdir("/etc"),
    "proc": lambda: open("/proc/self/maps").read(),
    "write": lambda: open(os.path.join(folder, "written"), "w").write("x"),
    "tmp": lambda: os.open("/tmp", os.O_TMPFILE | os.O_RDWR),
    "shm": lambda: os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR),
    "folder": lambda: os.mkdir(os.path.join(folder, "made")),
    "remove": lambda: os.unlink(secret),
    "rename": lambda: os.rename(secret, secret + "2"),
    "link": lambda: os.symlink(secret, os.path.join(folder, "link")),
    "hardlink": lambda: os.link(secret, os.path.join(folder, "hard")),
    "mode": lambda: os.chmod(secret, 0o777),
    "truncate": lambda: os.truncate(secret, 0),
    "time": lambda: os.utime(secret),
    "root folder": lambda: os.chroot(folder + "/nowhere"),
    "packages": lambda: open(os.path.join(os.path.dirname(os.__file__), "site-packages", "README.txt")).read(),
    "library": lambda: open(os.__file__, "r+"),
}
for name, attempt in tries.items():
    try:
        attempt()
        print("ESCAPED", name)
    except FileNotFoundError:
        if name == "root folder" and os.path.isdir(folder):
            print("ESCAPED", name)
    except (OSError, AttributeError):
        pass
print("done")
