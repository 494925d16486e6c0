"""Rows of contest archives: a statement, samples as pairs, tests as objects, and a tolerance."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.draft import Draft, ImportFormatError, Pair, cpu_limit, field_of, float_checker

__all__ = ["matches", "read"]


CPU = 10.0
"""Seconds where a row has no limit: such contests gave minutes for a file of many cases."""


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is of this format."""
    return "statement" in row and "tests" in row


def read(row: Mapping[str, Any]) -> Draft:
    """A row ``{"statement", "samples": [[input, output]], "tests": [{"input", "output"}], "float_tolerance"}``.

    Raises:
        ImportFormatError: A field is missing or of the wrong kind.
    """
    samples = field_of(row, "samples", list, "a list of pairs") if "samples" in row else []
    tolerance = row.get("float_tolerance")
    traits = {name: row[name] for name in ("name", "licence") if isinstance(row.get(name), str)}
    return Draft(
        statement=field_of(row, "statement", str, "a text"),
        public=[_pair(pair, f"samples[{i}]") for i, pair in enumerate(samples)],
        hidden=[_test(test, f"tests[{i}]") for i, test in enumerate(field_of(row, "tests", list, "a list of tests"))],
        checker={"kind": "tokens"} if tolerance is None else float_checker(tolerance, "float_tolerance"),
        cpu=cpu_limit(row, "time_limit") or CPU,
        traits=traits,
    )


def _pair(value: object, place: str) -> Pair:
    match value:
        case [str(stdin), str(stdout)]:
            return stdin, stdout
    raise ImportFormatError(place, "expected a list of two texts, input and output")


def _test(value: object, place: str) -> Pair:
    match value:
        case {"input": str(stdin), "output": str(stdout)}:
            return stdin, stdout
    raise ImportFormatError(place, "expected an object with the texts input and output")
