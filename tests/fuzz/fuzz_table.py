"""What a target is: one reader of untrusted content, valid examples of it, and what it may raise."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["Target", "as_text", "of_file", "of_json", "of_text"]


@dataclass(frozen=True)
class Target:
    """A reader of untrusted content.

    Attributes:
        name: Domain or part, and what is read.
        read: Takes the content as bytes, and uses what it read as far as it can be used without other processes.
        refusals: The exceptions that say that the content is malformed.
        examples: Makes valid content; the first thing that is tried, and what is mutated.
        effort: What a reading costs, in milliseconds or so; the quick tests try less of the dear ones.
    """

    name: str
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    examples: Callable[[], Sequence[bytes]]
    effort: int = 1

    @cached_property
    def seeds(self) -> Sequence[bytes]:
        """The examples, made once. The first is read at once: no bounded reading pays for imports and caches."""
        seeds = self.examples()
        for example in seeds[:1]:
            self(example)
        return seeds

    def __call__(self, content: bytes) -> bool:
        """Whether the content was read; it was refused otherwise. Any other exception comes out."""
        try:
            self.read(content)
        except self.refusals:
            return False
        return True


def as_text(content: bytes) -> str:
    """Bytes as a text; what is no UTF-8 becomes lone surrogates, as JSON may bring them."""
    return content.decode("utf-8", "surrogateescape")


def of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A reader of bytes from one of texts."""
    return lambda content: read(as_text(content))


def of_json(read: Callable[[Any], object]) -> Callable[[bytes], object]:
    """A reader of bytes from one of values that were JSON; what is none is passed over."""

    def of_bytes(content: bytes) -> object:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return read(value)

    return of_bytes


_SCRATCH = tempfile.TemporaryDirectory(prefix="rlanything-fuzz-")


def of_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A reader of bytes from one of files; the file has the name, which may have folders in it."""

    def of_bytes(content: bytes) -> object:
        path = Path(_SCRATCH.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return read(path)

    return of_bytes
