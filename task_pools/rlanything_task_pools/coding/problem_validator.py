"""Output validators of problem folders, as Python checkers.

A validator is a program of the folder's author. Its arguments are the input, the judge's answer and a folder for
feedback, standard input is the output to judge, and its exit code says 42 for right and 43 for wrong. It becomes the
source of a checker of the kind ``python``, which runs in the sandbox and gives it these files in memory.
"""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rlanything_task_pools.coding.draft import ImportFormatError
from rlanything_task_pools.coding.payload import MAX_PROGRAM
from rlanything_task_pools.coding.problem_files import read_text

__all__ = ["validator_of"]

_PYTHON = (".py", ".py3")
_PROGRAMS = (*_PYTHON, ".c", ".cc", ".cpp", ".cs", ".go", ".java", ".js", ".kt", ".rb", ".rs", ".sh")


def validator_of(folder: Path, place: str, flags: Sequence[str]) -> dict[str, Any]:
    """The checker of the validator in a folder.

    Args:
        folder: The problem's folder.
        place: The name of the folder of validators in it.
        flags: Arguments of the validator, after the usual three.

    Raises:
        ImportFormatError: There is not just one program, or it is not Python 3.
    """
    paths = [path for path in sorted((folder / place).rglob("*")) if path.is_file() and path.suffix in _PROGRAMS]
    if len(paths) != 1:
        reason = f"{len(paths)} programs" if paths else "no program"
        raise ImportFormatError(place, f"there is {reason} in it; only validators of one file in Python 3 can be run")
    if paths[0].suffix not in _PYTHON:
        reason = f"a validator in {paths[0].suffix[1:]}; only validators of one file in Python 3 can be run"
        raise ImportFormatError(place, reason)
    source = read_text(folder, paths[0], MAX_PROGRAM)
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ImportFormatError(f"{place}/{paths[0].name}", f"the validator is not Python 3: {error}") from None
    return {"kind": "python", "source": _DRIVER.format(source=source, flags=list(flags))}


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
