"""Databases."""

from __future__ import annotations

from dataclasses import dataclass

from rlanything_verifiers.osworld.database import query
from rlanything_verifiers.osworld.errors import EvaluatorError
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.registry import metric


@dataclass(frozen=True)
class Sql:
    """A query."""

    sql: str

    def __post_init__(self) -> None:
        if not self.sql.lstrip().lower().startswith(("select", "with")):
            raise EvaluatorError(f"sql: a query that selects is needed, got {self.sql!r:.80}")


@metric
def run_sqlite3(result: File, rules: Sql) -> float:
    """The first value that a query gives; 0 where it gives none."""
    value = rows[0][0] if (rows := query(result, rules.sql)) else 0
    return float(value) if isinstance(value, int | float) else 0.0
