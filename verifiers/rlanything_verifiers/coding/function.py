"""Tests of a function: a driver calls it in the sandbox, and its result comes back as JSON.

The result is compared in the judge's process as plain data, so an object of the submission whose ``__eq__`` always
returns True has no effect.
"""

import json
import keyword
import re
from typing import Any

from .checkers import Checker, Interactor, TextChecker
from .errors import JudgeError
from .test import Test
from .verdict import Verdict

MARK = b"\x1d result "  # a control character, so that no output of the submission matches it by accident
MAX_RESULT = 8 << 20
"""Bytes of results of a function that are read: the JSON of a value takes up to 25 times its length in memory."""
_LONGEST_INT = 4000  # digits; Python refuses to read longer ones by default, and they would take long

# The module is not called __main__, so that code for a start as a program does not run.
_DRIVER = """\
import json, os, sys, types
{imports}

def _say(kind, value):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    data = b"\\n" + {mark!r} + (kind + " " + value + "\\n").encode(errors="replace")
    while data:
        data = data[os.write(1, data):]

def _main():
    arguments = json.loads(sys.stdin.buffer.read())
    module = types.ModuleType("submission")
    sys.modules["submission"] = module
    try:
        code = compile({source!r}, "<submission>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, MemoryError, RecursionError) as error:
        return _say("CE", " ".join((type(error).__name__ + ": " + str(error)).split()))
    exec(code, module.__dict__)
    function = module.__dict__.get({entry!r})
    if not callable(function):
        raise NameError("the program defines no function " + {entry!r})
    result = function(*arguments) if isinstance(arguments, list) else function(**arguments)
    _say("OK", json.dumps(result))

_main()
"""
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)
_MOST_IMPORTS = 50


def driver(program: bytes, entry_point: str) -> bytes:
    """The program that calls the function ``entry_point`` of a submission.

    Raises:
        JudgeError: the entry point is not the name of a function.
    """
    check_name(entry_point)
    return _DRIVER.format(imports=imports_of(program), mark=MARK, source=program, entry=entry_point).encode()


def check_name(entry_point: str) -> None:
    """Refuse a text that is not the name of a function.

    Raises:
        JudgeError: The text is not such a name.
    """
    if not (isinstance(entry_point, str) and entry_point.isidentifier() and not keyword.iskeyword(entry_point)):
        raise JudgeError(f"entry_point {entry_point!r:.80} is not the name of a function")


def imports_of(program: bytes) -> str:
    """Import lines of a program, from which the sandbox finds the modules to load once for all tests.

    Wrong names do no harm.
    """
    names = sorted({name.decode() for name in _IMPORT.findall(program)} - set(keyword.kwlist))[:_MOST_IMPORTS]
    return "".join(f"try:\n    import {name}\nexcept Exception:\n    pass\n" for name in names)


def check_tests(tests: tuple[Test, ...], checker: Checker) -> None:
    """Refuse tests and checkers that do not suit a function.

    Raises:
        JudgeError: arguments or result are not JSON; the message has the number of the test.
        JudgeError: the checker compares texts only.
    """
    if isinstance(checker, Interactor):
        raise JudgeError("checker interactor: it talks with a program, and a function has nothing to talk with")
    if isinstance(checker, TextChecker):
        checker.same_value(0, 0)
    for number, test in enumerate(tests):
        try:
            check_call(test)
        except JudgeError as error:
            raise JudgeError(f"test {number}: {error}") from None


def check_call(test: Test) -> None:
    """Refuse a test that is not a call with its result.

    Raises:
        JudgeError: Arguments or result are not JSON.
    """
    try:
        arguments, _ = _decode(test.stdin), _decode(test.stdout)
    except (ValueError, RecursionError) as error:
        raise JudgeError(f"arguments and result of a function must be JSON: {error}") from None
    if not isinstance(arguments, list | dict):
        raise JudgeError("arguments must be a JSON list, or an object of keywords")


def result(stdout: bytes) -> bytes | tuple[Verdict, str]:
    """The JSON text of the result in a driver's output, or the verdict where there is none."""
    _, found, rest = stdout.rpartition(b"\n" + MARK)
    kind, _, value = rest.partition(b"\n")[0].partition(b" ")
    if not found or kind not in (b"OK", b"CE"):
        return "RE", "the program ended before the function returned"
    if kind == b"CE":
        return "CE", value.decode(errors="replace")
    if len(value) > MAX_RESULT:
        return "RE", f"{len(value)} bytes of a result; at most {MAX_RESULT} are read"
    return value


def complaint(checker: TextChecker, expected: str, actual: bytes) -> str | None:
    """The fault of a result, given as JSON; None when it is right."""
    try:
        same = checker.same_value(_decode(expected), _decode(actual))
    except (ValueError, RecursionError):
        return "the result cannot be read"
    return None if same else f"expected {expected:.60}, got {actual[:240].decode(errors='replace'):.60}"


def _decode(text: str | bytes) -> Any:
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> object:
    # A long one is compared by its digits, which JSON writes in one way only.
    return int(digits) if len(digits) <= _LONGEST_INT else ("integer", digits)
