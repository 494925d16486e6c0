"""Import of problems in other formats (a file, rows, folders): each becomes a task or a reported error."""

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding import import_archive, import_contests, import_functional, import_published
from rlanything_task_pools.coding.draft import Draft, ImportFormatError
from rlanything_task_pools.coding.payload import MAX_PROGRAM, make_task, read_payload
from rlanything_task_pools.coding.screen import checker_flaw, screen
from rlanything_task_pools.task import Task, TaskFormatError
from rlanything_verifiers.coding import JudgeError

__all__ = ["ImportFormatError", "Imported", "Rejected", "import_tasks", "load"]

ROW_FORMATS = (import_published, import_contests, import_functional, import_archive)
MAX_FILE = 1_000_000_000
"""Largest file read, in bytes, after it was unpacked."""
MAX_KEPT_WRONG = 8
SUFFIXES = tuple(f"{kind}{packed}" for kind in (".json", ".jsonl", ".ndjson") for packed in ("", ".gz"))
"""How the names of files with problems end."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A problem that did not become a task."""

    place: str
    """The file, with the row or field if there is one."""
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """Tasks and rejected problems of a file or folder."""

    tasks: tuple[Task, ...]
    rejected: tuple[Rejected, ...]


def import_tasks(
    source: str | os.PathLike[str], *, prove: bool = True, allow_unsafe: bool = False, packages: Sequence[str] = ()
) -> Imported:
    """All problems of a JSON or JSONL file (``.gz`` too), or of a folder of such files, as tasks.

    Formats of rows: ``question`` with ``test_input``; CodeContests; function tasks in the manner of HumanEval and
    MBPP; archives with ``statement`` and ``tests``; tasks of this package. Of a folder all such files are read, also
    those of folders in it.

    Args:
        source: The file or folder; ``#3`` after the name of a file takes its third row alone.
        prove: Run the Python programs a problem comes with: the first correct one becomes the proof, and wrong ones
            that fail are kept. A problem that comes without any, or is not run, becomes a task without proof, and so
            does one none of whose correct programs passes; its trait ``unproved`` says why.
        allow_unsafe: Run programs even where this machine has no safe sandbox.

    Raises:
        ImportFormatError: The source cannot be read at all.
        SandboxUnsupported: A package is not installed.
        SandboxError: Programs could not be run.
    """
    runs = _Runs(prove, allow_unsafe, tuple(packages))
    tasks: dict[str, Task] = {}
    places: dict[str, str] = {}
    rejected: list[Rejected] = []
    for place, found in _problems(os.fspath(source)):
        try:
            task = _task(found, runs)
        except ImportFormatError as error:
            inner = f"{place} {error.place}" if error.place else place
            rejected.append(Rejected(inner, error.reason))
            continue
        if task.id in tasks:
            rejected.append(Rejected(place, f"the same task as {places[task.id]}"))
            continue
        tasks[task.id], places[task.id] = task, place
    return Imported(tuple(tasks.values()), tuple(rejected))


@dataclass(frozen=True, slots=True)
class _Runs:
    """Settings of the runs of programs."""

    prove: bool
    allow_unsafe: bool
    packages: tuple[str, ...]


def load(source: str | os.PathLike[str], *, allow_unsafe: bool = False) -> Task:
    """The one task of a file or folder, or that of the row named by ``#3`` after the name of a file.

    `allow_unsafe` is that of `import_tasks`.

    Raises:
        ImportFormatError: It cannot be read, or there is not just one problem in it, or that problem is malformed.
    """
    found = list(_problems(os.fspath(source)))
    if len(found) != 1:
        raise ImportFormatError(os.fspath(source), f"it holds {len(found)} problems; name one, such as {source}#1")
    place, problem = found[0]
    try:
        return _task(problem, _Runs(True, allow_unsafe, ()))
    except ImportFormatError as error:
        raise ImportFormatError(f"{place} {error.place}".rstrip(), error.reason) from None


Problem = Mapping[str, Any] | ImportFormatError


def _task(problem: Problem, runs: _Runs) -> Task:
    if isinstance(problem, ImportFormatError):
        raise ImportFormatError("", problem.reason)
    if "payload" in problem and "domain" in problem:
        return _own(problem)
    for reader in ROW_FORMATS:
        if reader.matches(problem):
            name = reader.__name__.rpartition("import_")[2]
            return _finished(reader.read(problem), name, runs)
    fields = ", ".join(sorted(str(name)[:40] for name in problem)[:12])
    raise ImportFormatError("", f"the fields ({fields}) are those of no format that can be imported")


