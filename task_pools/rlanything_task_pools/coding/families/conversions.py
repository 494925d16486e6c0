"""Family: sums of Roman numerals and of numbers in other bases, in the usual notation or in a strange one."""

from collections.abc import Callable, Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines
from rlanything_task_pools.coding.parts import OFF_ON, between, count, line, page, power, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTERS = "IVXLCDM"

ROMAN = """
VALUES = @values@
def read(word):
    numbers = [dict(VALUES)[c] for c in word]
    return sum(-x if x < max(numbers[i:]) else x for i, x in enumerate(numbers))
def write(n):
    out = ""
    for letters, v in VALUES:
        while n >= v:
            out, n = out + letters, n - v
    return out
"""
ROMAN_BRUTE = """
def write(n):
    out = ""
    for place in range(4):
        a, b, c = ("@letters@" + "??")[2 * place : 2 * place + 3]
        out = @forms@[n // 10 ** place % 10] + out
    return out
read = {write(n): n for n in range(4000)}.get
"""
BASE = """
DIGITS = "@digits@"
def read(word):
    return int(word, @source@)
def write(n):
    out = ""
    while n:
        n, digit = divmod(n, @target@)
        if digit < 0:
            n, digit = n + 1, digit - @target@
        out = DIGITS[digit] + out
    return out or "0"
"""
BASE_BRUTE = """
def value(word, base):
    return sum("@digits@".index(c) * base ** i for i, c in enumerate(word[::-1]))
def read(word):
    return value(word, @source@)
def write(n):
    digits = "@digits@"[: abs(@target@)]
    level = list(digits)
    while all(value(word, @target@) != n for word in level):
        level = [word + c for word in level if word != "0" for c in digits]
    return next(word for word in level if value(word, @target@) == n)
"""
RUN = """
for _ in range(int(input())):
    print(write(sum(read(word) for word in input().split())))
"""


Parts = tuple[dict[str, object], list[str], tuple[tuple[str, str], ...], Callable[[int], str], Callable[[str], int]]


