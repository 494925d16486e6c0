"""Inputs made to hurt: what is put into valid examples, and what is tried as it is.

Random bytes never get past the first check of a reader. So a valid example is taken, and something is done to it: to
its bytes, and, where it is JSON, to one of its values.
"""

from __future__ import annotations

import copy
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from hypothesis import strategies as st

__all__ = ["hostile_inputs", "mutations"]

LARGE = 10_000
"""Depth and length of what is deep or long."""

HOSTILE_VALUES: tuple[str, ...] = (
    "1e999999",
    "-1e999999",
    "NaN",
    "Infinity",
    "-Infinity",
    "-0.0",
    "1e308",
    "9" * 400,
    "9" * 4_000,
    "9" * 5_000,
    "-1",
    "0.5",
    "9223372036854775808",
    "18446744073709551616",
    "true",
    "null",
    '""',
    r'"\u0000"',
    r'"\ud800"',
    r'"a\udfffb"',
    r'"\u202e"',
    '"../../../../etc/passwd"',
    '"/dev/zero"',
    '"/etc/passwd"',
    '"file:///etc/passwd"',
    '"http://127.0.0.1:9/"',
    '"$(touch /tmp/x)"',
    json.dumps("a" * 10 * LARGE),
    "[]",
    "{}",
    '{"": {}}',
    '[{"a": 1}, {"a": [null]}]',
    "[" * 60 + "]" * 60,
    "[" * 500 + "]" * 500,
    '{"a":' * 500 + "1" + "}" * 500,
    "[" + "0," * LARGE + "0]",
    "{" + ",".join(f'"{n}": 0' for n in range(2_000)) + "}",
)
"""Texts of JSON values, each of which some reader somewhere did not think of."""

FRAGMENTS: tuple[bytes, ...] = (
    *(value.encode() for value in HOSTILE_VALUES if len(value) < 1_000),
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n---\n",
    b"```",
    b"```python\n",
    b"</think>",
    b"\\boxed{1}",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b'"',
    b"'",
    b"<",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"&#0;",
    b"]]>",
    b": ",
    b"- ",
    b"&a [*a]",
    b"!!python/object/apply:os.system [true]",
    b"!!int ''",
    b"!!timestamp x",
    b"=",
    b"#",
    b"%",
    b"-",
    b"..",
    b"/../",
    b"*",
    b"0x" + b"f" * 5_000,
    "²".encode(),
    "\u202e".encode(),
)
"""Pieces of the languages that are read here."""


def hostile_inputs(seeds: Sequence[bytes]) -> Iterator[bytes]:
    """What no reader of a text or a file may stumble over, whatever it reads.

    Args:
        seeds: Valid examples; each hostile value takes the place of one value of one of those that are JSON.
    """
    yield b""
    yield from (value.encode() for value in HOSTILE_VALUES)
    yield from FRAGMENTS
    for opening, closing in (
        ("[", "]"),
        ("{", "}"),
        ("(", ")"),
        ('{"a":', "}"),
        ("<a>", "</a>"),
        ("-", "1"),
        ("~", ""),
    ):
        yield opening.encode() * LARGE
        yield opening.encode() * LARGE + closing.encode() * LARGE
    for piece in ("a ", "\n", " ", "a.b", "```\n", "\\", "'", '"', "a,", "=A1", "..", "/", "|", "*", ";", "é", "\x00"):
        yield piece.encode() * (LARGE // len(piece))
    for seed in filter(None, seeds):  # what a reader knows, again and again
        for piece in dict.fromkeys((seed[:2], seed[:9], seed[: len(seed) // 2 + 1], seed)):
            yield piece * (10 * LARGE // len(piece)) + b"x"
    yield from _bombs()
    yield _laughs("[{}]", "*", ", ")
    yield (
        b"<!DOCTYPE l [<!ENTITY a0 'ha'>"
        + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12))
        + b"]><l>&a11;</l>"
    )
    for number, seed in enumerate(seeds):
        changed = (
            seed[: len(seed) // 2],
            seed + seed,
            seed.replace(b"\n", b"\r\n"),
            seed.decode("utf-8", "ignore").encode("utf-16"),
        )
        yield changed[number % len(changed)]
    values = [value for seed in seeds if isinstance(value := _json(seed), dict | list)]
    for number, value in enumerate(HOSTILE_VALUES if values else ()):
        example = values[number % len(values)]
        places = list(_places(example))
        yield _replaced(example, places[number * 7 % len(places)], value)


@cache
def _bombs() -> tuple[bytes, ...]:
    """Little that unpacks to much."""
    blanks = b" " * (LARGE << 10)
    return gzip.compress(blanks, 9), gzip.compress(b"[" * (1 << 20), 9), zlib.compress(blanks, 9)


def _laughs(node: str, mark: str, comma: str) -> bytes:
    """YAML of a few hundred bytes that stands for ten to the twelfth values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} " + node.format(comma.join([f"{mark}a{n - 1}"] * 10)) for n in range(1, 12)]
    return "\n".join(lines).encode()


def mutations(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Seeds with a few things done to them."""
    made = st.composite(_edited)(seeds)
    values = [value for seed in seeds if isinstance(value := _json(seed), dict | list)]
    return made | st.composite(_revalued)(values) if values else made


def _edited(draw: Callable[[st.SearchStrategy[Any]], Any], seeds: Sequence[bytes]) -> bytes:
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            new = draw(st.sampled_from(FRAGMENTS))
        elif kind == 1:
            new = draw(st.binary(max_size=6))
        elif kind == 2:
            new = data[at : at + length] * draw(st.integers(0, 3))
        else:
            start = draw(st.integers(0, len(data)))
            new = data[start : start + draw(st.integers(0, 60))]
        data = data[:at] + new + data[at + length :]
    return data


def _revalued(draw: Callable[[st.SearchStrategy[Any]], Any], values: Sequence[Any]) -> bytes:
    value = draw(st.sampled_from(values))
    for _ in range(draw(st.integers(1, 2))):
        text = _replaced(value, draw(st.sampled_from(list(_places(value)))), draw(st.sampled_from(HOSTILE_VALUES)))
        if not isinstance(value := _json(text), dict | list):
            return text
    return text


_MARK = "\N{BALLOT BOX}"  # stands in none of the seeds


def _places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The ways to all values within a value, itself included."""
    yield ()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from ((key, *way) for way in _places(item))


def _replaced(value: Any, way: tuple[Any, ...], text: str) -> bytes:
    """The JSON of a value with a text in the place of one within."""
    if not way:
        return text.encode()
    changed = copy.deepcopy(value)
    node = changed
    for key in way[:-1]:
        node = node[key]
    node[way[-1]] = _MARK
    return json.dumps(changed).replace(json.dumps(_MARK), text, 1).encode()


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
