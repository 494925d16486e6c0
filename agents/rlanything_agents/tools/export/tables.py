"""Files of rows, written in batches."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from rlanything_agents.tools.export.kinds import Row

if TYPE_CHECKING:
    from datasets import Features

__all__ = ["JsonTable", "ParquetTable", "Table"]

BATCH = 1000
"""Most rows in memory; each batch of Parquet leaves a few KB of metadata in memory until the file is complete."""


class Table(Protocol):
    """A file that rows are written to."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(self, *_: object) -> None:
        """End; the file is complete."""
        ...

    def write(self, row: Row) -> None:
        """Write a row."""
        ...


class JsonTable:
    """JSON Lines: one object per line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO

    def __enter__(self) -> Self:
        self._file = self._path.open("w", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, row: Row) -> None:
        """Write a row."""
        self._file.write(json.dumps(row) + "\n")


class ParquetTable:
    """Parquet, with one row group per batch."""

    def __init__(self, path: Path, features: Features) -> None:
        self._path, self._schema = path, features.arrow_schema
        self._rows: list[Row] = []
        self._open = ExitStack()
        self._writer: Any

    def __enter__(self) -> Self:
        import pyarrow.parquet as parquet  # type: ignore[import-untyped]

        self._writer = self._open.enter_context(parquet.ParquetWriter(self._path, self._schema, compression="zstd"))
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._open.close()

    def write(self, row: Row) -> None:
        """Write a row, or keep it for the next batch."""
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []
