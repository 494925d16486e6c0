"""Early ends of a run, from which the same command continues."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.storage import TRY_LATER, StorageError, storing
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["RunStopped", "resumably"]


class RunStopped(RuntimeError):
    """The run has ended early and can be continued; the message says why and how.

    Attributes:
        exit_code: Exit code of the command.
    """

    UNHEALTHY = 1
    """A monitor stopped the run."""
    TRY_LATER = TRY_LATER
    """Infrastructure of the run has failed, such as a disk or a service."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def resumably(folder: RunFolder) -> Iterator[None]:
    """Turn a failing disk and a lost service within the block into `RunStopped`.

    Args:
        folder: Folder of the run.

    Raises:
        RunStopped: The disk cannot be written, or a service is lost.
    """
    try:
        with storing(folder.path):
            yield
    except (StorageError, RunMustStop) as error:
        message = f"{error}. The run has stopped and nothing that was done is lost: the same command resumes"
        raise RunStopped(message, RunStopped.TRY_LATER) from error
