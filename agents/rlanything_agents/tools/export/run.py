"""Export of a run folder to a folder with a data set."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import gymnasium as gym
import yaml

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.export.kinds import KINDS, Group, Kind, Row
from rlanything_envs.views import View, get_view
from rlanything_task_pools import MissingExtra, get_domain
from rlanything_task_pools.errors import UnknownName
from rlanything_verifiers.installed import install

if TYPE_CHECKING:
    from datasets import Features

__all__ = ["FORMATS", "SPLITS", "export_run", "new_folder", "view_of"]

BATCH = 1000
"""Maximum rows in memory; each batch of Parquet leaves a few KB of metadata in memory until the file is complete."""

FORMATS = ("parquet", "jsonl")
SPLITS = ("none", "iteration", "outcome")


def export_run(
    folder: RunFolder, target: Path, *, kinds: Sequence[str], format: str = "parquet", split: str = "none"
) -> dict[str, dict[str, int]]:
    """Write the episodes of a run to a new folder, which appears complete or not at all.

    Args:
        folder: The run; it may still be running: complete iterations are read.
        target: A new folder, which ``datasets.load_dataset(target, kind)`` reads.
        kinds: Some of `KINDS`.
        format: One of `FORMATS`.
        split: One of `SPLITS`: all rows in ``train``; ``iteration_0001``, ...; or ``won``, ``lost`` and ``broken``.

    Returns:
        Rows by kind and split.

    Raises:
        RunFolderError: The target exists, there is nothing to export, or no such kind, format or split.
        RunFolderError: The run's files cannot be read.
        MissingExtra: ``datasets`` is not installed.
    """
    _check(kinds, format, split)
    config = SafeFolder(folder.path).json("config.json")
    view = view_of(str(config.get("domain", "")))
    with new_folder(folder, target) as (files, scratch):
        counts = {name: _write(KINDS[name], files, view, scratch / name, format, split) for name in kinds}
        if empty := [name for name, found in counts.items() if not found]:
            lacking = " and ".join(f"no {name} (a row is {KINDS[name].meaning})" for name in empty)
            raise RunFolderError(f"{folder.path} has {lacking}: nothing was written")
        (scratch / "README.md").write_text(_card(config, counts, format), encoding="utf-8")
    return counts


@contextmanager
def new_folder(folder: RunFolder, target: Path) -> Iterator[tuple[list[Path], Path]]:
    """Files of a run's episodes, and a scratch folder that becomes ``target`` if nothing is raised.

    Raises:
        RunFolderError: The target exists, or there is nothing to export.
    """
    if target.exists():
        raise RunFolderError(f"{target} exists: choose another folder")
    if not (files := sorted(folder.trajectories.glob("*.jsonl.gz"))):
        raise RunFolderError(f"{folder.path} has no episodes yet: no file in {folder.trajectories.name}/")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield files, scratch
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _check(kinds: Sequence[str], format: str, split: str) -> None:
    for given, known, what in (
        (kinds, KINDS, "kind of rows"),
        ([format], FORMATS, "format"),
        ([split], SPLITS, "split"),
    ):
        for name in given:
            if name not in known:
                raise RunFolderError(f"no {what} {name!r:.80}; choose from {', '.join(known)}")
    if not kinds:
        raise RunFolderError(f"nothing to export; choose from {', '.join(KINDS)}")
    mixed = [name for name in kinds if not KINDS[name].has_outcome]
    if split == "outcome" and mixed:
        raise RunFolderError(f"{', '.join(mixed)} cannot be split by outcome: a row has a won and a lost episode")
    try:
        import datasets  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"the export needs datasets ({error}): {install('export')}") from error


def _write(kind: Kind, files: Sequence[Path], view: View, folder: Path, format: str, split: str) -> dict[str, int]:
    """Write the rows of all files to one file per split; returns the rows per split.

    Iterations come in order, so that only one file of a split by iteration is open at a time.
    """
    folder.mkdir(parents=True)
    features, counts = kind.features(), dict[str, int]()
    with ExitStack() as tables:
        opened: dict[str, _Table] = {}
        for file in files:
            if split == "iteration":
                tables.close()
                opened = {}
            for row in _rows(kind, file, view):
                name = _split(row, split)
                if name not in opened:
                    opened[name] = tables.enter_context(_Table(folder / f"{name}.{format}", features))
                opened[name].write(row)
                counts[name] = counts.get(name, 0) + 1
    return counts


class _Table:
    """A file of rows: Parquet, with one row group per batch, or JSON Lines."""

    def __init__(self, path: Path, features: Features) -> None:
        self._path, self._schema = path, features.arrow_schema
        self._rows: list[Row] = []
        self._parquet: Any = None

    def __enter__(self) -> Self:
        if self._path.suffix == ".parquet":
            import pyarrow.parquet as parquet  # type: ignore[import-untyped]

            self._parquet = parquet.ParquetWriter(self._path, self._schema, compression="zstd")
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._parquet is not None:
            self._parquet.close()

    def write(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        if self._parquet is None:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in self._rows)
        elif self._rows:
            import pyarrow as pa

            self._parquet.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []


def _rows(kind: Kind, file: Path, view: View) -> Iterator[Row]:
    for group in _groups(file):
        yield from kind.rows(group, view)


def _groups(file: Path) -> Iterator[Group]:
    """Groups of an iteration: consecutive episodes of the same slot, role and task."""
    numbered = enumerate(read_episodes(file))
    for _, group in groupby(numbered, lambda it: (it[1].slot, it[1].role, it[1].task_id)):
        yield list(group)


def _split(row: Row, split: str) -> str:
    if split == "iteration":
        return f"iteration_{row['iteration']:04d}"
    return {1: "won", -1: "lost", None: "broken"}[row["outcome"]] if split == "outcome" else "train"


def _card(config: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]], format: str) -> str:
    """README with the front matter of ``datasets`` and the Hugging Face Hub."""
    name, domain, seed = (str(config.get(key, "")) for key in ("name", "domain", "seed"))
    head: dict[str, Any] = {"pretty_name": f"Rollouts of {name}", "tags": ["rlanything", domain]}
    head["configs"] = [
        {
            "config_name": kind,
            "default": number == 0,
            "data_files": [{"split": split, "path": f"{kind}/{split}.{format}"} for split in splits],
        }
        for number, (kind, splits) in enumerate(counts.items())
    ]
    head["dataset_info"] = [
        {"config_name": kind, "features": KINDS[kind].features()._to_yaml_list()} for kind in counts
    ]
    lines = [
        f"# Rollouts of {name}",
        "",
        f"Episodes that the run `{name}` (domain `{domain}`, seed {seed}) played while it trained, written by",
        "`rlanything export`. The texts of actions, thoughts and judgements come from models; those of tasks may.",
    ]
    for kind, splits in counts.items():
        load = f'rows = load_dataset("PATH/OF/THIS/FOLDER", "{kind}")'
        lines += ["", f"## {kind}", "", f"A row is {KINDS[kind].meaning}.", "", "```python"]
        lines += ["from datasets import load_dataset", "", load, "```", "", "| split | rows |", "|---|---|"]
        lines += [f"| {split} | {rows:,} |" for split, rows in splits.items()]
        lines += ["", "| column | type | |", "|---|---|---|"]
        lines += [f"| {column} | {type_} | {meaning} |" for column, (type_, meaning) in KINDS[kind].columns.items()]
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n" + "\n".join(lines) + "\n"


def view_of(domain: str) -> View:
    """Full view of the environment of a domain: its manual and the form of its answers; where unknown, a plain one."""
    try:
        return get_view(get_domain(domain).env_id, "full")
    except (UnknownName, gym.error.Error):  # a domain that is not installed here
        return View("full", lambda text: ("", text), lambda *both: "\n".join(filter(None, both)))
