"""Observations and outputs of a desktop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["GuestOutput", "Health", "Observation", "Pixels"]

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class GuestOutput:
    """Output and exit status of a program."""

    output: str
    error: str
    returncode: int


@dataclass(frozen=True, slots=True)
class Health:
    """Identity and state of the guest.

    Attributes:
        server: ``"rlanything-guest"`` or ``"unknown"`` (any other server of the protocol).
        broken: why the desktop can no longer be used, found by a server that still runs; empty where it can.
        apart: whether no program of the desktop can reach the server.
        busy: how many threads of the desktop's programs compute, or wait for a processor or a disk.
        held: seconds for which they have been kept from the processors by other work of the machine, since the start.
    """

    server: str
    broken: str = ""
    apart: bool = False
    busy: int = 0
    held: float = 0.0

    @property
    def own(self) -> bool:
        """Whether our own additions to the protocol are there."""
        return self.server == "rlanything-guest"


@dataclass(frozen=True, slots=True)
class Observation:
    """One observation of the desktop; parts that were not requested are None.

    Attributes:
        screenshot: uint8, shape (height, width, 3), red, green, blue.
        accessibility_tree: XML text.
        terminal: the text of the terminal in the active window; None where there is none as well.
    """

    screenshot: Pixels | None = None
    accessibility_tree: str | None = None
    terminal: str | None = None
