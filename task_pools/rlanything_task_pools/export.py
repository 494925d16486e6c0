"""Pools as JSON Lines or Parquet, out and in.

An exported pool is a folder: ``pool.json`` names the format, and the four tables of `rlanything_task_pools.tables` are
next to it. Parquet has flat columns only, so ``payload``, ``traits``, ``change`` and ``stats`` are JSON texts there.
Imported data is untrusted; see `build_pool`.
"""

import importlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, get_args

from rlanything_task_pools.errors import MissingExtra, PoolError
from rlanything_task_pools.frozen import canonical_json
from rlanything_task_pools.pool import TaskPool
from rlanything_task_pools.reader import PoolReader
from rlanything_task_pools.tables import COLUMNS, Row, Tables, build_pool, read_tables
from rlanything_task_pools.task import MAX_JSON_BYTES
from rlanything_verifiers.installed import install

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

__all__ = ["Format", "cut_pool", "export_pool", "import_pool", "is_export", "new_folder", "read_export"]

Format = Literal["jsonl", "parquet"]

FORMAT_NAME = "rlanything-pool"
FORMAT_VERSION = 1
_HEADER = "pool.json"


def export_pool(pool: PoolReader, folder: str | os.PathLike[str], format: Format = "jsonl") -> Path:
    """Write a consistent snapshot of a pool to a new folder, which appears complete or not at all.

    Raises:
        PoolError: The path exists; the format is unknown.
        MissingExtra: pyarrow is not installed.
    """
    if format not in get_args(Format):
        raise PoolError(f"unknown format {format!r}: choose from {', '.join(get_args(Format))}")
    tables = read_tables(pool)
    with new_folder(folder) as scratch:
        _WRITERS[format](tables, scratch)
        header = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "tables": format}
        (scratch / _HEADER).write_text(json.dumps(header) + "\n", encoding="utf-8")
    return Path(folder)


