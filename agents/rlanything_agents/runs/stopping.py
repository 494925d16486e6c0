"""Ends of a run before its end, from which the same command goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.storage import StorageError, storing
from rlanything_envs.llm.errors import RunMustStop

__all__ = ["RunStopped", "resumably"]


class RunStopped(RuntimeError):
    """The run has ended before its end and can go on; the message says why and how.

    Attributes:
        exit_code: For the command line.
    """

    UNHEALTHY = 1
    """A monitor was to stop the run."""
    TRY_LATER = 75
    """Something around the run has failed (``EX_TEMPFAIL``): a disk, a service."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def resumably(folder: RunFolder) -> Iterator[None]:
    """Within the block, a disk that cannot be written and a service that is lost are a `RunStopped`.

    Args:
        folder: Of the run.

    Raises:
        RunStopped: There was such a failure.
    """
    try:
        with storing(folder.path):
            yield
    except (StorageError, RunMustStop) as error:
        said = f"{error}. The run has stopped and nothing that was done is lost: the same command goes on"
        raise RunStopped(said, RunStopped.TRY_LATER) from error
