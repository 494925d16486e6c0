"""Family: count the numbers of a range whose digits obey rules."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.parts import between, line, page, swap
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

MODULUS = 1_000_000_007

# Rules on the decimal digits, of which those of a group exclude each other. They read the digits from the left, with a
# state s (0 at the start) and the next digit d: text, the next state (-1 for never), whether an end state is good, the
# brute force's test of a number x with the digits t, and a slip in the reference.
RULES = (
    ((
        "the digit sum leaves the remainder @r@ when divided by @m@",
        "(s + d) % @m@", "s == @r@", "sum(map(int, t)) % @m@ == @r@", ("s == @r@", "s == (@r@ + 1) % @m@"),
    ),),
    ((
        "the number leaves the remainder @r@ when divided by @m1@",
        "(10 * s + d) % @m1@", "s == @r@", "x % @m1@ == @r@", ("s == @r@", "s == (@r@ + 1) % @m1@"),
    ),),
    ((
        "no two neighbouring digits are equal",
        "-1 if s == d + 1 else d + 1", "True", "all(a != b for a, b in zip(t, t[1:]))", ("s == d + 1", "s == d"),
    ), (
        "neighbouring digits differ by at most @k@",
        "-1 if s and abs(s - 1 - d) > @k@ else d + 1", "True",
        "all(abs(int(a) - int(b)) <= @k@ for a, b in zip(t, t[1:]))", ("> @k@", ">= @k@"),
    ), (
        "no digit is smaller than the one before it",
        "-1 if d < s else d", "True", "list(t) == sorted(t)", ("d < s", "d <= s"),
    )),
    ((
        "the digit @c@ occurs exactly @times@",
        "-1 if s == @n@ and d == @c@ else s + (d == @c@)", "s == @n@", "t.count('@c@') == @n@",
        ("s == @n@", "s <= @n@"),
    ), (
        "the digit @c@ does not occur",
        "-1 if d == @c@ else 0", "True", "'@c@' not in t", ("d == @c@", "d == @c@ - 1"),
    )),
)  # fmt: skip

REFERENCE = """
RULES = [
    @rules@
]
def upto(limit):
    text = str(limit)
    if limit < 1:
        return 0
    found, edge, states = 0, (0,) * len(RULES), {}
    for i, c in enumerate(text):
        fresh = {}
        def put(state, d, ways):
            new = tuple(rule(s, d) for rule, s in zip(RULES, state))
            if -1 not in new:
                fresh[new] = fresh.get(new, 0) + ways
        for state, ways in states.items():
            for d in range(10):
                put(state, d, ways)
        if i:
            for d in range(1, 10):
                put((0,) * len(RULES), d, 1)
        if edge:
            for d in range(i == 0, int(c)):
                put(edge, d, 1)
            edge = tuple(rule(s, int(c)) for rule, s in zip(RULES, edge))
            edge = () if -1 in edge else edge
        states = fresh
    if edge:
        states[edge] = states.get(edge, 0) + 1
    return sum(ways for (@names@,), ways in states.items() if @good@)
for _ in range(int(input())):
    low, high = map(int, input().split())
    print((upto(high) - upto(low - 1)) % @modulus@)
"""
BRUTE = """
for _ in range(int(input())):
    low, high = map(int, input().split())
    found = 0
    for x in range(low, high + 1):
        t = str(x)
        found += @test@
    print(found % @modulus@)
"""


SETTINGS = (
    Setting("A printer of lottery tickets leaves out numbers that customers do not like."),
    Setting("A telephone company sells numbers that are easy to remember for a higher price."),
    Setting("An odometer rings a small bell whenever it shows a number that its maker found pretty."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    digits, n = knobs["digits"], knobs["rules"]
    m = between(rng, 2, 7)
    values: dict[str, object] = {
        "m": m,
        "m1": m + 1,
        "r": rng.below(m),
        "k": between(rng, 1, 4),
        "c": between(rng, 1, 9),
        "n": between(rng, 1, 2),
    }
    values["times"] = "once" if values["n"] == 1 else "twice"
    picked = [rng.pick(RULES[i]) for i in rng.shuffled(len(RULES))][:n]
    rules = [[fill(part, **values).strip() for part in (*rule[:4], *rule[4])] for rule in picked]

    def program(codes: list[str], goods: list[str]) -> str:
        return fill(
            REFERENCE,
            rules="\n".join(f"lambda s, d: {code}," for code in codes),
            names=", ".join(f"s{i}" for i in range(n)),
            good=" and ".join(good.replace("s ", f"s{i} ") for i, good in enumerate(goods)),
            modulus=MODULUS,
        )

    codes, goods = [rule[1] for rule in rules], [rule[2] for rule in rules]
    reference = program(codes, goods)
    slips = []
    for i, (_, code, good, _, old, new) in enumerate(rules):
        slip = [*codes[:i], code.replace(old, new), *codes[i + 1 :]]
        slips.append(program(slip, [*goods[:i], good.replace(old, new) if code == slip[i] else good, *goods[i + 1 :]]))
    obeys = "obeys this rule" if n == 1 else "obeys all of these rules"
    task = (
        f"Count the integers x with L <= x <= R whose decimal notation, without leading zeros, {obeys}:\n"
        + bullets(*(f"{rule[0]}." for rule in rules)),
        f"There are t such questions. As the answers may be large, print them modulo {MODULUS}.",
    )

    def draw(rng: RngStream, digits: int, wide: bool) -> str:
        ends = [between(rng, 1, 10 ** (digits if wide else between(rng, 1, digits))) for _ in range(4)]
        return page(4, *(line((between(rng, 1, high) if rng.chance(0.6) else 1, high)) for high in ends))

    return Problem(
        title="Numbers with good digits",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer t, the number of questions.\n"
            "Each of the next t lines contains two integers L and R.",
            prints="t lines, one integer for each question in the order of the input.",
            input=Input(Line("t"), Lines("t", "L R"), "1 <= t <= 4", f"1 <= L <= R <= 10^{digits}"),
        ),
        reference=reference,
        brute=fill(BRUTE, test=" and ".join(f"({rule[3]})" for rule in rules), modulus=MODULUS),
        mutants=(
            *slips,
            swap(reference, "for d in range(1, 10)", "for d in range(10)"),
            swap(reference, "range(i == 0, int(c))", "range(i == 0, int(c) + 1)"),
        ),
        small=lambda rng: draw(rng, 3, False),
        full=lambda rng: draw(rng, digits, rng.chance(0.7)),
        edges=(page(1, "1 1"), page(2, "1 9", "10 11"), page(1, "1 1000")),
    )


FAMILY = Family(
    "digit_counts",
    "Count the numbers of a range whose digits obey rules.",
    (Knob("digits", (3, 9, 18, 30)), Knob("rules", (1, 2, 3))),
    _make,
)
