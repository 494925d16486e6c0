"""Exceptions of desktops. None of them is evidence about the agent, but `DesktopWrecked` after it has acted."""

from rlanything_envs.errors import InfrastructureError

__all__ = ["DesktopError", "DesktopWrecked", "GuestRefusal", "MissingPackages", "NotPrepared", "Unwinnable"]


class DesktopError(InfrastructureError):
    """The desktop cannot be started or does not answer: the episode has no outcome."""


class DesktopWrecked(DesktopError):
    """What no set-up makes and no machine's failure: the session was ended, the disk is full, or a device or something
    without end is in the place of a file. An agent that has acted did it."""


class NotPrepared(DesktopError):
    """A person has to do something first: install a program, be root, or name what exists. The message says what."""

    exit_code = 2


class MissingPackages(NotPrepared):
    """Programs of the desktop are not installed."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        names = ", ".join(packages[:3]) + (f" and {len(packages) - 3} more" if len(packages) > 3 else "")
        super().__init__(
            f"the bwrap desktop is not installed (no root folder, and the system lacks {names}): run "
            "`rlanything desktop install`, as any user"
        )


class GuestRefusal(DesktopError):
    """A working guest refused a set-up step: no such file, no such program, no window."""


class Unwinnable(DesktopError):
    """The desktop lacks what a task requires: a program, a schema of settings, a locale or the network."""
