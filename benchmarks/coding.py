"""Speed of the judge and of its baselines, in the same run.

``python -m benchmarks.coding`` prints a table. Every round measures every judge on the same programs, in an
order that changes from round to round, so all of them meet the same machine; figures are medians over the
rounds, ratios medians of each round's ratio. Nothing is taken from a cache. Tests a second are by the clock and
want a quiet machine; processor time, of this process and all its descendants, hardly minds a busy one.

The baselines are written here: a forked process for each test that redirects the streams and calls `exec`, as
published reinforcement-learning code does, and a fresh interpreter (``python -I -S``) for each test. Neither of
them protects anything. Programs that use numpy are compared with a fresh interpreter that imports it (``python -I``),
programs in C++ with g++ once and a plain process for each test; a figure holds the time of compiling. Large programs
(some 470 lines with classes and many imports) are compared with a test runner as benchmarks of code have it: a process
for each program, which is made a function and called for one test after the other, so that nothing keeps a test from
the next.
"""

import argparse
import ast
import contextlib
import io
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import psutil

from rlanything_verifiers.coding import Job, Language, Sandbox, judge_many
from rlanything_verifiers.coding.sandbox import available_tiers
from rlanything_verifiers.coding.sandbox.compiled import EXECUTABLES

PROGRAM = """\
from collections import defaultdict
n, *numbers = map(int, open(0).read().split())
count = defaultdict(int)
for number in numbers[:n]:
    count[number % 3] += number
print(*(count[i] for i in range(3)))
# {}
"""

NUMPY_PROGRAM = """\
import numpy as np
n, *numbers = map(int, open(0).read().split())
numbers = np.array(numbers[:n])
print(*(numbers[numbers % 3 == i].sum() for i in range(3)))
# {}
"""

CPP_PROGRAM = """\
#include <bits/stdc++.h>
int main() {{
    int n;
    std::cin >> n;
    std::map<int, long long> count;
    for (long long number; n-- && std::cin >> number;) count[number % 3] += number;
    std::cout << count[0] << ' ' << count[1] << ' ' << count[2] << '\\n';
}}
// {}
"""

_IMPORTS = """\
import sys, os, re, math, random, string, bisect, heapq, itertools, functools, operator, collections, copy
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from functools import cmp_to_key, lru_cache, reduce
from heapq import heapify, heappop, heappush
from itertools import accumulate, combinations, permutations, product
from typing import Any, Dict, List, Optional, Tuple

sys.setrecursionlimit(10**6)
MOD = 10**9 + 7
"""
_CLASSES = (
    '''
class SumsN_:
    """Prefix sums that change."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sums = [0] * (size + 1)

    def add(self, place: int, value: int) -> None:
        while place <= self.size:
            self.sums[place] += value
            place += place & -place

    def upto(self, place: int) -> int:
        found = 0
        while place:
            found += self.sums[place]
            place &= place - 1
        return found
''',
    '''
class GroupsN_:
    """Groups that are joined."""

    def __init__(self, size: int) -> None:
        self.above = list(range(size))
        self.sizes = [1] * size

    def find(self, x: int) -> int:
        while self.above[x] != x:
            self.above[x] = self.above[self.above[x]]
            x = self.above[x]
        return x

    def join(self, x: int, y: int) -> bool:
        x, y = self.find(x), self.find(y)
        if x == y:
            return False
        if self.sizes[x] < self.sizes[y]:
            x, y = y, x
        self.above[y] = x
        self.sizes[x] += self.sizes[y]
        return True
''',
    '''
@dataclass(order=True)
class ItemN_:
    """What lies in a queue."""

    cost: int
    name: str = field(compare=False, default="")


class GraphN_:
    """Distances over edges with lengths."""

    def __init__(self, size: int) -> None:
        self.edges: List[List[Tuple[int, int]]] = [[] for _ in range(size)]

    def connect(self, a: int, b: int, length: int) -> None:
        self.edges[a].append((b, length))
        self.edges[b].append((a, length))

    def distances(self, start: int) -> List[float]:
        best = [math.inf] * len(self.edges)
        best[start] = 0
        queue = [(0, start)]
        while queue:
            far, node = heappop(queue)
            if far > best[node]:
                continue
            for other, length in self.edges[node]:
                if far + length < best[other]:
                    best[other] = far + length
                    heappush(queue, (far + length, other))
        return best
''',
)
_MAIN = """

@lru_cache(maxsize=None)
def rest(number: int) -> int:
    return number % 3


def main() -> None:
    n, *numbers = map(int, sys.stdin.read().split())
    sums, groups = Sums0(8), Groups1(3)
    count = defaultdict(int)
    for place, number in enumerate(numbers[:n], 1):
        sums.add(place, number)
        groups.join(0, rest(number))
        count[rest(number)] += number
    assert sums.upto(n) == sum(count.values())
    print(*(count[i] for i in range(3)))


if __name__ == "__main__":
    main()
"""
_PARTS = 18  # classes of a large program, of three kinds
LARGE = _IMPORTS + "".join(_CLASSES[i % 3].replace("N_", str(i)) for i in range(_PARTS)) + _MAIN + "# {}\n"

