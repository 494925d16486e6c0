"""A root folder of Debian packages, installed without root, that is the system of the bwrap desktops."""

from rlanything_envs.osworld.desktop.root.folder import Root, installed, shipped
from rlanything_envs.osworld.desktop.root.installation import install, remove

__all__ = ["Root", "install", "installed", "remove", "shipped"]
