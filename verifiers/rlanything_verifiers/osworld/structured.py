"""Reading JSON and YAML files, and the folders in their values."""

from __future__ import annotations

import json
import re
from typing import Any

from rlanything_verifiers import plain_yaml
from rlanything_verifiers.osworld.file import File
from rlanything_verifiers.osworld.libraries import library

__all__ = ["children", "read_json", "read_yaml"]

_STRING = r'("(?:[^"\\]|\\.)*+\\?(?:"|\Z))'  # always matches to some end: no text makes it go back
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING = re.compile(_STRING + r"|,(?=\s*[\]}])", re.DOTALL)


def read_json(file: File) -> Any:
    """The value of a JSON file; comments and trailing commas are passed over, as editors do in their settings."""
    text = file.text()
    with file.reading():
        try:
            return json.loads(text)
        except ValueError:
            for token in (_COMMENT, _TRAILING):
                text = token.sub(lambda match: match[1] or "", text)
            return json.loads(text)


def read_yaml(file: File) -> Any:
    """The value of a YAML file."""
    library("yaml")
    text = file.text()
    with file.reading():
        return plain_yaml.read_yaml(text)


def children(folder: Any) -> list[dict[str, Any]]:
    """What is in a folder ``{children: [...]}``, such as a directory or a folder of bookmarks; of anything, nothing."""
    found = folder.get("children") if isinstance(folder, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