#: Ratios of tests a second, printed next to the measurements: first name over second name.
TARGETS = (
    ("judge, 1 worker", "forked exec, 1 at a time", 3.0),
    ("judge, 2 workers", "forked exec, 2 at a time", 3.0),
    ("judge, 1 worker", "python -I -S, 1 at a time", 5.0),
    ("judge, 2 workers", "python -I -S, 2 at a time", 5.0),
    ("judge, 2 workers", "judge, 1 worker", 1.8),
    ("large, judge, 1 worker", "large, test runner, 1 at a time", 0.5),
    ("large, judge, 2 workers", "large, test runner, 2 at a time", 0.5),
    ("judge, 1 worker", "judge, 1 worker, tier none", 0.85),  # all layers together cost 15 % at most
    ("numpy, judge, 1 worker", "numpy, python -I, 1 at a time", 5.0),
    ("numpy, judge, 2 workers", "numpy, python -I, 2 at a time", 5.0),
    ("C++, judge, 1 worker", "C++, g++ and processes, 1 at a time", 0.85),
    ("C++, judge, 2 workers", "C++, g++ and processes, 2 at a time", 0.85),
)

Tests = list[tuple[str, str]]
Side = Callable[[Sequence[str], Tests], int]


def make_tests(count: int) -> Tests:
    """Inputs of eight numbers and a count, as a small contest test."""
    tests = []
    for i in range(count):
        numbers = [(i * 37 + j * 101) % 1000 for j in range(8)]
        sums = [sum(number for number in numbers if number % 3 == rest) for rest in range(3)]
        tests.append((f"8\n{' '.join(map(str, numbers))}\n", f"{sums[0]} {sums[1]} {sums[2]}\n"))
    return tests


def ours(sandbox: Sandbox, language: Language = "python") -> Side:
    def side(programs: Sequence[str], tests: Tests) -> int:
        EXECUTABLES.forget()
        jobs = [Job(program, tests, language=language) for program in programs]
        return sum(judgement.passed for judgement in judge_many(jobs, sandbox=sandbox, cache=False))

    return side


def _exec_into(program: str, stdin: str, results: "multiprocessing.Queue[str]") -> None:
    sys.stdin = io.StringIO(stdin)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(program, {"__name__": "__main__", "open": lambda _: sys.stdin})
        except BaseException as error:
            print(f"error: {error}")
    results.put(out.getvalue())


