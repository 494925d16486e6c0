"""A simulated desktop in pure Python, for tests, training and machines that cannot run a real one."""

from rlanything_envs.osworld.desktop.simulator.desktop import SimulatorDesktop

__all__ = ["SimulatorDesktop"]
