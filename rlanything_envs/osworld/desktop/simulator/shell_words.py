"""Reading a line of shell: words, quotes, variables, wildcards, pipes, lists and redirections."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rlanything_envs.osworld.desktop.simulator.files import Disk

__all__ = ["Command", "Pipeline", "ShellSyntaxError", "Word", "expand", "fits", "parse"]

_OPERATORS = ("&>>", "&>", "&&", "||", ">>", ">&", "<<", ">", "<", "|", ";", "&", "(", ")", "\n")
_REDIRECTIONS = (">", ">>", "<", "&>", "&>>", ">&")
_NAME = re.compile(r"\$(?:\{(\w+)\}|(\w+)|([?$#!@*]))")
_MOST_WORDS = 5000
_LONGEST_PATTERN = 1000  # characters; `fnmatch` takes half a minute for ten thousand brackets
_NOT_HERE = {"for", "while", "until", "if", "case", "select", "function", "{", "[[", "((", "then", "do", "fi", "done"}


class ShellSyntaxError(ValueError):
    """A line that bash would refuse too, or that needs an unsupported feature; ``status`` is its exit status."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it was written: pieces with their kind of quotes (``""``, ``"'"`` or ``'"'``)."""

    pieces: tuple[tuple[str, str], ...]

    @property
    def plain(self) -> str | None:
        """The word where it is written without quotes; None where it has any."""
        return self.pieces[0][0] if len(self.pieces) == 1 and not self.pieces[0][1] else None


@dataclass(slots=True)
class Command:
    """Words, and where its streams go: (stream, operator, target)."""

    words: list[Word] = field(default_factory=list)
    redirections: list[tuple[int, str, Word]] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """A pipeline, and the operator that decides whether it runs: ``";"``, ``"&&"`` or ``"||"``."""

    connector: str
    commands: list[Command]


def parse(line: str) -> list[Pipeline]:
    """Read a line.

    Raises:
        ShellSyntaxError: it cannot be read.
    """
    pipelines = [Pipeline(";", [Command()])]
    tokens = _tokens(line)
    i = 0
    while i < len(tokens):
        token = tokens[i]
        command = pipelines[-1].commands[-1]
        if isinstance(token, Word):
            if not command.words and token.plain in _NOT_HERE:
                raise ShellSyntaxError(f"{token.plain}: the simulated shell has no loops, conditions or functions", 127)
            command.words.append(token)
        elif token.lstrip("012") in _REDIRECTIONS:
            i += 1
            target = tokens[i] if i < len(tokens) else "newline"
            if not isinstance(target, Word):
                raise ShellSyntaxError(f"syntax error near unexpected token `{target.strip() or 'newline'}'")
            operator = token.lstrip("012")
            stream = int(token[: len(token) - len(operator)] or ("0" if operator == "<" else "1"))
            command.redirections.append((stream, operator, target))
        elif token in ("(", ")", "<<"):
            raise ShellSyntaxError(f"`{token}': the simulated shell has no subshells and no here-documents", 127)
        else:
            _connect(pipelines, token)
        i += 1
    last = pipelines[-1]
    if not last.commands[-1].words and not last.commands[-1].redirections:
        if len(last.commands) > 1 or last.connector in ("&&", "||"):
            raise ShellSyntaxError("syntax error: unexpected end of file")
        pipelines.pop()
    return pipelines


def _connect(pipelines: list[Pipeline], token: str) -> None:
    command = pipelines[-1].commands[-1]
    if not command.words and not command.redirections:
        if token == "\n":
            return
        raise ShellSyntaxError(f"syntax error near unexpected token `{token}'")
    if token == "|":
        pipelines[-1].commands.append(Command())
    else:
        pipelines.append(Pipeline(token if token in ("&&", "||") else ";", [Command()]))


def _tokens(line: str) -> list[Word | str]:
    """Words, and operators as texts (with the number of the stream in front, where one is given)."""
    tokens: list[Word | str] = []
    pieces: list[tuple[str, str]] = []
    i = 0

    def end() -> None:
        if pieces:
            tokens.append(Word(tuple(pieces)))
            pieces.clear()

    while i < len(line):
        letter = line[i]
        operator = next((text for text in _OPERATORS if line.startswith(text, i)), None)
        if letter in " \t\r":
            end()
            i += 1
        elif letter == "#" and not pieces:
            i = line.find("\n", i) if "\n" in line[i:] else len(line)
        elif operator:
            number = ""
            if operator in _REDIRECTIONS and pieces in ([("0", "")], [("1", "")], [("2", "")]):
                number = pieces.pop()[0]
            end()
            tokens.append(number + operator)
            i += len(operator)
        elif letter == "'":
            close = line.find("'", i + 1)
            if close < 0:
                raise ShellSyntaxError("unexpected EOF while looking for matching `''")
            pieces.append((line[i + 1 : close], "'"))
            i = close + 1
        elif letter == '"':
            text, i = _double_quoted(line, i + 1)
            pieces.append((text, '"'))
        elif letter == "\\":
            if line[i + 1 : i + 2] != "\n":
                pieces.append((line[i + 1 : i + 2], "'"))
            i += 2
        elif letter == "`" or line.startswith("$(", i):
            raise ShellSyntaxError("the simulated shell has no command substitution", 127)
        else:
            _add(pieces, letter)
            i += 1
    end()
    return tokens


