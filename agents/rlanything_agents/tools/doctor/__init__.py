"""What works on this machine, what of a run folder is whole, and what mends the rest."""

from rlanything_agents.tools.doctor.machine import examine_machine
from rlanything_agents.tools.doctor.played import examine_environments
from rlanything_agents.tools.doctor.run import examine_run
from rlanything_envs.osworld.desktop.doctor import Finding

__all__ = ["Finding", "examine_environments", "examine_machine", "examine_run"]
