"""The JSON of published coding sets for training: a question with lists of inputs and outputs."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, cpu_limit, field_of, texts

__all__ = ["matches", "read"]


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is of this format."""
    return "question" in row and "test_input" in row


def read(row: Mapping[str, Any]) -> Draft:
    """A row ``{"question", "test_input", "test_output", "test_method", "test_time_limit"}``.

    ``example_input`` and ``example_output``, where given, are the public tests.

    Raises:
        ImportFormatError: A field is missing or of the wrong kind, or the tests are not of programs on stdin.
    """
    method = row.get("test_method", "stdio")
    if method != "stdio":
        raise ImportFormatError("test_method", f"{method!r:.80} cannot be expressed; only 'stdio' can")
    return Draft(
        statement=field_of(row, "question", str, "a text"),
        public=_pairs(row, "example") if "example_input" in row else (),
        hidden=_pairs(row, "test"),
        cpu=cpu_limit(row, "test_time_limit"),
    )


def _pairs(row: Mapping[str, Any], prefix: str) -> list[Pair]:
    inputs, outputs = texts(row, f"{prefix}_input"), texts(row, f"{prefix}_output")
    if len(inputs) != len(outputs):
        raise ImportFormatError(f"{prefix}_output", f"{len(outputs)} outputs for {len(inputs)} inputs")
    return list(zip(inputs, outputs, strict=True))
