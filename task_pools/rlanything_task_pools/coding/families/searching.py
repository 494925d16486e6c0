"""Family: something hidden is found by few questions; interactive, the judge answers while the program runs."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Row, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, count, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

# The judge's program. Whatever it reads, it answers or ends with a verdict.
INTERACTOR = """
import json
import sys
head, *rows = json.loads(sys.stdin.readline())["stdin"].split("\\n")
n, q, *more = map(int, head.split())
row = list(map(int, rows[0].split())) if @row@ else []
def end(word, why):
    print(word, why, sep="\\n", file=sys.stderr)
    sys.exit()
print(n, q, flush=True)
asked = 0
while True:
    words = sys.stdin.readline(100).split()
    if len(words) != 2 or words[0] not in ("@ask@", "@tell@") or not (words[1].isascii() and words[1].isdigit()):
        end("WA", "a line that is no question and no answer, or the program ended")
    k = int(words[1])
    if not 1 <= k <= n:
        end("WA", f"{k} is not from 1 to n")
    if words[0] == "@tell@":
        if (row.index(min(row)) + 1 if row else more[0]) == k:
            end("AC", "")
        end("WA", f"{k} is not the answer")
    asked += 1
    if asked > q:
        end("WA", f"more than {q} questions")
    if row:
        print(row[k - 1], flush=True)
    else:
        x, turned = (*more, 0)[:2]
        print("@equal@" if x == k else "@less@" if (x < k) != bool(turned) else "@more@", flush=True)
"""
ASK = """
n, q = map(int, input().split())
def ask(k):
    print("@ask@", k, flush=True)
    return input()
"""
NUMBER = """
turned = False
low, high = 1, n
if @turns@ and n > 1:
    said = ask(1)
    turned = said == "@less@"
    if said == "@equal@":
        high = 1
    else:
        low = 2
while low < high:
    middle = (low + high) // 2
    said = ask(middle)
    if said == "@equal@":
        low = high = middle
    elif (said == "@less@") != turned:
        high = middle - 1
    else:
        low = middle + 1
print("@tell@", low)
"""
NUMBER_BRUTE = """
print("@tell@", next(k for k in range(1, n + 1) if k == n or ask(k) == "@equal@"))
"""
# A row that falls is read from its end; then the smallest value is at the first place that is not above the last one.
ROW = """
def value(i):
    return int(ask(n - i if falls else i + 1))
falls = False
if @turns@ and n > 2:
    a, b, c = value(0), value(1), value(n - 1)
    falls = not (a < b < c or b < c < a or c < a < b)
last = value(n - 1)
low, high = 0, n - 1
while low < high:
    middle = (low + high) // 2
    if value(middle) <= last:
        high = middle
    else:
        low = middle + 1
