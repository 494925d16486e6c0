"""Family: questions about the people below and above each other in a firm, a rooted tree."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines, Row, Whole
from rlanything_task_pools.coding.parts import OFF_ON, between, choose, dispatch, integers, line, page, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, bullets, tell
from rlanything_task_pools.rng_stream import RngStream

# Per question: arguments, text, the reference's expression and the brute force's.
QUESTIONS = {
    "size": ("a", "the number of nodes in the subtree of node a", "size[a]", "len(team(a))"),
    "sum": (
        "a",
        "the sum of the values of all nodes in the subtree of node a",
        "total(a)",
        "sum(pay[v] for v in team(a))",
    ),
    "up": (
        "a k",
        "the k-th ancestor of node a, or 0 if there are fewer (the first ancestor of a node is the parent, the "
        "second ancestor is the parent of the parent, and so on)",
        "up(a, b)",
        "(bosses(a) + [0] * n)[b]",
    ),
    "common": (
        "a b",
        "the node with the smallest subtree that contains both node a and node b",
        "common(a, b)",
        "next(v for v in bosses(a) if v in bosses(b))",
    ),
    "steps": (
        "a b",
        "the smallest number of steps from node a to node b, where a step goes from a node to the parent or back",
        "depth[a] + depth[b] - 2 * depth[common(a, b)]",
        "len(set(bosses(a)) ^ set(bosses(b)))",
    ),
}
GROWN = ("size[boss[v]] += size[v]", "size[boss[v]] += 1")
LEVEL = ("    while depth[b] > depth[a]:\n        b = boss[b]\n", "")
SLIPS = {
    "size": (GROWN, ("(size[a])", "(size[a] - 1)")),
    "sum": (GROWN, ("- below(at[a])", "- below(at[a] + 1)")),
    "up": (("range(k)", "range(k - 1)"), ("        a = boss[a]\n    return", "        a = boss[a] or a\n    return")),
    "common": (LEVEL, ("    return a\nfor", "    return boss[a] or 1\nfor")),
    "steps": (LEVEL, ("2 * depth[common(a, b)]", "depth[common(a, b)]")),
}

READ = """
import sys
numbers = iter(sys.stdin.read().split())
n, q = int(next(numbers)), int(next(numbers))
pay = [0] + [int(next(numbers)) for _ in range(n)]
near = [[] for _ in range(n + 1)]
for v in range(2, n + 1):
    u = int(next(numbers))
    w = @second@
    near[u].append(w)
    near[w].append(u)
boss = [0] * (n + 1)
order = [1]
for v in order:
    for w in near[v]:
        if w != boss[v]:
            boss[w] = v
            order.append(w)
"""
REFERENCE = """
size, depth, at, tree = [1] * (n + 1), [0] * (n + 1), [0] * (n + 1), [0] * (n + 1)
for v in reversed(order[1:]):
    size[boss[v]] += size[v]
for v in order:
    spot = at[v] + 1
    for w in near[v]:
        if w != boss[v]:
            depth[w], at[w] = depth[v] + 1, spot
            spot += size[w]
def below(i):
    return tree[i] + below(i & (i - 1)) if i else 0
def total(a):
    return below(at[a] + size[a]) - below(at[a])
def add(a, x):
    i = at[a] + 1
    while i <= n:
        tree[i] += x
        i += i & -i
def up(a, k):
    for _ in range(k):
        a = boss[a]
    return a
def common(a, b):
    if depth[a] > depth[b]:
        a, b = b, a
    while depth[b] > depth[a]:
        b = boss[b]
    while a != b:
        a, b = boss[a], boss[b]
    return a
for v in order:
    add(v, pay[v])
"""
BRUTE = """
def bosses(a):
    return [a] + bosses(boss[a]) if a else []
def team(a):
    return [v for v in range(1, n + 1) if a in bosses(v)]
def add(a, x):
    pay[a] += x
"""
SERVE = """
for _ in range(q):
    op, a = next(numbers), int(next(numbers))
    b = int(next(numbers)) if op in ("add", "up", "common", "steps") else 0
    if op == "add":
        add(a, b)
    @answers@
