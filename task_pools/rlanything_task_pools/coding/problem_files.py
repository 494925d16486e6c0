"""Files of a problem's folder, read without leaving it."""

import json
import re
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import ImportFormatError
from rlanything_task_pools.errors import MissingExtra
from rlanything_verifiers.plain_file import read_plain
from rlanything_verifiers.plain_yaml import YamlError, read_yaml

__all__ = ["read_fields", "read_text"]

MAX_YAML = 100_000
"""Bytes of a file of settings."""


def read_text(folder: Path, path: Path, limit: int) -> str:
    """The text of a file; links may lead about in the folder, and not out of it.

    Args:
        folder: The problem's folder, without links in its path.
        path: The file.
        limit: Most bytes of it.

    Raises:
        ImportFormatError: It cannot be read, is too long, is no UTF-8, or lies outside.
    """
    place = "/".join(path.parts[-3:])
    try:
        if not path.resolve().is_relative_to(folder):
            raise ImportFormatError(place, "a link that leads out of the folder is not followed")
        content = read_plain(path, limit + 1)
        if len(content) > limit:
            raise ImportFormatError(place, f"too many bytes; at most {limit} are read")
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:  # RuntimeError: links in a circle
        raise ImportFormatError(place, f"cannot be read: {error}") from None


_UNQUOTED = re.compile(r"^(name|author|source|rights_owner|credits):[ \t]+([^\s\"'{\[|>&*!#][^\n]*)$", re.MULTILINE)
"""A field of one line whose value has no quotes."""


def _read_yaml(text: str) -> Any:
    try:
        return read_yaml(text)
    except YamlError:
        # Folders made by hand have names such as "name: New Elements: Part 1", which YAML wants in quotes.
        quoted = _UNQUOTED.sub(lambda line: f"{line[1]}: {json.dumps(line[2].strip())}", text)
        if quoted == text:
            raise
        return read_yaml(quoted)


def read_fields(folder: Path, name: str) -> dict[str, Any]:
    """The fields of a YAML file of the folder; none where it is empty.

    Raises:
        ImportFormatError: It cannot be read, or holds something else than fields.
        MissingExtra: PyYAML is not installed.
    """
    text = read_text(folder, folder / name, MAX_YAML)
    try:
        value = _read_yaml(text)
    except ImportError as error:
        raise MissingExtra("folders with a problem.yaml need the package pyyaml: pip install pyyaml") from error
    except YamlError as error:
        raise ImportFormatError(name, f"not YAML: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ImportFormatError(name, f"expected fields, got {type(value).__name__}")
    return value
