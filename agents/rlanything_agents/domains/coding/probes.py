"""Tasks in which each way to judge a program occurs, for audits of the judge itself; careless, as people write them."""

from __future__ import annotations

from functools import cache
from typing import Any

from rlanything_task_pools import Task
from rlanything_task_pools.coding import make_task, read_payload

__all__ = ["probes"]

_SUM = "print(sum(map(int, input().split())))"
_SUMS = [{"stdin": f"{a} {b}\n", "stdout": f"{a + b}\n"} for a, b in ((2, 3), (100, 250))]
_DOUBLE = "def double(values):\n    return [2 * value for value in values]\n"

_CARELESS = """\
import json, sys
given = json.load(sys.stdin)
print("AC" if int(given["actual"]) == int(given["expected"]) else "WA")
"""

_CARELESS_TALK = """\
import json, sys
secret = int(json.loads(input())["stdin"])
for _ in range(12):
    guess = int(input())
    if guess == secret:
        print("found", flush=True)
        print("AC", file=sys.stderr)
        break
    print("higher" if guess < secret else "lower", flush=True)
else:
    print("WA", file=sys.stderr)
"""

_SEARCH = """\
low, high = 0, 1000
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    said = input()
    if said == "found":
        break
    low, high = (guess + 1, high) if said == "higher" else (low, guess - 1)
"""


def _problem(kind: str, statement: str, hidden: list[dict[str, str]], proof: str, **more: Any) -> Task:
    limits = {"cpu": 0.2, "memory": 512 * 2**20}
    payload = {"statement": statement, "public": hidden[:1], "hidden": hidden, "limits": limits, **more}
    return make_task(read_payload(payload), (proof,), {"kind": kind})


@cache
def probes() -> tuple[Task, ...]:
    """The tasks; the first test of each is its sample as well."""
    calls = [{"stdin": f"[{values}]", "stdout": f"{[2 * value for value in values]}"} for values in ([1, 2], [5])]
    asserts = [
        {"stdin": f"assert candidate({values}) == {[2 * value for value in values]}", "stdout": ""}
        for values in ([1, 2], [-3, 0])
    ]
    talks = [{"stdin": f"{secret}\n", "stdout": "> 500\n< found\n"} for secret in (500, 3)]
    both = ["python", "cpp"]
    return (
        _problem("program", "Print the sum of two numbers.", _SUMS, _SUM, languages=both),
        _problem("function", "Double each of the values.", calls, _DOUBLE, entry_point="double"),
        _problem("asserts", "Double all values.", asserts, _DOUBLE, entry_point="double", checker={"kind": "asserts"}),
        _problem("python", "Add two numbers.", _SUMS, _SUM, checker={"kind": "python", "source": _CARELESS}),
        _problem(
            "interactor",
            "Guess a number from 0 to 1000: print a guess; the answer is higher, lower or found.",
            talks,
            _SEARCH,
            checker={"kind": "interactor", "source": _CARELESS_TALK},
        ),
    )