def forked_exec(at_once: int) -> Side:
    """A process for each test, `at_once` of them in parallel, each with a queue for its output."""
    fork = multiprocessing.get_context("fork")

    def side(programs: Sequence[str], tests: Tests) -> int:
        passed = 0
        for program in programs:
            right = 0
            for first in range(0, len(tests), at_once):
                running = []
                for stdin, expected in tests[first : first + at_once]:
                    results = fork.Queue()
                    process = fork.Process(target=_exec_into, args=(program, stdin, results))
                    process.start()
                    running.append((process, results, expected))
                for process, results, expected in running:
                    process.join(10)
                    right += results.get(timeout=10).split() == expected.split()
                    results.close()
            passed += right == len(tests)
        return passed

    return side


def _right(command: Sequence[str], test: tuple[str, str]) -> bool:
    done = subprocess.run(command, input=test[0], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.split() == test[1].split()


def _in_threads(at_once: int, passes: Callable[[str, Tests], bool]) -> Side:
    """Judges `at_once` programs in parallel."""

    def side(programs: Sequence[str], tests: Tests) -> int:
        with ThreadPoolExecutor(at_once) as threads:
            return sum(threads.map(lambda program: passes(program, tests), programs))

    return side


def compiled(at_once: int) -> Side:
    """A call of g++ for each program and a process for each test, `at_once` programs in parallel."""

    def one(program: str, tests: Tests) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "main")
            flags = ["-O2", "-std=gnu++20", "-w", "-pipe", "-static", "-pthread", "-x", "c++", "-", "-o"]
            subprocess.run(["g++", *flags, str(path)], input=program, text=True, check=True)
            return all(_right([str(path)], test) for test in tests)

    return _in_threads(at_once, one)


def _as_function(program: str) -> str:
    """A program as a function, its imports before it: common test runners call it once for each test."""
    nodes = ast.parse(program).body
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [node for node in nodes if node not in imports]
    body = textwrap.indent("\n".join(map(ast.unparse, rest)), "    ")
    return "\n".join(map(ast.unparse, imports)) + f"\n\ndef whole_program():\n{body}\n"


def _call_for_each(program: str, tests: Tests, results: "list[bool]") -> None:
    names: dict[str, Any] = {"__name__": "__main__", "open": lambda _: sys.stdin}
    exec(compile(_as_function(program), "main.py", "exec"), names)
    for stdin, expected in tests:
        sys.stdin = io.StringIO(stdin)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                names["whole_program"]()
            except BaseException as error:
                print(f"error: {error}")
        results.append(out.getvalue().split() == expected.split())


def test_runner(at_once: int) -> Side:
    """A process for each program, which calls it for one test after the other; `at_once` programs in parallel."""
    fork = multiprocessing.get_context("fork")

    def one(program: str, tests: Tests) -> bool:
        with fork.Manager() as manager:
            results: Any = manager.list()
            process = fork.Process(target=_call_for_each, args=(program, tests, results))
            process.start()
            process.join(60)
            return list(results) == [True] * len(tests)

    return _in_threads(at_once, one)


def fresh_interpreter(at_once: int, *flags: str) -> Side:
    """A new interpreter for each test, `at_once` of them in parallel."""

    def one(program: str, test: tuple[str, str]) -> bool:
        return _right([sys.executable, *flags, "-c", program], test)

    def side(programs: Sequence[str], tests: Tests) -> int:
        with ThreadPoolExecutor(at_once) as threads:
            return sum(all(threads.map(lambda test, p=program: one(p, test), tests)) for program in programs)

    return side


