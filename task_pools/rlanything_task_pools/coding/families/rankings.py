"""Family for beginners: select and sort the results of a contest by several keys."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Limit, Line, Lines, Whole, letters, one_of
from rlanything_task_pools.coding.parts import OFF_ON, between, count, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Keys that sort: text, the reference's part of a sort key, and the brute force's test that p comes before r (below 0).
KEYS = (
    ("more points come first", "-r.points", "r.points - p.points"),
    ("fewer points come first", "r.points", "p.points - r.points"),
    ("a shorter time comes first", "r.time", "p.time - r.time"),
    ("a longer time comes first", "-r.time", "r.time - p.time"),
    ("teams come in alphabetical order", "r.team", "(p.team > r.team) - (p.team < r.team)"),
    ("shorter names come first", "len(r.name)", "len(p.name) - len(r.name)"),
)
FILTERS = (
    ("at least @k@ points", "r.points >= @k@", (">=", ">")),
    ("less than @k@ points", "r.points < @k@", ("<", "<=")),
    ("a time of at most @k@", "r.time <= @k@", ("<=", "<")),
    ("a name that contains the letter @c@", "'@c@' in r.name", ("in r.name", "in r.name[:1]")),
)
# The output: text, format, the reference's and the brute force's way, a slip in the reference.
QUESTIONS = {
    "order": (
        "Print the names in this order, or NOBODY if no result is left.",
        "One line with the names, separated by blanks.",
        'print(*([r.name for r in rows] or ["NOBODY"]))',
        'print(" ".join(r.name for r in rows) or "NOBODY")',
        ("[r.name for r in rows]", "[r.name for r in rows[::-1]]"),
    ),
    "first": (
        "Print the names of the first @n@ results in this order (or all), or NOBODY if no result is left.",
        "One line with the names, separated by blanks.",
        'print(*([r.name for r in rows[:@n@]] or ["NOBODY"]))',
        'print(" ".join(r.name for i, r in enumerate(rows) if i < @n@) or "NOBODY")',
        ("rows[:@n@]", "rows[-@n@:]"),
    ),
    "place": (
        "Print the place and the name of each of these results, in this order. The place is one more than the number "
        "of results that come before it by the rules other than the one for names, so that results that differ only "
        "by name share a place.",
        "One line for each result, with the place and the name, separated by a blank.",
        """
        places = {}
        for i, r in enumerate(rows, 1):
            places.setdefault(key(r)[:-1], i)
        for r in rows:
            print(places[key(r)[:-1]], r.name)
        """,
        """
        for r in rows:
            print(1 + sum(before(p, r, False) < 0 for p in rows), r.name)
        """,
        ("key(r)[:-1], i)", "key(r)[:-1], len(places) + 1)"),
    ),
}

READ = """
import collections
Row = collections.namedtuple("Row", "name team points time")
rows = []
for _ in range(int(input())):
    name, team, points, time = input().split()
    rows.append(Row(name, team, int(points), int(time)))
"""
REFERENCE = """
def key(r):
    return (@keys@)
rows = sorted((r for r in rows if @test@), key=key)
"""
BRUTE = """
def before(p, r, named=True):
    for difference in (@keys@, named * ((p.name > r.name) - (p.name < r.name))):
        if difference:
            return difference
    return 0
rest, rows = [r for r in rows if @test@], []
while rest:
    first = rest[0]
    for r in rest:
        if before(r, first) < 0:
            first = r
    rest.remove(first)
    rows.append(first)
"""


SETTINGS = (
    Setting("The town of Lindau holds its yearly chess tournament in the old gym.", {"contest": "tournament"}),
    Setting("Three clubs meet for a bicycle race across the hills.", {"contest": "race", "player": "rider"}),
    Setting("A quiz show has been on air for years.", {"contest": "quiz", "player": "candidate"}),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    size, ask, selects = knobs["size"], knobs["question"], knobs["selects"]
    values = {"k": between(rng, 3, 6), "c": rng.pick("aeiou"), "n": between(rng, 2, 4)}
    pool = [KEYS[2 * i + rng.below(2)] for i in rng.shuffled(3)]
    keys = pool[: knobs["keys"]]
    what, test, slip = rng.pick(FILTERS)
    text, form, show, brute, wrong = QUESTIONS[ask]
    sort = ", ".join((*(code for _, code, _ in keys), "r.name"))
    fewer = ", ".join((*(code for _, code, _ in keys[:-1]), "r.name"))
    names: dict[str, object] = values | {"keys": sort, "test": fill(test, **values).strip() if selects else "True"}
    reference = fill(READ + REFERENCE + fill(show), **names)
    mutants = [
        swap(reference, *(fill(part, **values).strip() for part in wrong)),
        swap(reference, f"({sort})", f"({sort[:-6]}rows.index(r),)"),
        swap(reference, f"({sort})", f"({fewer},)"),
    ]
    if selects:
        mutants.append(swap(reference, *(fill(part, **values).strip() for part in slip)))
    orders = [text for text, _, _ in keys]
    what = fill(what, **values).strip()
    task = (
        "There are n results of a contest. Each has the name of a player, the player's team, points and a time.",
        (f"Take only the results with {what}, and sort" if selects else "Sort")
        + " them like this:\n"
        + bullets(
            f"{orders[0]};",
            *(f"if that is equal, {order};" for order in orders[1:]),
            "if everything so far is equal, names come in alphabetical order.",
        ),
        fill(text, **values).strip(),
    )

    def draw(rng: RngStream, size: int) -> str:
        n, people = count(rng, size, 2), dict[str, None]()
        while len(people) < n:
            people["".join(rng.pick("bdklmnrst") + rng.pick("aeiou") for _ in range(between(rng, 1, 3)))] = None
        teams, lines, points, time = ("red", "blue", "green"), [], 5, 5
        for name in people:
            if rng.chance(0.6):
                points = rng.below(10)
            if rng.chance(0.6):
                time = between(rng, 1, 9)
            lines.append(line((name, rng.pick(teams), points, time)))
        return page(n, *lines)

    return Problem(
        title="Results of a contest",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer n, the number of results.\n"
            "Each of the next n lines contains a name, a team, the points and the time, separated by blanks.",
            prints=form + when(ask == "place" and selects, " If no result is left, the output is empty."),
            input=Input(
                Line("n"),
                Lines(
                    "n",
                    "name team points time",
                    name=letters("abcdefghijklmnopqrstuvwxyz"),
                    team=one_of("red", "blue", "green"),
                ),
                f"1 <= n <= {size}",
                Limit("every name has from 2 to 6 lower case letters", lambda name: 2 <= len(name) <= 6),
                Whole("all names differ", lambda v: len(set(v["name"])) == len(v["name"])),
                Limit("every team is red, blue or green", lambda team: True),
                "0 <= points <= 9",
                "1 <= time <= 9",
            ),
        ),
        reference=reference,
        brute=fill(READ + BRUTE + fill(brute), **names | {"keys": ", ".join(code for _, _, code in keys)}),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 6),
        full=lambda rng: draw(rng, size),
        edges=(page(1, f"zyx red {9 * ('less' in what)} 9"), page(2, "ben red 4 4", "ada red 4 4")),
    )


FAMILY = Family(
    "rankings",
    "Select and sort the results of a contest.",
    (
        Knob("size", (8, 40, 200)),
        Knob("keys", (1, 2, 3)),
        Knob("question", ("order", "first", "place")),
        Knob("selects", OFF_ON),
    ),
    _make,
)
