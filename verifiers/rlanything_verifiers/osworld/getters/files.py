"""Files of the desktop and files that the task brings along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from rlanything_verifiers.osworld.errors import EvaluatorError, Unreadable
from rlanything_verifiers.osworld.file import MAX_FILE, File
from rlanything_verifiers.osworld.registry import Context, getter

__all__ = ["guest_file"]


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """One file, or several of which some go to the metric.

    Attributes:
        path: where they are: paths in the guest, or URLs.
        dest: the names they go by.
        multi: whether `path` and `dest` are lists.
        gives: the places in the list of those that go to the metric; the others are only fetched, next to them.
    """

    path: str | list[str]
    dest: str | list[str]
    multi: bool = False
    gives: list[int] | None = None

    def __post_init__(self) -> None:
        if not self.paths or len(self.paths) != len(self.names):
            raise EvaluatorError(f"path and dest do not match: {len(self.paths)} paths, {len(self.names)} names")
        if not all(0 <= number < len(self.paths) for number in self.gives or []):
            raise EvaluatorError(f"gives: places from 0 to {len(self.paths) - 1} are needed, got {self.gives}")

    @property
    def paths(self) -> list[str]:
        """The paths, as a list."""
        return self.path if isinstance(self.path, list) else [self.path]

    @property
    def names(self) -> list[str]:
        """The names, as a list."""
        return self.dest if isinstance(self.dest, list) else [self.dest]


def _fetch(
    context: Context, config: Fetched, read: Callable[[str, str], File | None]
) -> File | list[File | None] | None:
    found = [read(path, name) for path, name in zip(config.paths, config.names, strict=True)]
    beside = {file.name: file for file in found if file is not None}
    context.fetched.update(beside)
    files = [
        file and File(file.name, file.data, file.reference, beside)
        for number, file in enumerate(found)
        if number in (config.gives or [0])
    ]
    return files[0] if len(files) == 1 else files


def guest_file(context: Context, path: str, name: str | None = None) -> File | None:
    """A file of the desktop; None where there is none.

    Raises:
        Unreadable: it is too large.
    """
    if (data := context.guest.read_file(path)) is None:
        return None
    if len(data) > MAX_FILE:
        raise Unreadable(f"{path}: {len(data)} bytes; at most {MAX_FILE} are read")
    return File(name or PurePosixPath(path).name, data)


@getter
def vm_file(context: Context, config: Fetched) -> File | list[File] | None:
    """Files of the desktop."""
    return _fetch(context, config, lambda path, name: guest_file(context, path, name))  # type: ignore[return-value]


@getter
def cloud_file(context: Context, config: Fetched) -> File | list[File] | None:
    """Files that the task brings along."""
    read = context.files.read
    return _fetch(context, config, lambda path, name: File(name, read(path), reference=True))  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class Cached:
    """The name that an earlier `vm_file` or `cloud_file` of the same evaluator gave to a file."""

    path: str


@getter
def cache_file(context: Context, config: Cached) -> File | None:
    """A file that was fetched before, by its name."""
    return context.fetched.get(config.path)