def processor_seconds() -> float:
    """Processor time of this process and all its descendants, the ended ones included; Linux only."""
    seconds = 0.0
    this = psutil.Process()
    for process in (this, *this.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def measure(
    sides: dict[str, Side], text: str, programs: int, tests: Tests, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Seconds on the clock and of processor time for a test, of each side in each round.

    Raises:
        RuntimeError: a side found a correct program wrong.
    """
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    names = list(sides)
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            batch = [text.format(f"{turn} {i}") for i in range(programs if turn else 2)]
            used, begin = processor_seconds(), perf_counter()
            passed = sides[name](batch, tests)
            seconds, used = perf_counter() - begin, processor_seconds() - used
            if passed != len(batch):
                raise RuntimeError(f"{name}: {len(batch) - passed} of {len(batch)} correct programs failed")
            if turn:  # the first turn warms up
                costs[name].append((seconds / len(batch) / len(tests), used / len(batch) / len(tests)))
    return costs


def report(costs: dict[str, list[tuple[float, float]]]) -> None:
    print(f"{'':38}{'tests/s':>10}{'lowest':>10}{'highest':>10}{'CPU ms a test':>16}")
    for name, values in costs.items():
        speeds = [1 / seconds for seconds, _ in values]
        used = 1e3 * median(cpu for _, cpu in values)
        print(f"{name:38}{median(speeds):10,.0f}{min(speeds):10,.0f}{max(speeds):10,.0f}{used:16.2f}")
    print(f"\n{'ratio of tests/s':74}{'median':>8}{'lowest':>8}{'by CPU':>8}   target")
    for name, other, target in TARGETS:
        if name in costs and other in costs:
            pairs = list(zip(costs[name], costs[other], strict=True))
            ratios = [theirs / ours for (ours, _), (theirs, _) in pairs]
            by_cpu = median(theirs / ours for (_, ours), (_, theirs) in pairs if ours)
            print(f"{f'{name} / {other}':74}{median(ratios):8.2f}{min(ratios):8.2f}{by_cpu:8.2f}   at least {target}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=20, help="programs a round and judge")
    parser.add_argument("--tests", type=int, default=20, help="tests a program")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    tiers = available_tiers()
    pools = {f"judge, {n} worker{'s' * (n > 1)}": Sandbox(n, allow_unsafe=True) for n in (1, 2)}
    best = pools["judge, 1 worker"].tier
    pools |= {f"judge, 1 worker, tier {t}": Sandbox(1, tier=t, allow_unsafe=True) for t in tiers if t != best}
    sides = {name: ours(pool) for name, pool in pools.items()}
    for at_once in (1, 2):
        sides[f"forked exec, {at_once} at a time"] = forked_exec(at_once)
        sides[f"python -I -S, {at_once} at a time"] = fresh_interpreter(at_once, "-I", "-S")
    with_numpy = {f"numpy, judge, {n} worker{'s' * (n > 1)}": Sandbox(n, packages=["numpy"]) for n in (1, 2)}
    numpy = {name: ours(pool) for name, pool in with_numpy.items()}
    numpy |= {f"numpy, python -I, {n} at a time": fresh_interpreter(n, "-I") for n in (1, 2)}
    cpp = {f"C++, {name}": ours(pools[name], "cpp") for name in ("judge, 1 worker", "judge, 2 workers")}
    cpp |= {f"C++, g++ and processes, {n} at a time": compiled(n) for n in (1, 2)}
    large = {f"large, {name}": ours(pools[name]) for name in ("judge, 1 worker", "judge, 2 workers")}
    large |= {f"large, test runner, {n} at a time": test_runner(n) for n in (1, 2)}
    tests = make_tests(args.tests)
    batches = [(sides, PROGRAM, args.programs), (numpy, NUMPY_PROGRAM, max(2, args.programs // 4))]
    batches.append((large, LARGE, max(2, args.programs // 4)))
    if shutil.which("g++"):
        batches.append((cpp, CPP_PROGRAM, max(2, args.programs // 4)))
    costs: dict[str, list[tuple[float, float]]] = {}
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, tier {best} "
        f"unless said otherwise; {args.rounds} rounds of {args.programs} programs with {args.tests} tests\n"
    )
    try:
        for batch, text, number in batches:
            costs |= measure(batch, text, number, tests, args.rounds)
        report(costs)
    finally:
        for pool in (*pools.values(), *with_numpy.values()):
            pool.close()


if __name__ == "__main__":
    main()
