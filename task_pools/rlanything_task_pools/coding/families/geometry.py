"""Family: polygons and points with integer coordinates; area, lattice points, hull, inside or outside."""

from collections.abc import Mapping
from typing import Any

from rlanything_task_pools.coding.families.base import Family, Knob, Problem
from rlanything_task_pools.coding.inputs import Input, Line, Lines, Whole
from rlanything_task_pools.coding.parts import between, count, line, page, power, several, swap, when
from rlanything_task_pools.coding.source import fill
from rlanything_task_pools.coding.statements import Setting, tell
from rlanything_task_pools.rng_stream import RngStream

READ = """
import math
import sys
data = list(map(int, sys.stdin.read().split()))
n, q = data[:2]
points = list(zip(data[2::2], data[3::2]))
shape, asked = points[:n], points[n:]
def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
def twice(shape):
    return @square@ * abs(sum(turn(shape[0], a, b) for a, b in zip(shape, shape[1:])))
"""
# The brute force finds where a point is from the border's lattice points and the angle under which it sees the edges.
SEEN = """
rim, total = set(), []
for a, b in zip(shape, shape[1:] + shape[:1]):
    k = max(abs(a[0] - b[0]), abs(a[1] - b[1]))
    for i in range(k + 1):
        if (b[0] - a[0]) * i % k == 0 == (b[1] - a[1]) * i % k:
            rim.add((a[0] + (b[0] - a[0]) * i // k, a[1] + (b[1] - a[1]) * i // k))
def where(p):
    if p in rim:
        return "@on@"
    angle = 0
    for a, b in zip(shape, shape[1:] + shape[:1]):
        dot = (a[0] - p[0]) * (b[0] - p[0]) + (a[1] - p[1]) * (b[1] - p[1])
        angle += math.atan2(turn(p, a, b), dot)
    return "@in@" if abs(angle) > 3 else "@out@"
places = [where((x, y)) for x in range(-1, 10) for y in range(-1, 10)]
inner = places.count("@in@")
"""
# Question: text, format, the reference's and the brute force's way, and slips in the reference.
QUESTIONS = {
    "area": (
        "Print twice the area of the polygon in square metres, which is an integer.",
        "One integer.",
        "print(twice(shape))",
        SEEN + "print(@square@ * (2 * inner + len(rim) - 2))",
        (
            ("shape[1:])))", "shape[1:-1])))"),
            ("abs(sum(turn", "(sum(turn"),
            ("twice(shape))", "twice(sorted(shape)))"),
        ),
    ),
    "where": (
        "For each of q further points print @in@ if it lies inside of the polygon, @on@ if it lies on the border, and "
        "@out@ otherwise.",
        "q lines, one for each of the further points in the order of the input.",
        """
        for p in asked:
            inside = edge = False
            for a, b in zip(shape, shape[1:] + shape[:1]):
                apart = max((p[0] - a[0]) * (p[0] - b[0]), (p[1] - a[1]) * (p[1] - b[1]))
                edge = edge or turn(a, b, p) == 0 and apart <= 0
                if (a[1] > p[1]) != (b[1] > p[1]) and (turn(a, b, p) > 0) == (b[1] > a[1]):
                    inside = not inside
            print("@on@" if edge else "@in@" if inside else "@out@")
        """,
        SEEN + 'print(*[where(p) for p in asked], sep="\\n")',
        (("(a[1] > p[1])", "(a[1] >= p[1])"), (" and (turn(a, b, p) > 0) == (b[1] > a[1])", ""),
         (" and apart <= 0", "")),
    ),
    "hull": (
        "Find the smallest convex polygon that contains all of n different points. Print the number of its corners, "
        "that is of points at which its border turns, and twice its area in square metres. If all points lie on one "
        "line, the corners are its two ends; a single point is one corner. The area is 0 then.",
        "Two integers, separated by a blank: the number of corners and twice the area.",
        """
        def half(points):
            chain = []
            for p in points:
                while len(chain) > 1 and turn(chain[-2], chain[-1], p) <= 0:
                    chain.pop()
                chain.append(p)
            return chain[:-1]
        shape.sort()
        hull = half(shape) + half(shape[::-1]) if n > 1 else shape
        print(len(hull), twice(hull))
        """,
        """
        corners, area = set(), 0
        for a in shape:
            for b in shape:
                side = [turn(a, b, c) for c in shape]
                if a != b and min(side) >= 0:
                    line = sorted(c for c, s in zip(shape, side) if s == 0)
                    corners |= {line[0], line[-1]}
                    if {a, b} == {line[0], line[-1]}:
                        area += a[0] * b[1] - a[1] * b[0]
        print(len(corners) or 1, @square@ * area)
        """,
        (("p) <= 0", "p) < 0"), ("shape.sort()", "pass"), ("len(hull), ", "len(shape), ")),
    ),
}  # fmt: skip


def _polygon(rng: RngStream, n: int, far: int) -> list[tuple[int, int]]:
    """A simple polygon of n or fewer corners: a lower chain and an upper one between the same left and right."""
    middle, left = between(rng, 1, far - 1), rng.below(far)
    right = between(rng, left + 1, far)
    if n == 3:
        return [(left, rng.below(middle)), (right, rng.below(middle)), (between(rng, left, right), middle)]
    first = between(rng, 2, n - 2)
    chains = []
    for size, low, high in ((first, 0, middle - 1), (n - first, middle, far)):
        inner = sorted({between(rng, left, right) for _ in range(size - 2)} - {left, right})
        chains.append([(x, between(rng, low, high)) for x in (left, *inner, right)])
    return chains[0] + chains[1][::-1]


