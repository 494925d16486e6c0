"""Exceptions of desktops. None of them is evidence about the agent."""

from rlanything_envs.errors import InfrastructureError

__all__ = ["DesktopError", "DesktopSettingError", "GuestRefusal", "MissingPackages"]


class DesktopError(InfrastructureError):
    """The desktop cannot be started or does not answer: the episode has no outcome."""


class DesktopSettingError(ValueError):
    """A setting of a desktop is unknown or out of range."""


class MissingPackages(DesktopError):
    """Programs of the desktop are not installed; the message has the command that installs them."""

    def __init__(self, packages: tuple[str, ...], command: str) -> None:
        super().__init__(
            f"the desktop needs packages that are not installed: {' '.join(packages)}. Install them with: {command}"
        )
        self.packages = packages
        self.command = command


class GuestRefusal(DesktopError):
    """A working guest refused a set-up step: no such file, no such program, no window."""
