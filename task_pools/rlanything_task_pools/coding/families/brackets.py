"""Family: sequences of brackets; where they fail, their longest good part, the cheapest repair."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, letters
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, count, page, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))

# A pair must not stand directly inside another of BANNED; outside of all pairs is "".
HEAD = """
PAIRS = @pairs@
BANNED = @banned@
"""
SCAN = """
def scan(text):
    stack, best = [""], 0
    for i, c in enumerate(text, 1):
        if c in PAIRS and (c, stack[-1]) not in BANNED:
            stack.append(c)
        elif stack[-1] and PAIRS[stack[-1]] == c:
            stack.pop()
        else:
            return i, best
        if len(stack) == 1:
            best = i
    return "GOOD" if len(stack) == 1 else "OPEN", best
"""
# Question: text, the reference's and the brute force's way, and slips in the reference.
QUESTIONS = {
    "check": (
        "For each given sequence print GOOD if it is good, or OPEN if it is not good but the beginning of a good "
        "sequence. Otherwise print the smallest p such that no good sequence begins with its first p characters.",
        SCAN + "\ndef solve(text):\n    return scan(text)[0]\n",
        """
        def solve(text):
            ends = [end for n in range(len(text) + 1) for end in itertools.product(PAIRS.values(), repeat=n)]
            for i in range(1, len(text) + 1):
                if not any(good(text[:i] + "".join(end), "") for end in ends):
                    return i
            return "GOOD" if good(text, "") else "OPEN"
        """,
        (
            ("enumerate(text, 1)", "enumerate(text)"),
            ('if len(stack) == 1 else "OPEN"', 'if len(stack) < 3 else "OPEN"'),
        ),
    ),
    "longest": (
        "For each given sequence print the length of its longest good part. A part is a run of neighbouring "
        "characters; the empty part has the length 0.",
        SCAN + "\ndef solve(text):\n    return max(scan(text[i:])[1] for i in range(len(text)))\n",
        """
        def solve(text):
            n = len(text)
            return max(j - i for i in range(n + 1) for j in range(i, n + 1) if good(text[i:j], ""))
        """,
        (
            ("best = i\n", "best = max(best, 2)\n"),
            ("scan(text[i:])[1] for i in range(len(text))", "scan(text[i:])[1] for i in [0]"),
        ),
    ),
    "repair": (
        "For each given sequence print the smallest number of characters that must be deleted so that the remaining "
        "characters, in their order, form a good sequence.",
        """
        @functools.cache
        def keep(text, outer):
            if not text:
                return 0
            best, c = keep(text[1:], outer), text[0]
            if c in PAIRS and (c, outer) not in BANNED:
                for k in range(1, len(text)):
                    if text[k] == PAIRS[c]:
                        best = max(best, 2 + keep(text[1:k], c) + keep(text[k + 1 :], outer))
            return best
        def solve(text):
            return len(text) - keep(text, "")
        """,
        """
        def solve(text):
            level = {text}
            while not any(good(t, "") for t in level):
                level = {t[:i] + t[i + 1 :] for t in level for i in range(len(t))}
            return len(text) - len(level.pop())
        """,
        (
            (" + keep(text[k + 1 :], outer)", ""),
            ("        if text[k] == PAIRS[c]:", "        if k == text.find(PAIRS[c]):"),
        ),
    ),
}
GOOD = """
import itertools
def good(text, outer):
    if not text:
        return True
    if text[0] not in PAIRS or (text[0], outer) in BANNED:
        return False
    return any(
        text[k] == PAIRS[text[0]] and good(text[1:k], text[0]) and good(text[k + 1 :], outer)
        for k in range(1, len(text), 2)
    )
"""
RUN = """
for _ in range(int(input())):
    print(solve(input().strip()))
