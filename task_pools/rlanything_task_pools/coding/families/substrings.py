"""Family: the different substrings of a text that occur often enough: how many, the longest, one by its rank."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, letters
from rlanything_task_pools.coding.parts import OFF_ON, between, count, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import sys
head, text = sys.stdin.read().split("\\n")[:2]
numbers = list(map(int, head.split()))
n = numbers[0]
M = numbers[1] if @short@ else n
"""
# The suffixes in order, by doubling; the common beginnings of neighbours (lcp); and of each suffix the lengths of the
# substrings that stand in it for the first time and occur K times: above lcp[i], up to top[i].
REFERENCE = """
K = @times@
rank = {word: i for i, word in enumerate(sorted({text[i:i + 32] for i in range(n)}))}
rank = [rank[text[i:i + 32]] for i in range(n)]
width = 32
while True:
    keys = [rank[i] * (n + 1) + (rank[i + width] + 1 if i + width < n else 0) for i in range(n)]
    order = sorted(range(n), key=keys.__getitem__)
    place = 0
    for before, i in zip([order[0]] + order, order):
        place += keys[before] != keys[i]
        rank[i] = place
    if place == n - 1:
        break
    width *= 2
lcp, same = [0] * (n + 1), 0
for i in range(n):
    if rank[i]:
        j = order[rank[i] - 1]
        while i + same < n and j + same < n and text[i + same] == text[j + same]:
            same += 1
        lcp[rank[i]] = same
        same = max(0, same - 1)
    else:
        same = 0
top = []
for i in range(n):
    often = min(lcp[i + 1:i + K], default=n - order[i]) if i + K <= n else 0
    top.append(min(M, often))
@answer@
"""
BRUTE = """
K = @times@
found = {}
for i in range(n):
    for j in range(i + 1, min(n, i + M) + 1):
        found[text[i:j]] = found.get(text[i:j], 0) + 1
words = sorted(word for word in found if found[word] >= K)
@answer@
"""
# Question: text, format of the answer, the reference's and the brute force's way.
QUESTIONS = {
    "count": (
        "Find the number of frequent substrings.",
        "One integer.",
        "print(sum(max(0, top[i] - lcp[i]) for i in range(n)))",
        "print(len(words))",
    ),
    "longest": (
        "Find the length of the longest frequent substring and the number of different frequent substrings of this "
        "length.",
        "Two integers: the length and the number, both 0 if there is no frequent substring.",
        """
        longest = max([top[i] for i in range(n) if top[i] > lcp[i]], default=0)
        print(longest, sum(top[i] == longest > lcp[i] for i in range(n)))
        """,
        """
        longest = max(map(len, words), default=0)
        print(longest, sum(len(word) == longest for word in words))
        """,
    ),
    "rank": (
        "All frequent substrings are sorted as in a dictionary: a substring stands before every longer one that begins "
        "with it. Find substring number r of this list.",
        "The substring, or NONE in capital letters if the list is shorter.",
        """
        left = numbers[-1]
        for i in range(n):
            new = max(0, top[i] - lcp[i])
            if left <= new:
                print(text[order[i]:order[i] + lcp[i] + left])
                break
            left -= new
        else:
            print("NONE")
        """,
        'print(words[numbers[-1] - 1] if numbers[-1] <= len(words) else "NONE")',
    ),
}
SETTINGS = (
    Setting("A biologist has read a strand letter by letter and looks for what is repeated in it."),
    Setting("An old inscription has no blanks between its words; a scholar lists what could be a word."),
    Setting("A program that packs files has to know which pieces of a file come again."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, short, size = knobs["question"], knobs["short"], knobs["size"]
    times = knobs["times"] + (ask == "longest")
    text, form, answer, brute = QUESTIONS[ask]
    alphabet = rng.pick(("ab", "abc", "acgt", "01", "xyz"))
    reference = fill(READ + REFERENCE, short=short, times=times, answer=fill(answer).rstrip())
    mutants = [
        swap(reference, f"K = {times}\n", f"K = {times + 1}\n"),
        swap(reference, "top.append(min(M, often))", "top.append(min(M, often) - 1)"),
        swap(reference, "range(n):\n    often", "range(n):\n    lcp[i] = 0\n    often")
        if ask != "longest"
        else swap(reference, "lcp[rank[i]] = same", "lcp[rank[i]] = min(same, 2)"),
    ]
    if times > 1:  # occurrences that overlap are counted once
        mutants.append(
            swap(
                fill(READ + BRUTE, short=short, times=times, answer=fill(brute).rstrip()),
                "if found[word] >= K",
                "if text.count(word) >= K",
                "min(n, i + M)",
                "min(n, i + min(M, 40))",
            )
        )
    if short:
        mutants.append(swap(reference, "min(M, often)", "often"))
    ranked = ask == "rank"

    def draw(rng: RngStream, size: int) -> str:
        n = count(rng, size)
        word = "".join(rng.pick(alphabet) for _ in range(between(rng, 1, max(1, min(n, 40)))))
        pieces: list[str] = []
        while sum(map(len, pieces)) < n:
            begin = rng.below(len(word))
            fresh = "".join(rng.pick(alphabet) for _ in range(between(rng, 1, 6)))
            pieces.append(word[begin:] if rng.chance(0.6) else fresh)
        head = [n]
        if short:
            head.append(between(rng, 1, rng.pick((3, max(3, min(n, 12)), max(3, n)))))
        if ranked:
            head.append(between(rng, 1, rng.pick((3, max(3, n // 2), n * n // (2 * times)))))
        return page(line(head), "".join(pieces)[:n])

    names = line(["n"] + ["M"] * short + ["r"] * ranked)
    reads = {"n": "n, the length of the text", "M": "M", "r": "r"}
    return Problem(
        title={"count": "Frequent pieces", "longest": "The longest that comes again", "rank": "A list of pieces"}[ask],
        statement=tell(
            rng,
            (
                "A substring of a text is a run of one or more of its letters. Substrings that read the same are the "
                "same substring, wherever they stand.",
                f"A substring is called frequent if it occurs at least {'once' if times == 1 else f'{times} times'} in "
                f"the text{when(short, ' and has at most M letters')}. Occurrences may overlap.",
                text,
            ),
            SETTINGS,
            reads=f"The first line contains {when(short or ranked, 'integers: ')}"
            f"{', then '.join(reads[name] for name in names.split())}.\nThe second line contains the text s.",
            prints=form,
            input=Input(
                Line(names),
                Lines(1, "s", s=letters(alphabet)),
                f"1 <= n <= {size}",
                *(["1 <= M <= 10^5"] if short else []),
                *(["1 <= r <= 10^9"] if ranked else []),
                Limit(f"s has n letters, each of them one of {alphabet}", lambda s, n: len(s) == n),
            ),
        ),
        reference=reference,
        brute=fill(READ + BRUTE, short=short, times=times, answer=fill(brute).rstrip()),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, min(size, 14)),
        full=lambda rng: draw(rng, size),
        edges=(page(line([8] + [5] * short + [4] * ranked), alphabet[0] * 8),),
    )


FAMILY = Family(
    "substrings",
    "Different substrings by how often they occur, with a suffix array: their number, the longest, one by rank.",
    (
        Knob("size", (40, 1000, 20000)),
        Knob("question", tuple(QUESTIONS)),
        Knob("times", (1, 2, 4)),
        Knob("short", OFF_ON),
    ),
    _make,
)
