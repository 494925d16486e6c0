"""A file to judge, or to judge by. It is held in memory: nothing an agent wrote touches this machine's disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rlanything_verifiers.osworld.errors import EvaluatorError, Unreadable, VerifierError

__all__ = ["MAX_FILE", "MAX_TEXT", "File"]

MAX_FILE = 64 * 2**20
"""Bytes of a file that is looked at at all."""

MAX_TEXT = 16 * 2**20
"""Bytes of a file that is read as text."""


@dataclass(frozen=True, repr=False)
class File:
    """A file with the name it goes by in the evaluator.

    Attributes:
        name: its suffix tells the format.
        data: the bytes.
        reference: whether the task brought it along; otherwise it comes from the desktop.
        beside: other fetched files of the evaluator, by name.
    """

    name: str
    data: bytes
    reference: bool = False
    beside: Mapping[str, File] = field(default_factory=dict, compare=False)

    def __repr__(self) -> str:
        return f"File({self.name!r}, {len(self.data)} bytes)"

    @property
    def suffix(self) -> str:
        """The suffix in lower case, with its dot."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    def refuse(self, why: str) -> Unreadable | VerifierError:
        """The exception for this unreadable file: a fault of the agent, or of the task."""
        kind = VerifierError if self.reference else Unreadable
        return kind(f"{self.name}: {why}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever goes wrong inside is the fault of this file.

        The libraries that read office files raise anything at all on a malformed one, and some only when an attribute
        is asked for. Inside, a file is turned into plain data; comparing belongs outside.
        """
        try:
            if len(self.data) > MAX_FILE:
                raise self.refuse(f"{len(self.data)} bytes; at most {MAX_FILE} are read")
            yield
        except (Unreadable, VerifierError, EvaluatorError):
            raise
        except Exception as error:
            raise self.refuse(f"{type(error).__name__}: {error}"[:300]) from error

    def text(self, *, lenient: bool = True) -> str:
        """The file as text, UTF-8; lines end in a line feed.

        Args:
            lenient: Whether other bytes are read as Latin-1; otherwise they are a fault of the file.
        """
        with self.reading():
            if len(self.data) > MAX_TEXT:
                raise self.refuse(f"{len(self.data)} bytes of text; at most {MAX_TEXT} are read")
            try:
                text = self.data.decode("utf-8-sig")
            except UnicodeDecodeError:
                if not lenient:
                    raise
                text = self.data.decode("latin-1")
            return re.sub(r"\r\n?", "\n", text)

    def lines(self) -> list[str]:
        """The lines of the text, without their ends."""
        return self.text().splitlines()