def _roman(rng: RngStream, strange: bool) -> Parts:
    order = rng.shuffled(22)[:7]
    letters = "".join("ABCDEFGHJKLMNPQRSTUWXY"[i] for i in order) if strange else LETTERS
    values = {letter: 10 ** (i // 2) * (1, 5)[i % 2] for i, letter in enumerate(letters)}
    task = [
        "Numbers from 1 to 3999 are written with letters, which have these values: "
        f"{', '.join(f'{letter} = {v}' for letter, v in values.items())}.",
        "A number is the sum of the values of its letters. They stand from the largest value to the smallest, and "
        "there are as few of them as possible.",
    ]
    if not strange:
        values |= {
            LETTERS[i] + LETTERS[j]: values[LETTERS[j]] - values[LETTERS[i]] for i in (0, 2, 4) for j in (i + 1, i + 2)
        }
        task[1] = (
            "These are the usual Roman numerals: the values are added from the largest to the smallest, and there are "
            "six special forms, IV for 4, IX for 9, XL for 40, XC for 90, CD for 400 and CM for 900."
        )
    ranked = sorted(values.items(), key=lambda item: -item[1])
    fours = '["", a, a + a, a * 3, a + b, b, b + a, b + a * 2, b + a * 3, a + c]'
    plain = "[b * (n // 5) + a * (n % 5) for n in range(10)]"
    names: dict[str, object] = {"values": ranked, "letters": letters, "forms": plain if strange else fours}

    def spell(n: int) -> str:
        out = ""
        for letter, value in ranked:
            out, n = out + letter * (n // value), n % value
        return out

    def value(word: str) -> int:
        total = at = 0
        for letter, worth in ranked:
            while word.startswith(letter, at):
                total, at = total + worth, at + len(letter)
        return total if at == len(word) <= 20 else 0

    less = [pair for pair in ranked if pair[1] != (5 if strange else 9)]
    return names, task, (("in VALUES:", f"in {less}:"), ("while n >= v", "while n > v")), spell, value


def _base(rng: RngStream, strange: bool) -> Parts:
    source, target = between(rng, 2, 16), between(rng, 3, 12)
    target = -target if strange else target + (target == source)
    letters = "the letters A, B, C and so on are the digits with the values 10, 11, 12 and so on"
    task = [f"Numbers are written in base {source}{f'; {letters}' if source > 10 else ''}."]
    if strange:
        task.append(
            f"Base {target} works like any other base, with the digits from 0 to {-target - 1}, but the places have, "
            f"from right to left, the values 1, {target}, {target**2}, {target**3}, ..., so that no sign is needed."
        )
    if abs(target) > 10 >= source:
        task.append(f"In base {target} {letters}.")
    names: dict[str, object] = {"digits": DIGITS, "source": source, "target": target}
    wrong = ("n, digit = n + 1, digit", "n, digit = n, digit") if strange else ("divmod(n, ", "divmod(n, 1 + ")

    def spell(n: int) -> str:
        return (spell(n // source) if n >= source else "") + DIGITS[n % source]

    def value(word: str) -> int:
        total = 0
        for letter in word[:80]:
            total = total * source + DIGITS.find(letter)
        return total

    return names, task, (("DIGITS[digit] + out", "out + DIGITS[digit]"), wrong), spell, value


SETTINGS = (
    Setting("A museum has copied old account books, and wants to check their sums."),
    Setting("Two traders keep their books in their own ways, and have to agree on what is owed."),
    Setting("A clerk at the mint adds up the marks that were scratched into the walls of the vault."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    roman, strange, terms = knobs["kind"] == "roman", knobs["strange"], knobs["terms"]
    most = {3: 999, 9: 1999, 18: 3999}[knobs["digits"]] if roman else 10 ** knobs["digits"]
    names, texts, slips, spell, value = (_roman if roman else _base)(rng, strange)
    reference, brute = (fill(part + RUN, **names) for part in ((ROMAN, ROMAN_BRUTE) if roman else (BASE, BASE_BRUTE)))
    mutants = [swap(reference, "input().split()", "input().split()[:2]"), *(swap(reference, *slip) for slip in slips)]
    target = "in the same notation" if roman else f"in base {names['target']}"
    task = (
        " ".join(texts),
        f"Print the sum of the numbers in each line {target}{when(not roman, ', without leading zeros')}.",
    )

    def numbers(text: str) -> list[int]:
        words = text.split(" ")
        values = [value(word) for word in words]
        if any(x < 1 or spell(x) != word for x, word in zip(values, words, strict=True)):
            raise ValueError(f"{text!r:.40} is not made of such numbers")
        return values

    def draw(rng: RngStream, lines: int, most: int) -> str:
        rows = []
        for _ in range(count(rng, lines)):
            top = rng.pick((min(9, most // terms), most // terms))
            rows.append(line(spell(between(rng, 1, top)) for _ in range(between(rng, 1, terms))))
        return page(len(rows), *rows)

    return Problem(
        title="Roman numerals" if roman else "Other bases",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of lines that follow.\n"
            f"Each of the next t lines contains from 1 to {terms} numbers, separated by blanks.",
            prints="t lines, each with one number in the notation that is asked for.",
            input=Input(
                Line("t"),
                Lines("t", "numbers", numbers=numbers),
                "1 <= t <= 20",
                Limit(f"each of the t lines has from 1 to {terms} numbers", lambda numbers: len(numbers) <= terms),
                Limit(
                    f"the numbers are positive, and the sum of a line is at most {power(most)} (in usual notation)",
                    lambda numbers: sum(numbers) <= most,
                ),
            ),
        ),
        reference=reference,
        brute=brute,
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 4, min(most, 3999 if roman else 99)),
        full=lambda rng: draw(rng, 20, most),
        edges=(page(1, spell(1)), page(1, line(map(spell, (4, 4, 1)[:terms])))),
    )


FAMILY = Family(
    "conversions",
    "Add Roman numerals or numbers in other bases.",
    (Knob("kind", ("roman", "base")), Knob("strange", OFF_ON), Knob("terms", (3, 5)), Knob("digits", (3, 9, 18))),
    _make,
)