def _corners(values: Mapping[str, Any]) -> list[tuple[int, int]]:
    return list(zip(values["x"][: values["n"]], values["y"][: values["n"]], strict=True))


def _simple(corners: list[tuple[int, int]]) -> bool:
    """Whether the border of a polygon neither touches nor crosses itself; fast where few edges share an x."""

    def turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
        product = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        return (product > 0) - (product < 0)

    def meet(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int], d: tuple[int, int]) -> bool:
        if max(c[1], d[1]) < min(a[1], b[1]) or max(a[1], b[1]) < min(c[1], d[1]):
            return False
        return turn(a, b, c) * turn(a, b, d) <= 0 and turn(c, d, a) * turn(c, d, b) <= 0

    n = len(corners)
    ends = [(corners[i - 1], corners[i]) for i in range(n)]
    edges = sorted((min(pair), max(pair), i) for i, pair in enumerate(ends))
    for i, (a, b, number) in enumerate(edges):
        if a == b:
            return False
        for c, d, other in edges[i + 1 :]:
            if c[0] > b[0]:
                break
            shared = {a, b} & {c, d}
            if (number - other) % n in (1, n - 1):
                # Neighbours share their corner and must not lie on each other.
                if len(shared) != 1:
                    return False
                (p,), (q,), (r,) = shared, {a, b} - shared, {c, d} - shared or {c}
                if turn(p, q, r) == 0 and (q[0] - p[0]) * (r[0] - p[0]) + (q[1] - p[1]) * (r[1] - p[1]) >= 0:
                    return False
            elif meet(a, b, c, d):
                return False
    return True


SETTINGS = (
    Setting("A land surveyor has put the map of a village on a grid."),
    Setting("A robot gardener has a garden plan on squared paper, and starts at sunrise."),
    Setting("The owner of a small island wants to know it better before she sells it."),
)


def _make(rng: RngStream, knobs: Mapping[str, Any]) -> Problem:
    ask, size, far = knobs["question"], knobs["size"], knobs["far"]
    text, form, solve, brute, slips = QUESTIONS[ask]
    scale, words = (
        between(rng, 1, 20),
        rng.pick(("INSIDE OUTSIDE BORDER", "IN OUT ON", "YES NO EDGE", "I O B")).split(),
    )
    names: dict[str, object] = {"square": scale**2} | dict(zip(("in", "out", "on"), words, strict=True))
    reference, brute = (fill(READ + fill(part), **names) for part in (solve, brute))
    text = fill(text, **names).strip()

    def draw(rng: RngStream, size: int, far: int) -> str:
        n = count(rng, size, 3)
        if ask == "hull":
            wide = min(far, rng.pick((4, far)))
            points = sorted({(between(rng, 0, wide), between(rng, 0, far)) for _ in range(rng.pick((1, n, n)))})
            shape = [points[i] for i in rng.shuffled(len(points))]
            return page(f"{len(shape)} 0", *map(line, shape))
        shape = _polygon(rng, n, far)
        start = rng.below(len(shape))
        shape = (shape[start:] + shape[:start])[:: rng.pick((1, -1))]
        asked = []
        for _ in range(between(rng, 1, size) if ask == "where" else 0):
            a, b = rng.pick(shape), rng.pick(shape)
            ways = [
                ((a[0] + b[0]) // 2, (a[1] + b[1]) // 2),
                (a[0], b[1]),
                (between(rng, 0, far), between(rng, 0, far)),
            ]
            asked.append(rng.pick(ways))
        if rng.chance(0.5):
            shape, asked = [(y, x) for x, y in shape], [(y, x) for x, y in asked]
        return page(f"{len(shape)} {len(asked)}", *map(line, shape + asked))

    task = (
        when(
            ask != "hull",
            "The n corners of a polygon are given in the order in which they follow along its border, clockwise or "
            "counterclockwise. The border does not touch or cross itself, and may go straight on at a corner.",
        ),
        when(ask != "where", f"One unit of the coordinates is {several(scale, 'metre')}. ") + text,
    )
    where, hull = ask == "where", ask == "hull"
    edge = page(f"4 {2 * where}", "0 0", "2 0", "4 0", "0 4", *["1 1", "2 2"] * where)
    return Problem(
        title={"area": "Area", "where": "Inside or outside", "hull": "Hull"}[ask],
        statement=tell(
            rng,
            task,
            SETTINGS,
            reads=f"The first line contains two integers n and q{when(not where, '; q is always 0')}.\n"
            f"Each of the next n lines contains two integers x and y, a {'point' if hull else 'corner'}."
            + when(where, "\nEach of the next q lines contains two integers x and y, a point that is asked about."),
            prints=form,
            input=Input(
                Line("n q"),
                Lines("n", "x y"),
                Lines("q", "x y"),
                f"{1 if hull else 3} <= n <= {size}",
                f"1 <= q <= {size}" if where else "q = 0",
                f"0 <= x, y <= {power(far)}",
                Whole("the points differ", lambda v: len(set(zip(v["x"], v["y"], strict=True))) == v["n"])
                if hull
                else Whole("the corners are those of a polygon as described", lambda v: _simple(_corners(v))),
            ),
        ),
        reference=reference,
        brute=brute,
        mutants=tuple(swap(reference, *slip) for slip in slips),
        small=lambda rng: draw(rng, min(size, 8), 8),
        full=lambda rng: draw(rng, size, far),
        edges=(edge, *(page("3 0", "0 0", "1 1", "2 2"), page("1 0", "3 4")) * hull),
    )


FAMILY = Family(
    "geometry",
    "Polygons and points with integer coordinates.",
    (Knob("size", (5, 30, 300)), Knob("question", tuple(QUESTIONS)), Knob("far", (8, 1000, 10**9))),
    _make,
)