@contextmanager
def new_folder(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder next to the wanted one to write to; it becomes that one when the block ends without an error.

    Raises:
        PoolError: The wanted path exists.
    """
    target = Path(folder)
    if target.exists():
        raise PoolError(f"{target} exists: choose another path for the export")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        yield scratch
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def cut_pool(pool: PoolReader, low: float, high: float) -> TaskPool:
    """A pool in memory of the active tasks whose last group has a success rate from ``low`` to ``high``, each the root
    of a slot, with the outcomes of that group.

    Raises:
        PoolError: No task has such a rate, or none was played.
    """
    with pool.snapshot():
        played = {slot: pool.last_group(slot) for slot in pool.slots}
        rates = {slot: sum(bool(o.success) for o in found) / len(found) for slot, found in played.items() if found}
        chosen = [slot for slot, rate in rates.items() if low <= rate <= high]
        tasks = {pool.active(slot).id: slot for slot in reversed(chosen)}  # two slots may hold the same task
        kept = sorted(tasks.values())
        roots = [pool.active(slot).as_root() for slot in kept]
    if not roots:
        raise PoolError(
            f"{pool.path}: {len(rates)} of {len(played)} tasks were played, and the success rate of none is from {low} "
            f"to {high}: profile the pool first (rlanything pool profile), or choose other bounds"
        )
    cut = TaskPool.create(":memory:", roots)
    for number, slot in enumerate(kept):
        cut.record(number, roots[number].id, played[slot])
    return cut


def is_export(folder: Path) -> bool:
    """Whether a folder is one that `export_pool` wrote."""
    return (folder / _HEADER).is_file()


def read_export(folder: str | os.PathLike[str], *, replay: bool = True) -> TaskPool:
    """The pool of an exported one, in memory; arguments and errors are those of `import_pool`."""
    source = Path(folder)
    return build_pool(_READERS[_format(source)](source), replay=replay)


def import_pool(folder: str | os.PathLike[str], path: str | os.PathLike[str], *, replay: bool = True) -> TaskPool:
    """Make a pool of an exported one, with the same ids, lineage, outcomes and events.

    Args:
        folder: A folder that `export_pool` wrote, in any format; untrusted.
        path: The new pool's file; it appears complete or not at all.
        replay: Whether the domains verify every task's proof.

    Raises:
        PoolError: The folder is not an exported pool, its data is inconsistent, or there is a file at the path.
        MissingExtra: pyarrow is not installed.
    """
    if Path(path).exists():
        raise PoolError(f"{path} exists: choose another path for the imported pool")
    with read_export(folder, replay=replay) as built:
        built.copy(path)
    pool = TaskPool.open(path)
    pool._log_ahead()
    return pool


def _format(source: Path) -> Format:
    try:
        header = json.loads((source / _HEADER).read_text(encoding="utf-8"))
        name, version, tables = header["format"], header["version"], header["tables"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise PoolError(f"{source} is not an exported pool (its {_HEADER}: {error})") from None
    if name != FORMAT_NAME or version != FORMAT_VERSION or tables not in get_args(Format):
        raise PoolError(
            f"{source / _HEADER} names the format {name!r} {version!r} {tables!r}; this library reads "
            f"{FORMAT_NAME!r} {FORMAT_VERSION} with {', '.join(get_args(Format))}"
        )
    return tables  # type: ignore[no-any-return]


# -- JSON Lines ----------------------------------------------------------------------------------------------


def _write_jsonl(tables: Tables, folder: Path) -> None:
    for name, rows in tables.items():
        with (folder / f"{name}.jsonl").open("w", encoding="ascii") as file:
            file.writelines(canonical_json(row) + "\n" for row in rows)


def _read_jsonl(folder: Path) -> Tables:
    return {name: list(_lines(folder / f"{name}.jsonl")) for name in COLUMNS}


def _lines(path: Path) -> Iterator[Row]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(iter(lambda: file.readline(2 * MAX_JSON_BYTES), ""), 1):
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise PoolError(f"{path}, line {number}: expected a JSON object")
                yield row
    except PoolError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise PoolError(f"{path} cannot be read: {error}") from None


# -- Parquet -------------------------------------------------------------------------------------------------


def _to_arrow(name: str, rows: Sequence[Row]) -> "pa.Table":
    pa = _needs("pyarrow")
    types = {
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
    }
    columns = COLUMNS[name]
    schema = pa.schema([(column, types.get(kind, pa.string())) for column, kind in columns.items()])
    flat = [
        {
            column: canonical_json(row[column]) if kind == "json" and row[column] is not None else row[column]
            for column, kind in columns.items()
        }
        for row in rows
    ]
    return pa.Table.from_pylist(flat, schema=schema)


def _from_arrow(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    return [
        {column: _decoded(name, number, column, value) for column, value in row.items()}
        for number, row in enumerate(rows, 1)
    ]


def _decoded(table: str, number: int, column: str, value: Any) -> Any:
    if value is None or COLUMNS[table].get(column) != "json":
        return value
    try:
        if len(value) > MAX_JSON_BYTES:
            raise ValueError(f"{len(value)} characters: more than {MAX_JSON_BYTES} are not read")
        return json.loads(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise PoolError(f"table {table}, row {number}: {column} is not JSON ({error})") from None


def _write_parquet(tables: Tables, folder: Path) -> None:
    parquet = _needs("pyarrow.parquet")
    for name, rows in tables.items():
        parquet.write_table(_to_arrow(name, rows), folder / f"{name}.parquet", compression="zstd")


def _read_parquet(folder: Path) -> Tables:
    parquet = _needs("pyarrow.parquet")
    tables: Tables = {}
    for name in COLUMNS:
        with _reading(folder / f"{name}.parquet") as path:
            rows = parquet.read_table(path).to_pylist()
        tables[name] = _from_arrow(name, rows)
    return tables


@contextmanager
def _reading(path: Path) -> Iterator[Path]:
    try:
        yield path
    except Exception as error:  # any error of the library on a broken file
        raise PoolError(f"{path} cannot be read: {error}") from None


def _needs(module: str) -> ModuleType:
    """Import an optional package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"this format needs {module.partition('.')[0]} ({error}): {install('export')}") from error


_WRITERS = {"jsonl": _write_jsonl, "parquet": _write_parquet}
_READERS = {"jsonl": _read_jsonl, "parquet": _read_parquet}
