# expect: OK
"""Signals to the worker, the judge and everybody. Input: the judge's process number."""

import os
import signal
import sys

judge = int(sys.stdin.readline())
for target in (os.getppid(), judge, 1, -1, 0, -judge):
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(target, number)
            print("ESCAPED", target, number)
        except OSError:
            pass
for call in (lambda: os.killpg(os.getpgrp(), signal.SIGKILL), lambda: os.setsid(), lambda: os.setpgid(0, 0)):
    try:
        call()
        print("ESCAPED group")
    except OSError:
        pass
print("done")
