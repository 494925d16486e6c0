"""Threads of PyTorch in a command."""

from __future__ import annotations

import os

__all__ = ["spin_little"]


def spin_little() -> None:
    """Let a waiting OpenMP thread sleep soon; called before torch is loaded.

    By default it spins so long that threads take the cores from each other as soon as anything else runs here; without
    spinning a small model on two idle cores is 1.4 to 2 times slower. This many rounds cost neither.
    """
    os.environ.setdefault("GOMP_SPINCOUNT", "6000")
