"""Family: run programs of a small stack machine."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines
from rlanything_task_pools.coding.parts import between, count, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Per instruction: what it takes and puts back (bottom to top), and the same as Python of the reference, which has the
# taken values in t, and of the brute force, which has the stack top first.
INSTRUCTIONS = {
    "sub": (2, 1, "takes b, then a, and puts back a - b", "[t[0] - t[1]]", "b, a", "[a - b]"),
    "add": (2, 1, "takes b, then a, and puts back a + b", "[sum(t)]", "b, a", "[a + b]"),
    "mul": (2, 1, "takes b, then a, and puts back a * b", "[t[0] * t[1]]", "b, a", "[a * b]"),
    "max": (2, 1, "takes b, then a, and puts back the larger one", "[max(t)]", "b, a", "[a if a > b else b]"),
    "less": (2, 1, "takes b, then a, and puts back 1 if a < b, else 0", "[int(t[0] < t[1])]", "b, a", "[+(b > a)]"),
    "square": (1, 1, "takes a and puts back a * a", "[t[0] ** 2]", "a", "[a * a]"),
    "dup": (1, 2, "takes a and puts back a, then a again", "t * 2", "a", "[a, a]"),
    "drop": (1, 0, "takes a and puts nothing back", "[]", "_", "[]"),
    "over": (2, 3, "takes b, then a, and puts back a, then b, then a", "[*t, t[0]]", "b, a", "[a, b, a]"),
    "swap": (2, 2, "takes b, then a, and puts back b, then a", "t[::-1]", "b, a", "[a, b]"),
    "rot": (3, 3, "takes c, then b, then a, and puts back b, c, a", "[*t[1:], t[0]]", "c, b, a", "[a, c, b]"),
}
# Per instruction that moves in the program: how it is written and what it does.
CONTROL = {
    "skip": ("skip", "takes a; if a is 0, the next instruction of the program is passed over and not executed"),
    "jump": ("jump k", "takes a; if a is not 0, the machine goes on with instruction k of the program"),
}
CONTROL_CODE = {
    "skip": ("[]\n    at += t[0] == 0", "[]\n    at += 0 if a else 1"),
    "jump": ("[]\n    at = int(args[0]) - 1 if t[0] else at", "[]\n    if a:\n        at = int(k) - 1"),
}
UNDERFLOW = {
    "skip": ("does nothing, but counts as executed", "continue", "new, r, missing = [], stack, False"),
    "halt": ("ends the program, and counts as executed", "break", "at, new, r, missing = N, [], stack, False"),
    "zero": (
        "takes a 0 for each missing value, as if zeros lay below the stack",
        "stack[:0] = [0] * (need - len(stack))",
        "stack = [*stack, 0]",
    ),
}
ASKS = {
    "top": (
        "the number of executed instructions and then the value on top of the stack, or EMPTY if the stack is empty",
        'steps, *(stack or ["EMPTY"])[-1:]',
    ),
    "sum": (
        "the number of values on the stack at the end and then their sum (0 if there are none)",
        "len(stack), sum(stack)",
    ),
    "peak": (
        "the largest number of values on the stack after any instruction, and then the sum of the values that are on "
        "it at the end (0 if there are none)",
        "peak, sum(stack)",
    ),
    "list": (
        "the values on the stack at the end from bottom to top, or EMPTY if there are none",
        '*(stack or ["EMPTY"])',
    ),
}

REFERENCE = """
N = int(input())
program = [input().split() for _ in range(N)]
NEEDS = @needs@
stack, at, steps, peak = [], 0, 0, 0
while at < N and steps < @most@:
    op, *args = program[at]
    at, steps, need = at + 1, steps + 1, NEEDS[op]
    if len(stack) < need:
        @underflow@
    t = stack[len(stack) - need:]
    del stack[len(stack) - need:]
    if op == "push":
        new = [int(args[0])]
    @cases@
    stack += [@wrap@ for x in new]
    peak = max(peak, len(stack))
print(@answer@)
"""

BRUTE = """
N = int(input())
code = [(input() + " 0").split()[:2] for _ in range(N)]
stack, at, steps, sizes = [], 0, 0, [0]
while at < N and steps < @most@:
    (op, k), missing = code[at], True
    at, steps = at + 1, steps + 1
    while missing:
        missing = False
        match [op, *stack]:
            case ["push", *r]:
                new = [int(k)]
            @cases@
            case _:
                missing = True
                @underflow@
    stack = [@wrap@ for x in new] + r
    sizes.append(len(stack))
