"""Checks behind ``rlanything doctor``. A machine or a run folder comes in; findings go out, each with a remedy where
something is broken.

- `machine`: packages, memory, disk, GPU, sandbox, desktop, data, a few steps in each environment, and what these allow.
- `run`: every file of a run folder, and the alarms of a run.
"""

from rlanything_agents.tools.doctor.machine import examine_environments, examine_machine, ready
from rlanything_agents.tools.doctor.run import examine_run
from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["Finding", "examine_environments", "examine_machine", "examine_run", "ready"]
