"""Export of a run folder to a folder with a data set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.tools.export.card import card
from rlanything_agents.tools.export.kinds import KINDS, Group, Kind, Row
from rlanything_agents.tools.export.tables import JsonTable, ParquetTable, Table
from rlanything_task_pools import MissingExtra, UnknownDomain, get_domain

__all__ = ["FORMATS", "SPLITS", "RolloutExportError", "export_run", "manual_of"]

FORMATS = ("parquet", "jsonl", "datasets")
SPLITS = ("none", "iteration", "outcome")


class RolloutExportError(ValueError):
    """The rollouts cannot be exported as requested; the message says why."""


def export_run(
    folder: RunFolder, target: Path, *, kinds: Sequence[str], format: str = "parquet", split: str = "none"
) -> dict[str, dict[str, int]]:
    """Write the episodes of a run to a new folder, which appears complete or not at all.

    Args:
        folder: The run; it may still be running: complete iterations are read.
        target: A new folder. ``datasets.load_dataset(target, kind)`` reads ``parquet`` and ``jsonl``,
            ``datasets.load_from_disk(target / kind)`` reads ``datasets``.
        kinds: Some of `KINDS`.
        format: One of `FORMATS`.
        split: One of `SPLITS`: all rows in ``train``; ``iteration_0001``, ...; or ``won``, ``lost`` and ``broken``.

    Returns:
        Rows by kind and split.

    Raises:
        RolloutExportError: The target exists, there is nothing to export, or no such kind, format or split.
        RunFolderError, EpisodesError: The run's files cannot be read.
        MissingExtra: ``datasets`` is not installed.
    """
    _check(kinds, format, split)
    if target.exists():
        raise RolloutExportError(f"{target} exists: choose another folder")
    config = folder.config()
    files = sorted(folder.trajectories.glob("*.jsonl.gz"))
    if not files:
        raise RolloutExportError(f"{folder.path} has no episodes yet: no file in {folder.trajectories.name}/")
    manual = manual_of(str(config.get("domain", "")))
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        counts = {name: _write(KINDS[name], files, manual, scratch / name, format, split) for name in kinds}
        empty = [name for name, found in counts.items() if not found]
        if empty:
            lacking = " and ".join(f"no {name} (a row is {KINDS[name].meaning})" for name in empty)
            raise RolloutExportError(f"{folder.path} has {lacking}: nothing was written")
        (scratch / "README.md").write_text(card(config, counts, format), encoding="utf-8")
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return counts


def _check(kinds: Sequence[str], format: str, split: str) -> None:
    for given, known, what in (
        (kinds, KINDS, "kind of rows"),
        ([format], FORMATS, "format"),
        ([split], SPLITS, "split"),
    ):
        for name in given:
            if name not in known:
                raise RolloutExportError(f"no {what} {name!r:.80}; choose from {', '.join(known)}")
    if not kinds:
        raise RolloutExportError(f"nothing to export; choose from {', '.join(KINDS)}")
    mixed = [name for name in kinds if not KINDS[name].has_outcome]
    if split == "outcome" and mixed:
        raise RolloutExportError(f"{', '.join(mixed)} cannot be split by outcome: a row has a won and a lost episode")
    try:
        import datasets  # noqa: F401
    except ImportError as error:
        raise MissingExtra(f"the export needs datasets ({error}): pip install 'rlanything-envs[export]'") from error


def _write(kind: Kind, files: Sequence[Path], manual: str, folder: Path, format: str, split: str) -> dict[str, int]:
    """Write the rows of all files to one file per split; returns the rows per split.

    Iterations come in order, so that only one file of a split by iteration is open at a time.
    """
    folder.mkdir(parents=True)
    features, counts = kind.features(), dict[str, int]()
    with ExitStack() as tables:
        opened: dict[str, Table] = {}
        for file in files:
            if split == "iteration":
                tables.close()
                opened = {}
            for row in _rows(kind, file, manual):
                name = _split(row, split)
                if name not in opened:
                    path = folder / f"{name}.{'jsonl' if format == 'jsonl' else 'parquet'}"
                    table: Table = JsonTable(path) if format == "jsonl" else ParquetTable(path, features)
                    opened[name] = tables.enter_context(table)
                opened[name].write(row)
                counts[name] = counts.get(name, 0) + 1
    if format == "datasets" and counts:
        _to_disk(folder, list(counts), features)
    return counts


def _rows(kind: Kind, file: Path, manual: str) -> Iterator[Row]:
    for group in _groups(file):
        yield from kind.rows(group, manual)


def _groups(file: Path) -> Iterator[Group]:
    """Groups of an iteration: consecutive episodes of the same slot, role and task."""
    numbered = enumerate(read_episodes(file))
    for _, group in groupby(numbered, lambda it: (it[1].slot, it[1].role, it[1].task_id)):
        yield list(group)


def _split(row: Row, split: str) -> str:
    if split == "iteration":
        return f"iteration_{row['iteration']:04d}"
    if split == "outcome":
        return {1: "won", -1: "lost", None: "broken"}[row["outcome"]]
    return "train"


def _to_disk(folder: Path, splits: Sequence[str], features: Any) -> None:
    """Convert Parquet files to a data set of ``datasets`` on the disk, without loading one into memory."""
    import datasets

    cache, whole = folder / ".cache", folder / ".whole"
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        files = {name: folder / f"{name}.parquet" for name in splits}
        parts = {
            name: datasets.Dataset.from_parquet(str(file), features=features, cache_dir=str(cache))
            for name, file in files.items()
        }
        datasets.DatasetDict(parts).save_to_disk(str(whole))
    finally:
        if shown:
            datasets.enable_progress_bars()
    del parts  # closes files of the cache
    for file in files.values():
        file.unlink()
    shutil.rmtree(cache)
    for part in whole.iterdir():
        part.rename(folder / part.name)
    whole.rmdir()


def manual_of(domain: str) -> str:
    """Manual that a `Conversation` puts before the first observation of this domain; empty where unknown."""
    import gymnasium as gym

    import rlanything_envs  # noqa: F401  (registers the environments)

    try:
        entry = gym.spec(get_domain(domain).env_id).entry_point
    except (UnknownDomain, gym.error.Error):
        return ""  # runs of a domain that is not installed here are exported without a manual
    made = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    return str(getattr(made, "manual", ""))
