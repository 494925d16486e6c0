"""Family: games of two players who take stones from piles."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.parts import between, choose, count, either, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

# How a pile may change: both programs call it with the stones of the pile and the number last taken from it, or 0.
OPTIONS = {
    "plain": "{(n - s, 0) for s in @takes@ if s <= n}",
    "halve": "{(n - s, 0) for s in @takes@ if s <= n} | {(n // 2, 0) for _ in range(n > 0 and n % 2 == 0)}",
    "repeat": "{(n - s, s) for s in @takes@ if s <= n and s != last}",
}

REFERENCE = """
import sys
def options(n, last):
    return @options@
games = [list(map(int, row.split())) for row in sys.stdin.read().splitlines()[1:]]
worth = {}
for n in range(max(map(max, games)) + 1):
    for last in @lasts@:
        found = {worth[option] for option in options(n, last)}
        value = 0
        while value in found:
            value += 1
        worth[n, last] = value if found else @end@
for piles in games:
    total = 0
    for n in piles:
        total ^= worth[n, 0]
    @answer@
"""

BRUTE = """
import functools
def options(n, last):
    return @options@
def moves(state):
    for i, pile in enumerate(state):
        for option in options(*pile):
            yield tuple(sorted(state[:i] + (option,) + state[i + 1:]))
@functools.cache
def wins(state):
    nexts = list(moves(state))
    return any(not wins(s) for s in nexts) if nexts else @last_loses@
for _ in range(int(input())):
    state = tuple(sorted((int(x), 0) for x in input().split()))
    @answer@
"""
ASKS = {
    "winner": (
        "Print First if the player who makes the first move can force a win, otherwise Second.",
        'print("First" if total else "Second")',
        'print("First" if wins(state) else "Second")',
    ),
    "moves": (
        "Print the number of first moves after which the player who made them can force a win. Two moves are the same "
        "if they leave the same number of stones in the same pile.",
        "print(sum(total ^ worth[n, 0] ^ worth[option] == 0 for n in piles for option in options(n, 0)))",
        "print(sum(not wins(s) for s in moves(state)))",
    ),
}


SETTINGS = (
    Setting("Two pirates have found a treasure.", {"pile": "heap", "stone": "coin", "player": "pirate"}),
    Setting("In a tavern a game with cards is in fashion.", {"pile": "stack", "stone": "card"}),
    Setting("Two squirrels get ready for the winter.", {"pile": "store", "stone": "nut", "player": "squirrel"}),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    rule, piles, ask = knobs["rule"], knobs["piles"], rng.pick(list(ASKS))
    takes = [s + 1 for s in choose(rng, range(6), between(rng, 2, 4))]
    last_loses = rng.chance(0.5) if piles == 1 else False
    text, answer, brute_answer = ASKS[ask]
    options = fill(OPTIONS[rule], takes=takes).strip()
    lasts = (0, *takes) if rule == "repeat" else (0,)
    reference = fill(REFERENCE, options=options, lasts=lasts, end=int(last_loses), answer=answer)
    slip = ("total ^=", "total +=") if ask == "winner" else ("for n in piles for", "for n in piles[:1] for")
    if piles == 1:
        slip = (f"if found else {int(last_loses)}", f"if found else {int(not last_loses)}")
    mutants = [
        swap(reference, str(takes), str(takes[1:])),
        swap(reference, "if s <= n", "if s < n"),
        swap(reference, "total ^= worth[n, 0]", "total ^= n"),
        swap(reference, *slip),
    ]
    if rule == "halve":
        mutants.append(swap(reference, "n > 0 and n % 2 == 0", "n > 0"))
    elif rule == "repeat":
        mutants.append(swap(reference, " and s != last", ""))
    names = [f"p_{i}" for i in range(1, piles + 1)]
    where = "the pile" if piles == 1 else "one of the piles"
    task = (
        f"Two players play a game with {'a pile' if piles == 1 else f'{piles} piles'} of stones, and move in turns. At "
        f"the start there are {either(names, 'and')} stones in {'it' if piles == 1 else 'them'}. In a move a player "
        f"takes {either(takes)} stones from {where}, which must have so many."
        + when(
            rule == "halve",
            " Instead a player may take half of the stones of a pile, if their number is even and not zero.",
        )
        + when(
            rule == "repeat",
            " It is forbidden to take as many stones from a pile as were taken in the last move on the same pile, "
            "whoever made it; the first move on a pile is free.",
        )
        + f" The player who cannot move {'wins' if last_loses else 'loses'}.",
        text,
    )

    def draw(rng: RngStream, most: int, games: int) -> str:
        games = count(rng, games)
        tops = [rng.pick((min(9, most), most)) for _ in range(games)]
        return page(games, *(line(between(rng, 0, top) for _ in range(piles)) for top in tops))

    return Problem(
        title="A game for two",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of games.\nEach of the next t lines contains "
            + (f"an integer {names[0]}." if piles == 1 else f"{piles} integers {either(names, 'and')}."),
            prints="t lines, one answer for each game in the order of the input.",
            input=Input(
                Line("t"), Lines("t", " ".join(names)), "1 <= t <= 20", f"0 <= {', '.join(names)} <= {knobs['pile']}"
            ),
        ),
        reference=reference,
        brute=fill(BRUTE, options=options, last_loses=last_loses, answer=brute_answer),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, {1: 12, 2: 7, 3: 5}[piles], 5),
        full=lambda rng: draw(rng, knobs["pile"], 20),
        edges=(page(1, line([0] * piles)), page(2, line([1] * piles), line([3] * piles))),
    )


FAMILY = Family(
    "take_away",
    "Games of taking stones from piles.",
    (Knob("pile", (12, 100, 1500)), Knob("piles", (1, 2, 3)), Knob("rule", ("plain", "halve", "repeat"))),
    _make,
)
