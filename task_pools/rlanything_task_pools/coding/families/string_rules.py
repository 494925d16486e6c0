"""A string goes through a list of rules, perhaps very often."""

from collections.abc import Mapping
from dataclasses import dataclass

from rlanything_task_pools.coding.families.base import Family, Knob, Level, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, letters
from rlanything_task_pools.coding.parts import power, several
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

SIZES = (12, 100, 800, 3000)
ROUNDS = (1, 5, 10**9)
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
MODULUS = 1_000_003

STORIES = (
    ("The old cipher machine", "A cipher machine from a flea market still works, and turns a word into another one."),
    (
        "Weaving patterns",
        "A loom weaves row after row. The threads of a row are named by letters, which form a string.",
    ),
    ("Message mill", "A spy sends her messages through a mill that grinds them round by round."),
    ("Copying scribes", "In an old library every scribe copies a line of letters from the one before, with one habit."),
    ("Bead strings", "A craftsman marks beads with letters, threads them on a string, and then changes his mind."),
)


@dataclass(frozen=True)
class _Rule:
    """One rule: in words, as an expression of the string ``s``, again in another way, and done wrong."""

    text: str
    code: str
    other: str
    wrong: str


def _moves(rng: RngStream) -> list[_Rule]:
    """Rules that only move letters or replace each by another: they can be undone."""
    k, shift = 1 + rng.below(5), 1 + rng.below(25)
    return [
        _Rule(
            "Move the first letter to the end." + (f" Do this {k} times." if k > 1 else ""),
            f"s[{k} % len(s):] + s[:{k} % len(s)]",
            f"''.join(s[(i + {k}) % len(s)] for i in range(len(s)))",
            f"s[-({k} % len(s)):] + s[:-({k} % len(s))]",
        ),
        _Rule(
            f"Replace each letter by the one {several(shift, 'place')} later in the alphabet; after z comes a.",
            f"''.join(chr((ord(c) - 97 + {shift}) % 26 + 97) for c in s)",
            f"s.translate({{i: 97 + (i - 97 + {shift}) % 26 for i in range(97, 123)}})",
            f"''.join(chr((ord(c) - 97 + {26 - shift if shift != 13 else 12}) % 26 + 97) for c in s)",
        ),
        _Rule("Reverse the whole string.", "s[::-1]", "''.join(reversed(s))", "s"),
        _Rule(
            "Put the letters at odd positions (first, third, ...) first, then those at even positions.",
            "s[::2] + s[1::2]",
            "''.join(s[i] for i in sorted(range(len(s)), key=lambda i: (i % 2, i)))",
            "s[1::2] + s[::2]",
        ),
        _Rule(
            "Swap the first and second letter, the third and fourth, and so on; a letter left over stays.",
            "''.join(s[i:i + 2][::-1] for i in range(0, len(s), 2))",
            "''.join(s[i ^ 1] if i ^ 1 < len(s) else s[i] for i in range(len(s)))",
            "''.join(s[i:i + 2][::-1] for i in range(0, len(s) - len(s) % 2, 2))",
        ),
        _Rule(
            "Cut the string into two halves, the first one longer by one letter if need be, and swap them.",
            "s[(len(s) + 1) // 2:] + s[:(len(s) + 1) // 2]",
            "''.join(s[(i + (len(s) + 1) // 2) % len(s)] for i in range(len(s)))",
            "s[len(s) // 2:] + s[:len(s) // 2]",
        ),
    ]


def _edits(rng: RngStream) -> list[_Rule]:
    """Rules that add or remove letters."""
    k, letter = 2 + rng.below(3), rng.pick("abc")
    return [
        _Rule(
            "Replace each run of equal neighbouring letters, as long as it can be, by a single one of them.",
            "''.join(k for k, _ in itertools.groupby(s))",
            "''.join(c for i, c in enumerate(s) if i == 0 or s[i - 1] != c)",
            "''.join(dict.fromkeys(s))",
        ),
        _Rule(
            "Replace each run of equal neighbouring letters, as long as it can be, by the letter and the length of the "
            "run, but leave out a length of 1 (aaab becomes a3b).",
            "''.join(k + (str(n) if n > 1 else '') for k, n in ((k, len(list(g))) for k, g in itertools.groupby(s)))",
            "re.sub(r'(.)\\1+', lambda m: m[1] + str(len(m[0])), s)",
            "''.join(k + str(n) for k, n in ((k, len(list(g))) for k, g in itertools.groupby(s)))",
        ),
        _Rule(
            f"Write each letter {letter} twice.",
            f"s.replace('{letter}', '{letter * 2}')",
            f"''.join(c + c if c == '{letter}' else c for c in s)",
            f"s.replace('{letter * 2}', '{letter * 4}')",
        ),
        _Rule(
            f"Remove every {k}{'nd' if k == 2 else 'rd' if k == 3 else 'th'} letter (those whose position is a "
            f"multiple of {k}), unless the string has fewer than {k} letters.",
            f"''.join(c for i, c in enumerate(s, 1) if i % {k})",
            f"''.join(s[i:i + {k - 1}] for i in range(0, len(s), {k}))",
            f"''.join(c for i, c in enumerate(s) if i % {k})",
        ),
    ]


