# expect: OK
# control: escapes
# ruff: noqa
"""Another program in the place of this one."""

import os

for path in ("/bin/sh", "/usr/bin/env"):
    try:
        os.execv(path, [path, "-c", "echo ESCAPED exec"])
    except OSError:
        pass
print("done")
