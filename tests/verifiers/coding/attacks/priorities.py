# expect: OK
"""A lower priority, a single core or another policy would make it wait longer."""

import os
import resource

tries = {
    "core": lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    "nice": lambda: os.nice(1),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),
    "idle": lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
    "batch": lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "parameters": lambda: os.sched_setparam(0, os.sched_param(0)),
    "limits of another": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU),
}
for name, attempt in tries.items():
    try:
        attempt()
        print("ESCAPED", name)
    except OSError:
        pass
print("done")