def _own(row: Mapping[str, Any]) -> Task:
    try:
        task = Task.from_dict(row)
        if task.domain != "coding":
            raise TaskFormatError(f"it is a task of the domain {task.domain!r:.80}")
        read_payload(task.payload)
    except TaskFormatError as error:
        raise ImportFormatError("", str(error)) from None
    return task


def _finished(draft: Draft, format_name: str, runs: _Runs) -> Task:
    """A draft as a task, its programs tried."""
    proof: tuple[str, ...] = ()
    traits = {**draft.traits, "source": format_name, "split": "train"}
    try:
        payload = draft.payload()
        broken = checker_flaw(payload, allow_unsafe=runs.allow_unsafe, packages=runs.packages)
        if broken is not None:
            raise ImportFormatError("", broken)
        if runs.prove and draft.good:
            good = [program for program in draft.good if 0 < len(program) <= MAX_PROGRAM]
            wrong = [program for program in draft.wrong if 0 < len(program) <= MAX_PROGRAM]
            found = screen(payload, good, wrong, allow_unsafe=runs.allow_unsafe, packages=runs.packages)
            if not found.good:
                traits["unproved"] = f"no correct program passes: {found.complaint or 'all are too long'}"[:400]
            proof = found.good[:1]
            payload = read_payload({**payload.to_dict(), "wrong": found.wrong[:MAX_KEPT_WRONG]})
        return make_task(payload, proof, traits)
    except (TaskFormatError, JudgeError) as error:
        raise ImportFormatError("", str(error)) from None


def _problems(source: str) -> Iterator[tuple[str, Problem]]:
    """The problems of a source with their places; one that cannot be decoded comes as the error."""
    path = Path(source)
    row: int | None = None
    if not path.exists() and "#" in source:
        name, _, digits = source.rpartition("#")
        path = Path(name)
        row = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0
        if row < 1:
            raise ImportFormatError(source, f"{digits!r:.40} is not the number of a row; the first is 1")
    if path.is_dir():
        yield from _folder(path)
        return
    if not path.is_file():
        raise ImportFormatError(source, "there is no such file or folder")
    rows = _rows(path)
    if row is None:
        yield from rows
        return
    for number, found in enumerate(rows, 1):
        if number == row:
            yield found
            return
    raise ImportFormatError(source, f"there is no row {row}")


def _folder(path: Path) -> Iterator[tuple[str, Problem]]:
    """The problems of all files of a folder; one that cannot be read costs no other. No link leads out of it."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and file.name.endswith(SUFFIXES)]
    if not files:
        raise ImportFormatError(str(path), f"there is no file in it that ends with {', '.join(SUFFIXES)}")
    for file in files:
        try:
            if not file.resolve().is_relative_to(path.resolve()):
                raise ImportFormatError(str(file), "a link that leads out of the folder is not followed")
            yield from _rows(file)
        except ImportFormatError as error:
            yield str(file), error


def _rows(path: Path) -> Iterator[tuple[str, Problem]]:
    text = _read(path)
    stem = path.name.removesuffix(".gz")
    if stem.endswith((".jsonl", ".ndjson")):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield _decoded(line, f"{path} line {number}")
        return
    place, value = _decoded(text, str(path), whole=True)
    if isinstance(value, ImportFormatError):
        raise ImportFormatError(place, value.reason)
    if isinstance(value, Mapping):
        yield place, value
        return
    for number, row in enumerate(value, 1):
        where = f"{path} row {number}"
        yield where, row if isinstance(row, Mapping) else _not_object(row)


def _decoded(text: str, place: str, *, whole: bool = False) -> tuple[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return place, ImportFormatError("", f"not JSON: {error}")
    if isinstance(value, Mapping) or (whole and isinstance(value, list)):
        return place, value
    return place, _not_object(value)


def _not_object(value: object) -> ImportFormatError:
    return ImportFormatError("", f"expected a JSON object, got {type(value).__name__}")


def _read(path: Path) -> str:
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ImportFormatError(str(path), f"cannot be read: {error}") from None
    if len(data) > MAX_FILE:
        raise ImportFormatError(str(path), f"more than {MAX_FILE} bytes; split it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ImportFormatError(str(path), f"not UTF-8: {error}") from None
