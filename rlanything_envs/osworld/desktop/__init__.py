"""Desktops for agents: in a sandbox, a container or a virtual machine, or elsewhere behind an address.

The environment, its actions and its observations are in `rlanything_envs.osworld`.
"""

from rlanything_envs.osworld.desktop.client import GuestClient
from rlanything_envs.osworld.desktop.errors import (
    DesktopError,
    DesktopWrecked,
    GuestRefusal,
    MissingPackages,
    Unwinnable,
)
from rlanything_envs.osworld.desktop.make import BACKENDS, make_desktop
from rlanything_envs.osworld.desktop.observation import GuestOutput, Health, Observation
from rlanything_envs.osworld.desktop.protocol import Client, Desktop

__all__ = [
    "BACKENDS",
    "Client",
    "Desktop",
    "DesktopError",
    "DesktopWrecked",
    "GuestClient",
    "GuestOutput",
    "GuestRefusal",
    "Health",
    "MissingPackages",
    "Observation",
    "Unwinnable",
    "make_desktop",
]
