"""Folder in the machine's shared memory: programs on the same machine read it by its path, and no disk is involved."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

__all__ = [
    "LARGER",
    "SharedFolder",
    "fits_in_memory",
    "lies_in_memory",
    "memory_of_machine",
    "room",
    "temporary_folder",
]

PLACE = Path("/dev/shm")  # nosec B108 # the folders in it have random names, and are for their owner only
"""Where Linux shows shared memory as a file system."""
LARGER = f"docker run --shm-size=SIZE, or mount -o remount,size=SIZE {PLACE}"
"""Commands that make it larger: a container has 64 MiB by default."""

_PREFIX = "rlanything-weights-"


def memory_of_machine() -> tuple[int, int] | None:
    """Bytes of memory that programs could still take, and all bytes of the machine; None where Linux does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        table = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines)}
        return table["MemAvailable"], table["MemTotal"]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def room() -> int | None:
    """Bytes that shared memory can still take; None where there is none that this user can write to."""
    try:
        free = os.statvfs(PLACE)
    except OSError:
        return None
    return free.f_bavail * free.f_frsize if os.access(PLACE, os.W_OK) else None


def lies_in_memory(path: Path) -> bool:
    """Whether an existing file or folder lies in shared memory."""
    return PLACE.is_dir() and path.stat().st_dev == PLACE.stat().st_dev


def fits_in_memory(size: float) -> bool:
    """Whether shared memory can take ``size`` bytes, and the machine has as much left after that."""
    free, memory = room(), memory_of_machine()
    return free is not None and free >= size and memory is not None and memory[0] >= 2 * size


class SharedFolder:
    """Folder in shared memory that only this user's programs can read.

    It is deleted by `close`, or when the process ends. What a killed process left there is deleted by the next process
    that makes such a folder: the kernel holds a lock on the folder for as long as its process lives.

    Raises:
        OSError: There is no shared memory to write to.
    """

    def __init__(self) -> None:
        _delete_abandoned()
        fresh = Path(tempfile.mkdtemp(prefix="rlanything-new-", dir=PLACE))
        lock = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # It gets the name that others look for when it is locked already.
        self.path = fresh.rename(fresh.with_name(fresh.name.replace("rlanything-new-", _PREFIX)))
        self._delete = weakref.finalize(self, _delete, self.path, lock)

    def close(self) -> None:
        """Delete the folder with all that is in it."""
        self._delete()


@contextmanager
def temporary_folder(size: int) -> Iterator[Path]:
    """Folder for ``size`` bytes that is deleted after the block: in shared memory if they fit there, else on the disk.

    Raises:
        OSError: The folder cannot be made.
    """
    if fits_in_memory(size):
        with closing(SharedFolder()) as folder:
            yield folder.path
    else:
        with tempfile.TemporaryDirectory(prefix="weights-") as name:
            yield Path(name)


def _delete(path: Path, lock: int) -> None:
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def _delete_abandoned() -> None:
    for path in PLACE.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # of another user, or gone
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:  # in use
            pass
        finally:
            os.close(lock)