def _add(pieces: list[tuple[str, str]], letter: str) -> None:
    """Put an unquoted letter behind the others."""
    if pieces and not pieces[-1][1]:
        pieces[-1] = (pieces[-1][0] + letter, "")
    else:
        pieces.append((letter, ""))


def _double_quoted(line: str, i: int) -> tuple[str, int]:
    """The text up to the closing quote, still with its variables; a dollar that stands for itself becomes \\0."""
    parts: list[str] = []
    while i < len(line):
        letter = line[i]
        if letter == '"':
            return "".join(parts), i + 1
        if letter == "\\" and line[i + 1 : i + 2] in ('"', "\\", "$", "`", "\n"):
            escaped = line[i + 1]
            parts.append({"$": "\0", "\n": ""}.get(escaped, escaped))
            i += 2
            continue
        if letter == "`" or line.startswith("$(", i):
            raise ShellSyntaxError("the simulated shell has no command substitution", 127)
        parts.append(letter)
        i += 1
    raise ShellSyntaxError("unexpected EOF while looking for matching `\"'")


def expand(words: Sequence[Word], variables: Mapping[str, str], disk: Disk, folder: str) -> list[str]:
    """The words as a program gets them: variables and ``~`` replaced, wildcards matched.

    Raises:
        ShellSyntaxError: there are too many.
    """
    found: list[str] = []
    for word in words:
        parts = [(_filled(text, variables) if quote != "'" else text, quote) for text, quote in word.pieces]
        if not parts[0][1] and (parts[0][0] == "~" or parts[0][0].startswith("~/")):
            parts[0] = (variables.get("HOME", "~") + parts[0][0][1:], "'")
        text = "".join(part for part, _ in parts)
        if all(not quote for _, quote in parts) and "$" in "".join(text for text, _ in word.pieces):
            found += text.split()  # an unquoted variable is split into words
        elif any(not quote and set(part) & set("*?[") for part, quote in parts):
            found += _matches(parts, disk, folder) or [text]
        else:
            found.append(text)
        if len(found) > _MOST_WORDS:
            raise ShellSyntaxError("Argument list too long", 126)
    return found


def _filled(text: str, variables: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return variables.get(next(group for group in match.groups() if group is not None), "")

    return _NAME.sub(value, text).replace("\0", "$")


def _matches(parts: Sequence[tuple[str, str]], disk: Disk, folder: str) -> list[str]:
    """Paths that match a word with wildcards."""
    pattern = "".join(part if not quote else _literal(part) for part, quote in parts)
    names = pattern.split("/")
    found = [("/" if pattern.startswith("/") else "")]
    for name in names[1:] if pattern.startswith("/") else names:
        found = [path for start in found for path in _step(start, name, disk, folder)][:_MOST_WORDS]
    return sorted(path for path in found if path)


def _step(start: str, name: str, disk: Disk, folder: str) -> list[str]:
    base = disk.absolute(start or ".", folder)
    join: Callable[[str], str] = lambda child: f"{start}{'' if start in ('', '/') else '/'}{child}"  # noqa: E731
    if not set(name) & set("*?["):
        return [join(name)] if disk.find(f"{base}/{name}") is not None else []
    if not disk.is_folder(base):
        return []
    hidden = name.startswith(".")
    names = [child for child in disk.names(base) if child.startswith(".") <= hidden]
    return [join(child) for child in names if fits(child, name)]


def fits(name: str, pattern: str) -> bool:
    """Whether a file's name fits a pattern with wildcards; no name fits one of more than a thousand characters."""
    return len(pattern) <= _LONGEST_PATTERN and fnmatch.fnmatchcase(name, pattern)


def _literal(text: str) -> str:
    """A quoted text as a pattern for itself."""
    return re.sub(r"([*?\[])", r"[\1]", text)