REFERENCE = """
import itertools
import sys


def rules(s):
    @rules@
    return s


def repeat(s, rounds):
    @repeat@
    return s


def main():
    words = sys.stdin.read().split()
    rounds, s = int(words[0]), words[1]
    s = repeat(s, rounds)
    print(@answer@)


main()
"""
# The rules move letters and replace each letter in one way wherever it stands, so the two can be raised to a power
# apart: the moves by repeated squaring, the replacement as a shift.
POWER = """
n = len(s)
moved = [0] * n
digits = []
left = n
while True:
    digits.append(left % 26)
    left //= 26
    if left == 0:
        break
shift = (ord(rules('a' * n)[0]) - 97) % 26
code = [0] * n
place = 1
for _ in digits:
    marks = rules(''.join(chr(97 + i // place % 26) for i in range(n)))
    code = [value + (ord(c) - 97 - shift) % 26 * place for value, c in zip(code, marks)]
    place *= 26
power, result, count = code, list(range(n)), rounds
while count:
    if count % 2:
        result = [result[i] for i in power]
    power = [power[i] for i in power]
    count //= 2
s = ''.join(chr((ord(s[i]) - 97 + shift * rounds) % 26 + 97) for i in result)
"""
LOOP = """
for _ in range(rounds):
    s = rules(s)
"""

BRUTE = """
import re

rounds, s = int(input()), input().strip()
while rounds > 0:
    rounds -= 1
    @rules@
print(@answer@)
"""

ASKS = {
    "string": ("Print the resulting string.", "s", "''.join(list(s))", "s[::-1]"),
    "checksum": (
        "Print the checksum of the resulting string: the sum, over all positions i counted from 1, of i times "
        f"the ASCII code of the character there, modulo {MODULUS}.",
        f"sum(i * ord(c) for i, c in enumerate(s, 1)) % {MODULUS}",
        f"sum((i + 1) * ord(s[i]) for i in range(len(s))) % {MODULUS}",
        f"sum(i * ord(c) for i, c in enumerate(s)) % {MODULUS}",
    ),
    "pairs": (
        "Print how many characters of the resulting string are smaller, by ASCII code, than the character right after "
        "them, and then the last character of that string.",
        "sum(a < b for a, b in zip(s, s[1:])), s[-1]",
        "len([i for i in range(1, len(s)) if ord(s[i - 1]) < ord(s[i])]), s[len(s) - 1]",
        "sum(a <= b for a, b in zip(s, s[1:])), s[-1]",
    ),
}


def make(rng: RngStream, levels: Mapping[str, Level]) -> Problem:
    """Some rules in an order, the number of rounds, and the question about the result."""
    size, rounds, count = int(levels["size"]), int(levels["rounds"]), int(levels["rules"])
    ask = str(levels["ask"])
    title, opening = rng.pick(STORIES)
    moves, edits = _moves(rng), _edits(rng)
    known = moves if rounds > 1 else moves + edits
    rules = [known[i] for i in rng.shuffled(len(known))[:count]]
    rules.sort(key=lambda rule: rule is edits[1])  # after it there are digits, and rules are about letters
    text, answer, other, wrong_answer = ASKS[ask]
    repeat = POWER if rounds > 5 else LOOP

    def solve(*, codes: list[str] | None = None, answer: str = answer, repeat: str = repeat) -> str:
        lines = "\n".join(f"s = {code}" for code in (codes or [rule.code for rule in rules]))
        return fill(REFERENCE, rules=lines, repeat=repeat.strip("\n"), answer=answer)

    codes = [rule.code for rule in rules]
    mutants = [solve(codes=[*codes[:i], rule.wrong, *codes[i + 1 :]]) for i, rule in enumerate(rules)]
    mutants.append(solve(answer=wrong_answer))
    mutants.append(solve(codes=codes[:-1] or ["s"]))
    if rounds > 1:
        mutants.append(solve(repeat="rounds -= 1\n" + repeat.strip("\n")))
        mutants.append(solve(repeat="s = rules(s)"))

    def write(draw: RngStream, n: int, times: int) -> str:
        letters = ALPHABET[: draw.pick((2, 3, 26))]
        word = "".join(draw.pick(letters) for _ in range(n))
        return f"{times}\n{word}\n"

    listed = "\n".join(f"{i}. {rule.text}" for i, rule in enumerate(rules, 1))
    task = (
        f"A round changes a string by {'this rule' if len(rules) == 1 else 'these rules, one after the other'}. "
        f"Letters are counted from 1, from left to right.\n{listed}",
        "A single round is done (r is always 1)."
        if rounds == 1
        else "There are r rounds, each on the string that the round before has left.",
        text,
    )
    return Problem(
        title=title,
        statement=tell(
            rng,
            task,
            [Setting(opening)],
            reads="The first line contains an integer r, the number of rounds.\nThe second line contains the string s.",
            prints={
                "string": "One line with the string.",
                "checksum": "One integer.",
                "pairs": "An integer and a character, separated by a blank.",
            }[ask],
            input=Input(
                Line("r"),
                Line("s", s=letters(ALPHABET)),
                "r = 1" if rounds == 1 else f"1 <= r <= {power(rounds)}",
                Limit(f"s has from 1 to {size} letters, all of them from a to z", lambda s: len(s) <= size),
            ),
        ),
        reference=solve(),
        brute=fill(BRUTE, rules="\n".join(f"s = {rule.other}" for rule in rules), answer=other),
        mutants=tuple(mutants),
        small=lambda draw: write(draw, 1 + draw.below(min(size, 11)), 1 + draw.below(min(rounds, 40))),
        full=lambda draw: write(draw, size - draw.below(size // 3 + 1), rounds - draw.below((rounds + 9) // 10)),
        edges=("1\na\n", "1\nzzzz\n", f"{min(rounds, 7)}\nab\n"),
    )


FAMILY = Family(
    name="string_rules",
    summary="A string goes through a list of rules, perhaps very often.",
    knobs=(Knob("rules", (1, 2, 3, 4)), Knob("ask", tuple(ASKS)), Knob("rounds", ROUNDS), Knob("size", SIZES)),
    make=make,
)
