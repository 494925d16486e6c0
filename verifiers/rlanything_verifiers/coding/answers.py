"""Answers of a submission to the calls of asserts: untrusted JSON, read here before the checking program sees it.

An answer is data. It names no code: exceptions and types come from the two lists of this module, and everything else
is numbers, texts and containers of the kinds below. The checking program gets what `read` wrote, never a byte that the
submission wrote.

An answer is a pair ``["=", value]`` of a result, or a triple ``["!", name, message]`` of an exception. A value is null,
a boolean, a number, a text, or a pair of a kind and its content; `drivers` makes and reads the same pairs.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from .function import MAX_RESULT

_RAISED = """
Exception ArithmeticError AssertionError AttributeError BlockingIOError BufferError ConnectionError EOFError
FileExistsError FileNotFoundError FloatingPointError ImportError IndentationError IndexError InterruptedError
IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplementedError
OSError OverflowError PermissionError RecursionError ReferenceError RuntimeError SyntaxError SystemError TabError
TimeoutError TypeError UnboundLocalError UnicodeError ValueError ZeroDivisionError
"""
_PLAIN = "bool bytearray bytes complex dict float frozenset int list object range set str tuple"

#: What a submission may raise, and as what the asserts get it. Other classes come as the nearest of their parents.
#: Those that need more than a message become one of their parents. StopIteration would end a `map` or a loop of the
#: asserts as if all its calls had been checked; it becomes a RuntimeError, as in a generator (PEP 479).
EXCEPTIONS = {name: name for name in _RAISED.split()} | {
    "UnicodeDecodeError": "UnicodeError",
    "UnicodeEncodeError": "UnicodeError",
    "UnicodeTranslateError": "UnicodeError",
    "StopIteration": "RuntimeError",
    "StopAsyncIteration": "RuntimeError",
}

#: Types that may be a result. Whoever calls one of them gets plain data.
TYPES = frozenset([*_PLAIN.split(), *_RAISED.split()])

#: Containers in a value: a value nested deeper is not read.
MAX_DEPTH = 150
_MESSAGE = 300  # characters of an exception's message
_MAX_DIGITS = 4000  # of an integer: Python refuses to read longer ones by default, and they would take long

_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,4000}(?:\.[0-9]{0,4000})?(?:E[+-]?[0-9]{1,9})?|Infinity|s?NaN[0-9]{0,9})\Z")
_HEX = re.compile(r"(?:[0-9a-f]{2})*\Z")
_SEQUENCES = frozenset("ltsfiq")  # list, tuple, set, frozenset, iterator, deque
_HASHABLE = frozenset("tfbcrFDTo")  # kinds that may be a member of a set or a key, if what they contain may


class AnswerError(ValueError):
    """Answers that no driver writes, or that are too long; the message has the reason."""


def read(text: bytes, calls: int) -> bytes:
    """Check answers and write them again.

    Args:
        text: JSON that the submission's process printed.
        calls: Number of calls that it was asked.

    Raises:
        AnswerError: The answers do not follow the schema.
    """
    if len(text) > MAX_RESULT:
        raise AnswerError(f"{len(text)} bytes of results; at most {MAX_RESULT} are read")
    try:
        answers = json.loads(text, parse_int=_integer, object_pairs_hook=_no_object)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"the results cannot be read: {error!s:.100}") from None
    if not isinstance(answers, list) or len(answers) != calls:
        raise AnswerError(f"there must be {calls} results")
    return json.dumps([_answer(answer) for answer in answers], separators=(",", ":")).encode()


def _answer(answer: Any) -> Any:
    if isinstance(answer, list):
        if len(answer) == 2 and answer[0] == "=":
            return ["=", _value(answer[1], 0)]
        if len(answer) == 3 and answer[0] == "!" and isinstance(answer[1], str) and isinstance(answer[2], str):
            name = EXCEPTIONS.get(answer[1])
            if name is not None:
                return ["!", name, answer[2][:_MESSAGE]]
    raise AnswerError("a result is neither a value nor an exception of the list")


def _value(data: Any, depth: int, *, hashable: bool = False) -> Any:
    """A checked value.

    Raises:
        AnswerError: It does not follow the schema, or is a member of a set and cannot be.
    """
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if not (isinstance(data, list) and len(data) == 2 and isinstance(data[0], str)):
        raise AnswerError("a value is not a pair of a kind and its content")
    kind, content = data
    if depth == MAX_DEPTH:
        raise AnswerError(f"a value has more than {MAX_DEPTH} levels")
    if hashable and kind not in _HASHABLE:
        raise AnswerError(f"a value of the kind {kind!r:.20} cannot be in a set or a key")
    if kind in _SEQUENCES and isinstance(content, list):
        inside = kind in "sf" or hashable
        return [kind, [_value(item, depth + 1, hashable=inside) for item in content]]
    if kind == "d" and isinstance(content, list) and all(isinstance(p, list) and len(p) == 2 for p in content):
        return [kind, [[_value(k, depth + 1, hashable=True), _value(v, depth + 1)] for k, v in content]]
    check = _SCALARS.get(kind)
    if check is None or not check(content):
        raise AnswerError(f"a value of the kind {kind!r:.20} has another content")
    return [kind, content]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_hex(content: Any) -> bool:
    return isinstance(content, str) and _HEX.match(content) is not None


def _is_real(value: Any) -> bool:
    return isinstance(value, float) or (_is_integer(value) and abs(value) < 1 << 1000)


def _integers(content: Any, number: int) -> bool:
    return isinstance(content, list) and len(content) == number and all(map(_is_integer, content))


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "b": _is_hex,  # bytes
    "B": _is_hex,  # bytearray
    "c": lambda content: isinstance(content, list) and len(content) == 2 and all(map(_is_real, content)),  # complex
    "r": lambda content: _integers(content, 3) and content[2] != 0,  # range
    "F": lambda content: _integers(content, 2) and content[1] > 0,  # Fraction
    "D": lambda content: isinstance(content, str) and _DECIMAL.match(content) is not None,  # Decimal
    "T": lambda content: isinstance(content, str) and content in TYPES,
    "o": lambda content: _is_integer(content) and 0 <= content < 1 << 31,  # an object that stays in its process
}


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"an integer of {len(digits)} digits; at most {_MAX_DIGITS} are read")
    return int(digits)


def _no_object(pairs: object) -> None:
    raise ValueError("a JSON object; objects are written as lists of pairs")
