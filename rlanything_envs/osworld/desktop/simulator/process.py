"""One run of a program: its input and its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rlanything_envs.osworld.desktop.simulator.files import Disk, DiskError

__all__ = ["Process", "Usage"]


class Usage(ValueError):
    """Words that a program does not understand.

    Attributes:
        status: its exit status.
        hint: whether it names its help, as GNU programs do after a missing operand or an unknown option.
    """

    def __init__(self, message: str, status: int = 1, hint: bool = False) -> None:
        super().__init__(message)
        self.status, self.hint = status, hint


@dataclass(slots=True)
class Process:
    """A program's surroundings.

    Attributes:
        disk: the files.
        folder: the working directory.
        words: its arguments.
        stdin: its standard input; bytes that are not UTF-8 are surrogates.
        out, err, status: its outputs and its exit status.
        columns: width of the terminal that shows its output; 0 without one.
    """

    disk: Disk
    folder: str
    words: list[str]
    stdin: str = ""
    out: str = ""
    err: str = ""
    status: int = 0
    columns: int = 0

    def path(self, word: str) -> str:
        """The absolute path of a word."""
        return self.disk.absolute(word, self.folder)

    def fail(self, message: str, status: int = 1) -> None:
        """Complain and go on."""
        self.err += f"{message}\n"
        self.status = status

    def options(self, flags: str, valued: str = "") -> tuple[dict[str, str], list[str]]:
        """Split the words into single-letter options and the rest.

        Args:
            flags: letters without a value.
            valued: letters with one.

        Raises:
            Usage: another letter, or a value is missing.
        """
        found: dict[str, str] = {}
        rest: list[str] = []
        words = iter(self.words)
        for word in words:
            if word == "--":
                rest += words
            elif len(word) < 2 or word[0] != "-":
                rest.append(word)
            else:
                self._option(word, words, flags, valued, found)
        return found, rest

    @staticmethod
    def _option(word: str, words: Iterator[str], flags: str, valued: str, found: dict[str, str]) -> None:
        for i, letter in enumerate(word[1:], 1):
            if letter in flags:
                found[letter] = ""
            elif letter in valued:
                value = word[i + 1 :] or next(words, None)
                if value is None:
                    raise Usage(f"option requires an argument -- '{letter}'", hint=True)
                found[letter] = value
                return
            else:
                unknown = f"invalid option -- '{letter}'" if word[1] != "-" else f"unrecognized option '{word}'"
                raise Usage(unknown, hint=True)

    def texts(self, name: str, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Names and texts of files, or the standard input where there are none; what cannot be read is complained of.

        Args:
            name: the program's, for the complaint.
            words: names of files; ``-`` is the standard input.
        """
        for word in words or ["-"]:
            if word == "-":
                yield "-", self.stdin
                continue
            try:
                yield word, self.disk.read(self.path(word)).decode(errors="surrogateescape")
            except DiskError as error:
                self.fail(f"{name}: {word}: {error.reason}", 2 if name in ("grep", "sort") else 1)
