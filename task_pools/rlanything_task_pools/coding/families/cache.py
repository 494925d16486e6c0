"""Family: a cache that drops entries by a rule when it is full, or when they are old."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, dispatch, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Which entry is dropped: text, and what is least for it, in the reference and in the brute force.
POLICIES = {
    "first": (
        "whose key has been in the cache longest (a put that only changes a value does not count as coming in)",
        "entries[k][1]",
        "e['born']",
    ),
    "unused": ("that was used least recently", "entries[k][2]", "e['uses'][-1]"),
    "rarest": (
        "with the fewest uses; among several with the fewest, the one that was used least recently",
        "(entries[k][3], entries[k][2])",
        "(len(e['uses']), e['uses'][-1])",
    ),
}
# Per further command: arguments, text, and code.
COMMANDS = {
    "del": (
        " k",
        "remove the entry with key k, if there is one",
        "entries.pop(args[0], None)",
        "cache = [e for e in cache if e['key'] != k]",
    ),
    "size": ("", "print the number of entries in the cache", "print(len(entries))", "print(sum(1 for e in cache))"),
    "keys": (
        "",
        "print the keys in the cache in increasing order on one line, or EMPTY if there are none",
        "print(*(sorted(entries) or ['EMPTY']))",
        "print(' '.join(map(str, sorted(e['key'] for e in cache))) if cache else 'EMPTY')",
    ),
}

REFERENCE = """
import sys
lines = sys.stdin.read().splitlines()
room, n = map(int, lines[0].split())
entries = {}
for now in range(1, n + 1):
    op, *args = lines[now].split()
    args = [int(x) for x in args]
    for k in [k for k in entries if entries[k][4] + @life@ < now]:
        del entries[k]
    if op == "get":
        print(entries[args[0]][0] if args[0] in entries else -1)
        if args[0] in entries:
            entries[args[0]][2] = now
            entries[args[0]][3] += 1
    elif op == "put":
        if args[0] in entries:
            value, born, used, uses, put = entries[args[0]]
            entries[args[0]] = [args[1], born, now, uses + 1, now]
        else:
            if len(entries) == room:
                del entries[min(entries, key=lambda k: @least@)]
            entries[args[0]] = [args[1], now, now, 1, now]
    @others@
"""

BRUTE = """
room, n = map(int, input().split())
cache = []
for now in range(1, n + 1):
    op, *rest = input().split()
    k, v = (list(map(int, rest)) + [0, 0])[:2]
    cache = [e for e in cache if now - e["put"] <= @life@]
    found = [e for e in cache if e["key"] == k]
    if op in ("get", "put"):
        for e in found:
            e["uses"].append(now)
    if op == "get":
        print(found[0]["value"] if found else -1)
    if op == "put" and found:
        found[0].update(value=v, put=now)
    if op == "put" and not found:
        if len(cache) >= room:
            cache.sort(key=lambda e: @least@)
            cache.pop(0)
        cache.append({"key": k, "value": v, "born": now, "put": now, "uses": [now]})
    @others@
"""


SETTINGS = (
    Setting("A web server keeps the answers that it gives most often in its memory."),
    Setting("An archivist does not like to walk. She keeps what readers ask for in a small cupboard, her cache."),
    Setting("The ground station of a probe remembers the last measurements, so that it asks the probe less often."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    policy, ages, size = knobs["policy"], knobs["ages"], knobs["size"]
    life = between(rng, 6, 15) if ages else 10**9
    others = choose(rng, list(COMMANDS), knobs["commands"])

    def program(template: str, column: int) -> str:
        code = dispatch({op: COMMANDS[op][column] for op in others})
        return fill(template, life=life, least=POLICIES[policy][column - 1], others=code)

    reference = program(REFERENCE, 2)
    other = {"first": "unused", "unused": "first", "rarest": "unused"}[policy]
    mutants = [
        swap(reference, POLICIES[policy][1], POLICIES[other][1]),
        swap(reference, "len(entries) == room", "len(entries) > room"),
        *([swap(reference, ", entries[k][2])", ",)")] if policy == "rarest" else []),
        swap(reference, "now, uses + 1, now]", "now, 1, now]") if policy == "rarest" else
        swap(reference, "[args[1], born, now", "[args[1], now, used"),
    ]  # fmt: skip
    if policy != "first":  # a get is no use
        mutants.append(swap(reference, "[2] = now", "[2] += 0", *("[3] += 1", "[3] += 0") * (policy == "rarest")))
    if ages:
        mutants.append(swap(reference, f"+ {life} < now", f"+ {life} <= now"))
        mutants.append(swap(reference, "uses + 1, now]", "uses + 1, put]"))
    task = (
        "A cache has room for c entries. An entry is a key with a value, and no two entries have the same key. At the "
        "start the cache is empty. Then n commands are executed, the first at time 1, the second at time 2 and so on:\n"
        + bullets(
            "put k v: if the cache has an entry with key k, the value of that entry becomes v. Otherwise an entry with "
            "key k and value v is added; if the cache is full, another entry is dropped first.",
            "get k: print the value of the entry with key k, or -1 if there is none.",
            *(f"{op}{COMMANDS[op][0]}: {COMMANDS[op][1]}." for op in others),
        ),
        f"The entry that is dropped from a full cache is the one {POLICIES[policy][0]}."
        + when(
            policy != "first",
            " Every put of a key, the one that adds its entry included, and every get that finds the key is a use of "
            "the entry. An entry that was dropped or removed and is added again starts with this one use.",
        ),
        when(
            ages,
            f"Entries expire: an entry whose last put was at time t leaves the cache just before the command at time "
            f"t + {life + 1}.",
        ),
    )

    def draw(rng: RngStream, n: int) -> str:
        n = between(rng, max(4, n // 2), n)
        room = between(rng, 2, 3 if n < 30 else rng.pick((3, 6)))
        weights = {"put": 5.0, "get": 5.0} | dict.fromkeys(others, 1.0)
        rows = []
        for i in range(n):
            op, key = rng.weighted(weights) if i < n - 1 else "get", between(rng, 1, room + rng.pick((1, 2)))
            rows.append(line([op, *{"put": (key, between(rng, 1, 99)), "get": (key,), "del": (key,)}.get(op, ())]))
        return page(f"{room} {n}", *rows)

    return Problem(
        title="A cache",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains two integers c and n: the room of the cache and the number of commands.\n"
            "Each of the next n lines contains a command as written above.",
            prints="One line for each command that prints something, in the order of the commands.",
            input=Input(
                Line("c n"),
                Lines("n", {"put": "k v", "get": "k"} | {op: COMMANDS[op][0] for op in others}),
                "1 <= c <= 6",
                f"1 <= n <= {size}",
                "1 <= k <= 9",
                "1 <= v <= 99",
                Whole("the last command is a get", lambda v: v["op"][-1] == "get"),
            ),
        ),
        reference=reference,
        brute=program(BRUTE, 3),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 20),
        full=lambda rng: draw(rng, size),
        edges=(page("1 1", "get 5"), page("1 4", "put 1 7", "put 2 8", "get 1", "get 2")),
    )


FAMILY = Family(
    "cache",
    "Simulate a cache with a rule for what to drop.",
    (
        Knob("size", (40, 120, 400)),
        Knob("policy", ("first", "unused", "rarest")),
        Knob("commands", (1, 2, 3)),
        Knob("ages", OFF_ON),
    ),
    _make,
)
