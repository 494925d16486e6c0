"""Processes that are killed while they delete."""

import os
import signal
from collections.abc import Callable
from typing import Any


def killed_after(deletions: int, work: Callable[[], object]) -> None:
    """Do some work in a process that is killed after it has deleted so many files and folders."""
    if pid := os.fork():
        os.waitpid(pid, 0)
        return
    left = deletions

    def counted(delete: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **more: Any) -> None:
            nonlocal left
            delete(*arguments, **more)
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        return call

    os.unlink, os.rmdir = counted(os.unlink), counted(os.rmdir)
    try:
        work()
    finally:
        os._exit(0)