"""


SETTINGS = (
    Setting("A text editor marks the mistakes that programmers make with their brackets."),
    Setting(
        "A craftsman threads beads on cords. Each bead is shaped like a bracket, and only some cords can be sold.",
        {"sequence": "cord", "character": "bead"},
    ),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, nesting = knobs["question"], knobs["nesting"]
    size = min(knobs["size"], 8 + knobs["size"] // 8) if ask == "repair" else knobs["size"]
    pairs = choose(rng, PAIRS, knobs["kinds"])
    banned = [(rng.pick(pairs)[0], rng.pick(pairs)[0])] if nesting else []
    text, solve, brute, slips = QUESTIONS[ask]
    head = fill(HEAD, pairs=dict(pairs), banned=banned)
    reference = "import functools\n" * (ask == "repair") + head + fill(solve) + RUN
    mutants = [swap(reference, *slip) for slip in slips[: 1 if ask == "repair" and len(pairs) == 1 else 2]]
    if ask == "repair":
        mutants.append(swap(reference, 'len(text) - keep(text, "")', '(len(text) - keep(text, "")) // 2'))
        mutants.append(swap(reference, "best, c = keep(text[1:], outer)", "best, c = 0"))
    elif len(pairs) > 1:
        mutants.append(swap(reference, "PAIRS[stack[-1]] == c", "c not in PAIRS"))
    elif not nesting:
        mutants.append(swap(reference, "not in BANNED:", "not in BANNED and len(stack) < 3:"))
    if nesting:
        mutants.append(swap(reference, head, fill(HEAD, pairs=dict(pairs), banned=[])))
    listed = " ".join(f"{a} {b}" for a, b in pairs)
    task = (
        f"A sequence of the brackets {listed} is good if it is one of these:\n"
        + bullets(
            "the empty sequence;",
            "a good sequence between an opening bracket and the closing bracket of the same kind, which form a pair;",
            "two good sequences, one after the other.",
        ),
        *(
            f"One thing is forbidden in a good sequence: a pair {a} {dict(pairs)[a]} directly inside of a pair "
            f"{b} {dict(pairs)[b]}, with no other pair between the two."
            for a, b in banned
        ),
        text,
    )

    def good(rng: RngStream, n: int, outer: str) -> str:
        if n < 2:
            return ""
        inside = between(rng, 0, n // 2 - 1) * 2
        kinds = [pair for pair in pairs if (pair[0], outer) not in banned or rng.chance(0.2)]
        if not kinds:
            return ""
        a, b = rng.pick(kinds)
        return a + good(rng, inside, a) + b + good(rng, n - 2 - inside, outer)

    def draw(rng: RngStream, size: int) -> str:
        rows = []
        for _ in range(10):
            row = good(rng, count(rng, size - 3, 1), "")
            for _ in range(rng.pick((0, 1, 2, 3))):
                cut = rng.below(len(row) + 1)
                row = row[:cut] + rng.pick(rng.pick(pairs)) + row[cut + rng.below(2) :]
            rows.append(row or "".join(pairs[0]))
        return page(10, *rows)

    return Problem(
        title="Brackets",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of sequences.\n"
            "Each of the next t lines contains a sequence s, without blanks.",
            prints="t lines, one for each sequence in the order of the input.",
            input=Input(
                Line("t"),
                Lines("t", "s", s=letters("".join(a + b for a, b in pairs))),
                "1 <= t <= 10",
                Limit(f"every s has from 1 to {size} characters, each one of {listed}", lambda s: len(s) <= size),
            ),
        ),
        reference=reference,
        brute=head + GOOD + fill(brute) + RUN,
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 6),
        full=lambda rng: draw(rng, size),
        edges=(page(2, "".join(pairs[0]), pairs[0][1]),),
    )


FAMILY = Family(
    "brackets",
    "Check, cut or repair sequences of brackets.",
    (Knob("size", (8, 40, 160)), Knob("kinds", (1, 2, 3)), Knob("question", tuple(QUESTIONS)), Knob("nesting", OFF_ON)),
    _make,
)