stack, peak = stack[::-1], max(sizes)
print(@answer@)
"""


SETTINGS = (
    Setting("In the cellar of a museum stands a calculating machine from 1962. Its manual has only a few pages."),
    Setting("The probe Argo is steered by short programs, and its computer is small.", {"machine": "computer"}),
    Setting("A toy robot keeps numbers on a pile of cards and is told what to do with them.", {"machine": "robot"}),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    pool = list(INSTRUCTIONS)[1:]
    names = ["sub", *(pool[i] for i in rng.shuffled(len(pool))[: knobs["instructions"] - 1])]
    names = [name for name in INSTRUCTIONS if name in names]
    ask, under, modulus, most = rng.pick(list(ASKS)), rng.pick(list(UNDERFLOW)), rng.pick((10, 64, 97, 1000)), 500
    wrapped, control = rng.chance(0.5), knobs["control"]
    wrap = f"x % {modulus}" if wrapped else f"max(-{modulus}, min({modulus}, x))"
    rows = {name: (name, *INSTRUCTIONS[name]) for name in INSTRUCTIONS if name in names}
    if control in CONTROL:
        (form, text), (code, brute_code) = CONTROL[control], CONTROL_CODE[control]
        rows[control] = (form, 1, 0, text, code, "a", brute_code)
    cases = [f'elif op == "{name}":\n    new = {row[4]}' for name, row in rows.items()]
    brute_cases = [f'case ["{name}", {row[5]}, *r]:\n    new = {row[6]}' for name, row in rows.items()]
    needs = {"push": 0} | {name: row[1] for name, row in rows.items()}
    shared: dict[str, object] = {"most": most, "wrap": wrap, "answer": ASKS[ask][1]}
    reference = fill(REFERENCE, **shared, needs=needs, cases="\n".join(cases), underflow=UNDERFLOW[under][1])
    mutants = [
        swap(reference, "t[0] - t[1]", "t[1] - t[0]"),
        swap(reference, wrap, f"abs(x) % {modulus} * (1 if x > 0 else -1)" if wrapped else f"min({modulus}, x)"),
        swap(reference, UNDERFLOW[under][1], "continue" if under != "skip" else "break"),
    ]
    mutants.extend(swap(reference, f'"{name}":\n        new = ', f'"{name}":\n        new = t or ') for name in names)
    if control == "skip":
        mutants.append(swap(reference, "at += t[0] == 0", "at += t[0] != 0"))
    elif control == "jump":
        mutants.append(swap(reference, "int(args[0]) - 1", "int(args[0])"))
    modular = (
        f"When a value is put on the stack it is replaced by its remainder modulo {modulus}, which is always from 0 to "
        f"{modulus - 1}, for a negative value too."
    )
    clamped = (
        f"When a value above {modulus} is put on the stack it becomes {modulus}, and a value below -{modulus} becomes "
        f"-{modulus}."
    )
    task = (
        "A machine has a stack of integers, which is empty at the start. It executes the instructions of a program, "
        "numbered from 1 to n, one after the other. There are these instructions; they take values from the top of "
        "the stack, and put values on top of it in the order in which they are named here:\n"
        + bullets("push v: puts v on the stack.", *(f"{row[0]}: {row[3]}." for row in rows.values())),
        f"{modular if wrapped else clamped} An instruction that takes more values than the stack has "
        f"{UNDERFLOW[under][0]}. The program ends after its last instruction"
        + when(
            control == "jump",
            f", or when {most} instructions have been executed; one that is executed again counts again",
        )
        + ".",
        f"Print {ASKS[ask][0]}.",
    )

    def draw(rng: RngStream, size: int) -> str:
        weights = {"push": 0.8 + 0.4 * len(rows)} | dict.fromkeys(rows, 1.0)
        n, depth, lines = count(rng, size, 2), 0, []
        for _ in range(n):
            op = rng.weighted(weights)
            if needs[op] > depth and rng.chance(0.9):
                op = "push"
            depth = max(0, depth + 1 if op == "push" else depth + rows[op][2] - rows[op][1])
            limit = rng.pick((2, modulus, 3 * modulus))
            number = {"push": f" {between(rng, -limit, limit)}", "jump": f" {between(rng, 1, n)}"}
            lines.append(op + number.get(op, ""))
        return page(n, *lines)

    return Problem(
        title="A stack machine",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains an integer n, the number of instructions.\n"
            "Each of the next n lines contains an instruction, from instruction 1 on.",
            prints="One line, with the values separated by blanks.",
            input=Input(
                Line("n"),
                Lines("n", {"push": "v"} | {name: row[0].removeprefix(name) for name, row in rows.items()}),
                f"1 <= n <= {knobs['size']}",
                f"{-3 * modulus} <= v <= {3 * modulus}",
                *(["1 <= k <= n"] * (control == "jump")),
            ),
        ),
        reference=reference,
        brute=fill(BRUTE, **shared, cases="\n".join(brute_cases), underflow=UNDERFLOW[under][2]),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 10),
        full=lambda rng: draw(rng, knobs["size"]),
        edges=(page(1, "push -5"), page(3, "push 4", "sub", "push 7"), page(3, "push 9", "push 5", "sub")),
    )


FAMILY = Family(
    "stack_machine",
    "Interpret programs of a small stack machine.",
    (Knob("size", (10, 30, 100)), Knob("instructions", (3, 5, 8)), Knob("control", ("none", "skip", "jump"))),
    _make,
)
