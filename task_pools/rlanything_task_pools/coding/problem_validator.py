"""Output validators of problem folders, as checkers.

A validator is a program of the folder's author. Its arguments are the input, the judge's answer and a folder for
feedback, standard input is the output to judge, and its exit code says 42 for right and 43 for wrong. One in Python 3
becomes the source of a checker of the kind ``python``, which gives it these files in memory; one in C++, of one file or
several, becomes a checker of the kind ``validator``.
"""

import ast
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import ImportFormatError
from rlanything_task_pools.coding.payload import MAX_PROGRAM
from rlanything_task_pools.coding.problem_files import read_text

__all__ = ["validator_of"]

MAX_CPP = 400_000
"""Most characters of a validator in C++ with its headers; the largest header in use, testlib's, has 200,000."""
_MAX_DEPTH = 20
_PYTHON, _CPP = (".py", ".py3"), (".cc", ".cpp", ".cxx", ".c++", ".C")
_PROGRAMS = (*_PYTHON, *_CPP, ".c", ".cs", ".go", ".java", ".js", ".kt", ".rb", ".rs", ".sh")
_ONLY = "only validators of one file in Python 3, or in C++, can be run"


def validator_of(folder: Path, place: str, flags: Sequence[str]) -> dict[str, Any]:
    """The checker of the validator in a folder.

    Args:
        folder: The problem's folder.
        place: The name of the folder of validators in it.
        flags: Arguments of the validator, after the usual three.

    Raises:
        ImportFormatError: There is not just one program, or it is neither Python 3 nor C++.
    """
    paths = [path for path in sorted((folder / place).rglob("*")) if path.is_file() and path.suffix in _PROGRAMS]
    if paths and (len(paths) == 1 or _one_program(paths, folder / place)) and paths[0].suffix in _CPP:
        source = _Amalgam(folder, paths[0].parent).of(paths)
        return {"kind": "validator", "source": source, **({"flags": list(flags)} if flags else {})}
    if len(paths) != 1:
        reason = f"{len(paths)} programs" if paths else "no program"
        raise ImportFormatError(place, f"there is {reason} in it; {_ONLY}")
    if paths[0].suffix not in _PYTHON:
        raise ImportFormatError(place, f"a validator in {paths[0].suffix[1:]}; {_ONLY}")
    source = read_text(folder, paths[0], MAX_PROGRAM)
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportFormatError(f"{place}/{paths[0].name}", f"the validator is not Python 3: {error}") from None
    return {"kind": "python", "source": _DRIVER.format(source=source, flags=list(flags))}


def _one_program(paths: Sequence[Path], root: Path) -> bool:
    """Whether files are one program in C++: they are in a folder of their own, next to single-file programs."""
    where = paths[0].parent
    beside = where == root and root.name == "output_validators"
    return not beside and all(path.suffix in _CPP and path.parent == where for path in paths)


class _Amalgam:
    """A C++ program as one text: its files one after the other, the folder's own headers where they are included.

    What two files both define for themselves then collides, and the compiler says so.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, root
        self._once: set[Path] = set()
        self._size = 0

    def of(self, paths: Sequence[Path]) -> str:
        return "".join(self._text(path, ()) for path in paths)

    def _text(self, path: Path, above: tuple[Path, ...]) -> str:
        """A file with its headers; `above` are those that include it."""
        if path in self._once or path in above:  # a header that includes itself has a guard
            return ""
        if len(above) > _MAX_DEPTH:
            raise ImportFormatError(path.name, f"headers that include each other deeper than {_MAX_DEPTH}")
        text = read_text(self._folder, path, MAX_CPP)
        self._size += len(text)
        if self._size > MAX_CPP:
            raise ImportFormatError(path.name, f"the validator and its headers are longer than {MAX_CPP} characters")
        lines = [f'#line 1 "{path.name}"']
        for number, line in enumerate(text.split("\n"), 1):
            words = line.replace(" ", "").replace("\t", "")
            if words.startswith("#pragmaonce"):
                self._once.add(path)
                lines.append("")
            elif words.startswith('#include"') and (header := self._header(path, line.split('"')[1])) is not None:
                lines += [self._text(header, (*above, path)), f'#line {number + 1} "{path.name}"']
            else:
                lines.append(line)
        return "\n".join(lines) + "\n"

    def _header(self, path: Path, name: str) -> Path | None:
        """The folder's header of a name; None where it is the compiler's."""
        for place in (path.parent, self._root):
            with suppress(OSError, ValueError):  # a text that cannot be a file name
                if (place / name).is_file():
                    return (place / name).resolve()
        return None


_DRIVER = """\
import builtins, io, json, os, sys

SOURCE = {source!r}
FLAGS = {flags!r}


class Note(io.StringIO):
    def close(self):  # what was written stays
        pass


class Bytes(io.BytesIO):
    def close(self):
        pass


def validate(files, output):
    notes = {{}}
    plain = open

    def open_(file, mode="r", *args, **kwargs):
        name = file if isinstance(file, int) else os.fspath(file)
        if name in files:
            data = files[name]
            return io.BytesIO(data.encode()) if "b" in mode else io.StringIO(data)
        if isinstance(name, str) and name.startswith("feedback"):
            return notes.setdefault(os.path.basename(name), Bytes() if "b" in mode else Note())
        return plain(file, mode, *args, **kwargs)

    def leave(code):
        raise SystemExit(code)

    kept = builtins.open, io.open, os._exit, sys.stdin, sys.stdout, sys.stderr
    builtins.open = io.open = open_
    os._exit = leave
    sys.argv[:] = ["validator", "input", "answer", "feedback", *FLAGS]
    sys.stdin = io.TextIOWrapper(io.BytesIO(output), encoding="utf-8", errors="surrogateescape")
    sys.stdout = sys.stderr = Note()
    code, failure = 0, ""
    try:
        exec(compile(SOURCE, "validator.py", "exec"), {{"__name__": "__main__", "__file__": "validator.py"}})
    except SystemExit as stop:
        code = stop.code
    except Exception as error:
        failure = type(error).__name__ + ": " + str(error)
    finally:
        builtins.open, io.open, os._exit, sys.stdin, sys.stdout, sys.stderr = kept
    note = notes.get("judgemessage.txt")
    said = note.getvalue() if note is not None else ""
    return code, failure or "exit code " + str(code), said if isinstance(said, str) else said.decode(errors="replace")


def main():
    question = json.load(sys.stdin)
    files = {{"input": question["stdin"], "answer": question["expected"]}}
    code, failure, said = validate(files, question["actual"].encode(errors="surrogateescape"))
    if code not in (42, 43):
        # An output may well break a validator, and then it is wrong. One that the judge's answer breaks is broken.
        again = validate(files, question["expected"].encode())
        if again[0] not in (42, 43):
            sys.exit("the validator fails on the judge's answer: " + again[1])
        code, said = 43, "the validator fails on this output: " + failure
    print("AC" if code == 42 else "WA", said[:300], sep="\\n")


main()
"""
