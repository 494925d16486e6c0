"""A simulated desktop in pure Python, for tests, training and machines that cannot run a real one.

It has windows, a shell and files in memory, and runs no program of the host.
"""

from rlanything_envs.osworld.desktop.simulator.desktop import SimulatorDesktop

__all__ = ["SimulatorDesktop"]
