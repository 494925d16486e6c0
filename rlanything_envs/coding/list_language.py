"""Programs of a few lines of Python on one list of integers.

A program reads the list, changes it line by line, and prints one result. Each line is one of the sentences below with
numbers in its holes, so that a program is a short run of words (the sentence, and the digits of its numbers) and is
still Python, run by the same judge as any other:

    from itertools import accumulate

    n = int(input())
    a = list(map(int, input().split()))
    a = [x for x in a if x % 2 == 0]
    a = [x + 3 for x in a]
    print(sum(a))

The language holds wrong programs as well as right ones (``x > 3`` as well as ``x >= 3``). It covers the generator's
family ``list_steps`` and nothing else; other problems need Python as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["DIGITS", "HEAD", "MAX_DIGITS", "MAX_STEPS", "RESULTS", "STEPS", "is_program", "read_program"]
__all__ += ["write_program"]

HEAD = "from itertools import accumulate\n\nn = int(input())\na = list(map(int, input().split()))\n"
"""Beginning of every program, which reads the list."""

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
"""Digits of the longest number a program may hold."""
MAX_STEPS = 6
"""Maximum lines between reading and printing; the problems have up to four steps."""

_LONGEST = 2_000
"""Longest text that is parsed, in characters; the longest program has some 500."""


def write_program(words: Sequence[str]) -> str:
    """The Python of a program's words: sentences, each followed by the digits of its number if it has one.

    Any words give a text, also those that are not a program.
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
    if len(source) > _LONGEST:
        return None
    body = source.split("\n")
    start = next((n for n, line in enumerate(body, 1) if line == HEAD.splitlines()[-1]), 0)
    if "\n".join(body[:start]).split() != HEAD.split():
        return None
    words: list[str] = []
    for line in body[start:]:
        if line.strip():
            found = next((parts for s in (*STEPS, *RESULTS) if (parts := _parts(s, line)) is not None), None)
            if found is None:
                return None
            words += found
    return words if is_program(words) else None


def is_program(words: Sequence[str]) -> bool:
    """Whether these are at most `MAX_STEPS` lines and a result, and each line with a hole has its number."""
    lines: list[str] = []
    numbers: list[str] = []
    for word in words:
        if word in DIGITS and lines:
            numbers[-1] += word
        else:
            lines.append(word)
            numbers.append("")
    return (
        1 <= len(lines) <= MAX_STEPS + 1
        and all(line in STEPS for line in lines[:-1])
        and lines[-1] in RESULTS
        and all(_fits(line, number) for line, number in zip(lines, numbers, strict=True))
    )


def _fits(sentence: str, number: str) -> bool:
    if "{}" not in sentence:
        return not number
    return 1 <= len(number) <= MAX_DIGITS and (number == "0" or number[0] != "0")


def _parts(sentence: str, line: str) -> list[str] | None:
    """A sentence and the digits of its number, if the line matches it; else None."""
    before, hole, after = sentence.partition("{}")
    if not hole:
        return [sentence] if line == sentence else None
    digits = line[len(before) : len(line) - len(after)]
    fits = line == before + digits + after and all(digit in DIGITS for digit in digits)
    return [sentence, *digits] if fits else None
