"""The programs a small model writes: a few lines of Python on one list of integers.

A program reads the list, changes it line by line, and prints one result. Each line is one of the sentences below with
numbers in its holes, so that a program is a short run of tokens (the sentence, and the digits of its numbers) and is
still Python, run by the same judge as any other:

    from itertools import accumulate

    n = int(input())
    a = list(map(int, input().split()))
    a = [x for x in a if x % 2 == 0]
    a = [x + 3 for x in a]
    print(sum(a))

Right and wrong are both in the language: ``x > 3`` stands beside ``x >= 3``. It covers the generator's family
``list_steps`` and nothing else; other problems need a pretrained model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["DIGITS", "HEAD", "MAX_DIGITS", "MAX_STEPS", "RESULTS", "STEPS", "read_program", "write_program"]

HEAD = "from itertools import accumulate\n\nn = int(input())\na = list(map(int, input().split()))\n"
"""How every program begins: it reads the list."""

STEPS = (
    "a = [x for x in a if x % 2 == 0]",
    "a = [x for x in a if x % 2 != 0]",
    "a = [x for x in a if x > {}]",
    "a = [x for x in a if x >= {}]",
    "a = [x for x in a if x < {}]",
    "a = [x for x in a if x <= {}]",
    "a = [x for x in a if x % {}]",
    "a = [x for x in a if not x % {}]",
    "a = a[::2]",
    "a = a[1::2]",
    "a = a[:{}]",
    "a = a[:{} - 1]",
    "a = a[{}:]",
    "a = a[{} + 1:]",
    "a = list(dict.fromkeys(a))",
    "a = list(a)",
    "a = a",
    "a = [x + {} for x in a]",
    "a = [x - {} for x in a]",
    "a = [x * {} for x in a]",
    "a = [{} - x for x in a]",
    "a = [x * x for x in a]",
    "a = [x + x for x in a]",
    "a = [x * 2 if x < 0 else x for x in a]",
    "a = [x * 2 if x > 0 else x for x in a]",
    "a = [max(x, 0) for x in a]",
    "a = [abs(x) for x in a]",
    "a = [x + i for i, x in enumerate(a, 1)]",
    "a = [x + i for i, x in enumerate(a)]",
    "a = list(accumulate(a))",
    "a = a[::-1]",
    "a = a[::]",
    "a = sorted(a)",
    "a = sorted(a, key=str)",
    "a = sorted(a)[::-1]",
    "a = a[1:] + a[:1]",
    "a = a[-1:] + a[:-1]",
)
"""Lines that change the list; ``{}`` is a number."""

RESULTS = (
    "print(sum(a))",
    "print(sum(a[1:]))",
    "print(len(a))",
    "print(len(a) - 1)",
    'print(*a or ["EMPTY"])',
    "print(*a[1:])",
)
"""Lines that end a program."""

DIGITS = tuple("0123456789")
MAX_DIGITS = 3
"""Longest number a program may hold."""
MAX_STEPS = 6
"""Most lines between reading and printing; the problems have up to four steps."""

_PATTERNS = {
    sentence: re.compile(re.escape(sentence).replace(r"\{\}", rf"([0-9]{{1,{MAX_DIGITS}}})"))
    for sentence in (*STEPS, *RESULTS)
}


def write_program(words: Sequence[str]) -> str:
    """The Python of a program's words: sentences, each followed by the digits of its number if it has one.

    Any words give a text, whether or not they are a program.
    """
    lines: list[str] = []
    number = ""
    for word in (*words, ""):
        if word in DIGITS:
            number += word
            continue
        if lines:
            lines[-1] = lines[-1].replace("{}", number or "0")
        number = ""
        if word:
            lines.append(word)
    return HEAD + "".join(f"{line}\n" for line in lines)


def read_program(source: str) -> list[str] | None:
    """The words of a program; None where it is not in the language.

    >>> read_program(HEAD + "a = a[:12]\\nprint(len(a))\\n")
    ['a = a[:{}]', '1', '2', 'print(len(a))']
    """
    head, body = HEAD.split(), source.split("\n")
    start = next((n for n, line in enumerate(body, 1) if line == HEAD.splitlines()[-1]), 0)
    lines = [line for line in body[start:] if line.strip()]
    if "\n".join(body[:start]).split() != head or not 1 <= len(lines) <= MAX_STEPS + 1:
        return None
    words: list[str] = []
    for number, line in enumerate(lines, 1):
        kinds = RESULTS if number == len(lines) else STEPS
        found = next(((s, m) for s in kinds if (m := _PATTERNS[s].fullmatch(line)) is not None), None)
        if found is None:
            return None
        sentence, match = found
        digits = match.groups()
        if digits and len(digits[0]) > 1 and digits[0].startswith("0"):
            return None
        words += [sentence, *"".join(digits)]
    return words
