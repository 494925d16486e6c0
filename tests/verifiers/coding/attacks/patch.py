# expect: OK RE
"""Replaces what a careless judge would call after it."""

import builtins
import os
import sys

os._exit = lambda code: None
sys.exit = lambda code=0: None
os.write = lambda *a: 0
os.waitpid = os.wait4 = os.kill = lambda *a: (0, 0)
sys.modules.clear()
builtins.__dict__["compile"] = lambda *a, **k: None
builtins.__dict__["exec"] = lambda *a, **k: None
for frame in iter([sys._getframe()]):
    while frame.f_back is not None:
        frame = frame.f_back
        for name, value in list(frame.f_globals.items()):
            if callable(value):
                frame.f_globals[name] = lambda *a, **k: 0
sys.__dict__["stdout"].write("done\n")