"""


def _is_tree(values: Mapping[str, Any]) -> bool:
    """Whether n - 1 pairs join all n nodes."""
    top = list(range(values["n"] + 1))

    def find(a: int) -> int:
        while top[a] != a:
            top[a] = top[top[a]]
            a = top[a]
        return a

    for u, v in zip(values["u"], values["v"], strict=True):
        if find(u) == find(v):
            return False
        top[find(u)] = find(v)
    return True


def _is_rooted(values: Mapping[str, Any]) -> bool:
    return all(1 <= p < i for i, p in enumerate(values["p_i"], 2))


SETTINGS = (
    Setting(
        "A firm from the nineteenth century has strict rules about who may give orders to whom.",
        {
            "tree": "firm",
            "node": "clerk",
            "root": "head",
            "parent": "chief",
            "ancestor": "superior",
            "subtree": "team",
            "value": "wage",
        },
    ),
    Setting(
        "The merchants of a guild have learnt their trade from one another, and all of them from one founder.",
        {
            "tree": "guild",
            "node": "merchant",
            "root": "founder",
            "parent": "master",
            "ancestor": "teacher",
            "subtree": "school",
            "value": "fortune",
        },
    ),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    raises, pairs, most, size = knobs["raises"], knobs["pairs"], rng.pick((10, 1000)), knobs["size"]
    questions = choose(rng, list(QUESTIONS), knobs["questions"])
    if raises and "sum" not in questions:
        questions[0] = "sum"

    def program(body: str, column: int) -> str:
        answers = dispatch({op: f"print({QUESTIONS[op][column]})" for op in questions})
        return fill(READ + body + fill(SERVE, answers=answers), second="int(next(numbers))" if pairs else "v")

    reference = program(REFERENCE, 2)
    mutants = [swap(reference, *slip) for op in questions for slip in SLIPS[op]]
    task = (
        "A tree has n nodes, numbered from 1 to n. Node 1 is the root; every other node has one parent. The "
        "subtree of a node consists of the node and of the subtrees of all nodes that have this node as their parent. "
        "Each node i has a value, which is w_i at the start. "
        + (
            "The n - 1 pairs u, v say that one of the nodes u and v is the parent of the other."
            if pairs
            else "The parent of node i is p_i."
        ),
        "Carry out q operations:\n"
        + bullets(
            when(raises, "add a x: the value of node a grows by x; nothing is printed."),
            *(f"{op} {QUESTIONS[op][0]}: print {QUESTIONS[op][1]}." for op in questions),
        ),
    )
    commands = {"add": "a x"} if raises else {}
    commands |= {op: QUESTIONS[op][0] for op in questions}
    named = {name for names in commands.values() for name in names.split()}

    def draw(rng: RngStream, n: int) -> str:
        n, q = between(rng, max(2, n // 2), n), between(rng, max(2, n // 2), n)
        reach = rng.pick((1, 3, n))
        names = [1, *(2 + i for i in rng.shuffled(n - 1))] if pairs else list(range(1, n + 1))
        rows = []
        for i in range(1, n):
            ends = [names[between(rng, max(0, i - reach), i - 1)], names[i]]
            rows.append(line(ends if rng.chance(0.5) else ends[::-1]) if pairs else str(ends[0]))
        if pairs:
            rows = [rows[i] for i in rng.shuffled(n - 1)]
        for i in range(q):
            op, a = rng.pick(questions), between(rng, 1, n)
            if raises and i < q - 1 and rng.chance(0.4):
                rows.append(f"add {a} {between(rng, 1, most)}")
            else:
                far = between(rng, 1, rng.pick((2, min(n, 2 * reach))))
                second = {"a": "", "a b": between(rng, 1, n), "a k": far}
                rows.append(f"{op} {a} {second[QUESTIONS[op][0]]}".strip())
        return page(f"{n} {q}", line(integers(rng, n, 1, most)), *rows)

    edges = (
        "Each of the next n - 1 lines contains two integers u and v."
        if pairs
        else "The next n - 1 lines contain the integers p_2, ..., p_n, one each."
    )
    return Problem(
        title="Questions about a tree",
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads="The first line contains two integers n and q.\n"
            f"The second line contains n integers w_1, ..., w_n.\n{edges}\n"
            "Each of the next q lines contains an operation as written above.",
            prints="One line for each operation that prints something, in the order of the operations.",
            input=Input(
                Line("n q"),
                Row("w_i", "n"),
                Lines("n - 1", "u v" if pairs else "p_i"),
                Lines("q", commands),
                f"2 <= n <= {size}",
                f"1 <= q <= {size}",
                f"1 <= w_i <= {most}",
                *(
                    ["1 <= u, v <= n", Whole("the pairs u, v are those of a tree", _is_tree)]
                    if pairs
                    else [Whole("1 <= p_i < i", _is_rooted)]
                ),
                f"1 <= {', '.join(sorted(named & {'a', 'b'}))} <= n",
                *([f"1 <= k <= {size}"] * ("k" in named)),
                *([f"1 <= x <= {most}"] * raises),
                Whole("at least one operation prints something", lambda v: any(op in questions for op in v["op"])),
            ),
        ),
        reference=reference,
        brute=program(BRUTE, 3),
        mutants=tuple(mutants),
        small=lambda rng: draw(rng, 8),
        full=lambda rng: draw(rng, size),
    )


FAMILY = Family(
    "tree_queries",
    "Questions about a rooted tree.",
    (Knob("size", (8, 60, 300, 1000)), Knob("questions", (2, 3, 5)), Knob("pairs", OFF_ON), Knob("raises", OFF_ON)),
    _make,
)