print("@tell@", n - low if falls else low + 1)
"""
ROW_BRUTE = """
row = [int(ask(k)) for k in range(1, n + 1)]
print("@tell@", row.index(min(row)) + 1)
"""
SETTINGS = {
    "number": (
        Setting("Two children play a game with a secret number."),
        Setting("A leak in a long pipe has to be found, and every measurement costs money.", {"number": "segment"}),
        Setting("A locksmith listens to an old dial.", {"number": "position"}),
    ),
    "row": (
        Setting("The log of a machine was written round and round into the same piece of memory.", {"row": "log"}),
        Setting("Somebody has turned a sorted shelf by a few places; it stands behind a curtain.", {"row": "shelf"}),
        Setting("A carousel of weights was loaded in order, then turned.", {"row": "carousel"}),
    ),
}
SIGNS = ("? !", "ASK TELL", "Q A", "TRY SAY", "QUERY ANSWER", "CHECK FINAL")
WORDS = ("LESS MORE EQUAL", "SMALLER LARGER FOUND", "LOW HIGH HIT")


def _questions(n: int, row: bool, turns: bool, spare: int) -> int:
    """The number of questions that is always enough, and some to spare."""
    return n.bit_length() + spare + (1 if row else 0) + ((3 if row else 1) if turns else 0)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    row, turns, size = knobs["hidden"] == "row", knobs["turns"], knobs["size"]
    spare = {"ample": 6, "tight": 0}[knobs["questions"]]
    less, more, equal = rng.pick(WORDS).split()
    ask, tell_it = rng.pick(SIGNS).split()
    names: dict[str, object] = {"turns": turns, "less": less, "more": more, "equal": equal, "row": row}
    names |= {"ask": ask, "tell": tell_it}
    reference = fill(ASK + (ROW if row else NUMBER), **names)
    brute = fill(ASK + (ROW_BRUTE if row else NUMBER_BRUTE), **names)
    fixed = _questions(0, row, turns, spare)
    enough = f"q is at least {when(fixed > 0, f'{fixed} + ')}b, where b is the number of binary digits of n"
    if row:
        mutants = [
            swap(reference, "last = value(n - 1)", "last = value(0)"),
            swap(reference, "(low + high) // 2", "low"),
            swap(reference, "low = middle + 1", "low = min(high, middle + 2)"),
        ]
    else:
        mutants = [
            swap(reference, "high = middle - 1", "high = max(low, middle - 2)"),
            swap(reference, "middle = (low + high) // 2", "middle = low"),
            swap(reference, "while low < high:", "while low < high - 1:"),
        ]
    if turns:
        mutants.append(swap(reference, f"if {turns} and", "if False and"))

    def draw(rng: RngStream, size: int, slow: bool) -> str:
        n = count(rng, size, 3 if row else 1)
        q = max(_questions(n, row, turns, spare), n if slow else 0)
        if not row:
            x = rng.pick((between(rng, 1, n), between(rng, 1, n), 1, n))
            return page(line([n, q, x] + [int(rng.chance(0.5))] * turns))
        values, value = [], between(rng, 1, 9)
        for _ in range(n):
            values.append(value)
            value += between(rng, 1, 9)
        if turns and rng.chance(0.5):
            values.reverse()
        at = rng.below(n)
        return page(line((n, q)), line(values[at:] + values[:at]))

    def sorted_once(known: dict[str, Any]) -> bool:
        around = list(zip(known["a_i"], known["a_i"][1:] + known["a_i"][:1], strict=True))
        rises, falls = sum(a < b for a, b in around), sum(a > b for a, b in around)
        return bool(rises + falls == len(around) and (falls == 1 or (turns and rises == 1)))

    def enough_questions(n: int, q: int) -> bool:
        return _questions(n, row, turns, spare) <= q

    word = "place of the smallest value" if row else "number"
    number = (
        "The judge has a secret number x from 1 to n. You may ask whether x is k, for any k from 1 to n. The answer is "
        f"{equal} if x = k, {less} if x < k and {more} if x > k.",
        when(turns, f"But the judge may have decided before the first question to swap the words {less} and {more} in "
                    "every answer. You are not told whether it has."),
        "Find x with at most q questions.",
    )  # fmt: skip
    hidden = (
        "The judge has a secret row of n different numbers. It was sorted in "
        f"{'increasing or in decreasing order; you are not told which' if turns else 'increasing order'}. Then some "
        "numbers from its beginning, perhaps none, were moved to its end without changing their order. You may ask for "
        "the value at any place k from 1 to n.",
        "Find the place of the smallest value with at most q questions.",
    )
    return Problem(
        title="The turned row" if row else "A secret number",
        statement=tell(
            rng,
            hidden if row else number,
            SETTINGS[knobs["hidden"]],
            reads="This is an interactive problem. Your program first reads a line with two integers n and q. After "
            "each question it reads a line with the answer. The samples also show what only the judge knows: "
            + ("a line with n and q, then the values a_i in the order of their places." if row
               else f"n, q, x{when(turns, ', and s, which is 1 if the words are swapped and else 0')}."),
            prints=f"To ask, print a line with {ask} and k, such as {ask} 3, and flush the output. At the end print a "
            f"line with {tell_it} and the {word}, such as {tell_it} 3; this is no question. A line of another form, or "
            "one question too many, is a wrong answer.",
            input=Input(
                Line("n q" if row else f"n q x{when(turns, ' s')}"),
                *([Row("a_i", "n")] if row else []),
                f"{3 if row else 1} <= n <= {size}",
                Limit(f"{enough}; q <= 10^5", lambda n, q: enough_questions(n, q) and q <= 10**5),
                *(["1 <= a_i <= 10^5", Whole("the a_i are a sorted row that was turned", sorted_once)] if row
                  else ["1 <= x <= n", *["0 <= s <= 1"] * turns]),
            ),
        ),
        reference=reference,
        brute=brute,
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(size, 24), True),
        full=lambda rng: draw(rng, size, False),
        checker={"kind": "interactor", "source": fill(INTERACTOR, **names)},
    )  # fmt: skip


FAMILY = Family(
    "searching",
    "Interactive: a secret number or the smallest value of a turned row is found with few questions.",
    (
        Knob("size", (30, 500, 8000)),
        Knob("hidden", ("number", "row")),
        Knob("turns", OFF_ON),
        Knob("questions", ("ample", "tight")),
    ),
    _make,
)
