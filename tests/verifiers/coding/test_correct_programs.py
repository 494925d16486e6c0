"""Correct programs that judges are known to fail: every one must pass."""

import pytest

from rlanything_verifiers.coding import Job, Limits, Sandbox, judge, judge_many

# program, input, expected output
PROGRAMS = {
    "prints 100 KB": ("print('x' * 100_000)", "", "x" * 100_000),
    "prints 400 KB in lines": (
        "for i in range(100_000): print(i % 10, i % 7)",
        "",
        "\n".join(f"{i % 10} {i % 7}" for i in range(100_000)),
    ),
    "bytes of stdin": ("import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", "1 2\n3\n", "6"),
    "two lines of bytes": ("import sys\nr = sys.stdin.buffer.readline\nprint(int(r()), int(r()))", "1\n2\n", "1 2"),
    "input, then the rest": (
        "import sys\nn = int(input())\nprint(n, sys.stdin.read().split())",
        "2\n7 8\n",
        "2 ['7', '8']",
    ),
    "open(0)": ("print(len(open(0).read().split()))", "a b c\n", "3"),
    "lines of stdin": ("import sys\nprint([line.strip() for line in sys.stdin])", "a\nb\n", "['a', 'b']"),
    "input until the end": (
        "n = 0\ntry:\n    while True:\n        n += int(input())\nexcept EOFError:\n    print(n)",
        "1\n2\n3",
        "6",
    ),
    "no newline at the end": ("print(input())", "last", "last"),
    "bytes to stdout": ("import sys\nsys.stdout.buffer.write(b'7\\n')", "", "7"),
    "text, then bytes": ("import sys\nprint(1, flush=True)\nsys.stdout.buffer.write(b'2\\n')", "", "1 2"),
    "os.write": ("import os\nos.write(1, b'7\\n')", "", "7"),
    "os.read": ("import os\nprint(os.read(0, 100).split())", "1 2", "[b'1', b'2']"),
    "os._exit after a flush": ("import os\nprint(5, flush=True)\nos._exit(0)", "", "5"),
    "sys.exit": ("import sys\nprint(5)\nsys.exit()", "", "5"),
    "exit()": ("print(5)\nexit()", "", "5"),
    "quit()": ("print(5)\nquit()", "", "5"),
    "raise SystemExit(0)": ("print(5)\nraise SystemExit(0)", "", "5"),
    "exit in a function": ("def main():\n    print(5)\n    exit(0)\nmain()\nprint(6)", "", "5"),
    "__main__": ("def main():\n    print(5)\nif __name__ == '__main__':\n    main()", "", "5"),
    "global variable": ("n = 0\ndef f():\n    global n\n    n += 1\nf()\nprint(n)", "", "1"),
    "comprehension over a global": ("a = [1, 2]\nprint([x for x in a if x in a])", "", "[1, 2]"),
    "class body": ("k = 3\nclass A:\n    m = k\n    def f(self): return k + self.m\nprint(A().f())", "", "6"),
    "repr of a data class": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A(1))",
        "",
        "A(x=1)",
    ),
    "future import": ("from __future__ import annotations\ndef f(x: Nope) -> Nope: return x\nprint(f(1))", "", "1"),
    "a docstring first": ('"""What it does."""\nprint(__doc__)', "", "What it does."),
    "huge integers": ("print(str(10 ** 5000)[:3], len(str(10 ** 5000)))", "", "100 5001"),
    "reads huge integers": ("print(int(input()) % 7)", "1" * 6000 + "\n", "0"),  # 111111 is divisible by 7
    "recursion 50,000 deep": (
        "import sys\nsys.setrecursionlimit(10 ** 6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(50_000))",
        "",
        "50000",
    ),
    "recursion in a thread of 64 MB": (
        "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(64 << 20)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(100_000)))\nt.start()\nt.join()",
        "",
        "100000",
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as p: print(sum(p.map(lambda x: x * x, range(10))))",
        "",
        "285",
    ),
    "modules of contests": (
        "import bisect, collections, decimal, fractions, functools, heapq, itertools, math, operator, re, string\n"
        "h = [3, 1, 2]\nheapq.heapify(h)\n"
        "print(heapq.heappop(h), fractions.Fraction(1, 3), math.comb(5, 2), decimal.Decimal('0.1') + 1)",
        "",
        "1 1/3 10 1.1",
    ),
    "import within a function": ("def f():\n    import json\n    return json.dumps([1])\nprint(f())", "", "[1]"),
    "its own print": (
        "import sys\ndef print(*a): sys.stdout.write(' '.join(map(str, a)) + '\\n')\nprint(1, 2)",
        "",
        "1 2",
    ),
    "lru_cache": (
        "from functools import lru_cache\n@lru_cache(None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
        "print(f(90))",
        "",
        "2880067194370816120",
    ),
    "unicode": ("print(input()[::-1])", "\u00e4\u4e2d\U0001f600\n", "\U0001f600\u4e2d\u00e4"),
    "warnings on stderr": ("import sys\nprint('debug', file=sys.stderr)\nprint(1)", "", "1"),
    "an invalid escape": ("print('\\d')", "", "\\d"),
    "windows line ends": ("n = int(input())\r\nif n:\r\n    print(n)\r\n", "3\r\n", "3"),
    "a byte order mark": ("\ufeffprint(1)", "", "1"),
    "eval and exec": ("exec('x = 3')\nprint(eval('x + 1'))", "", "4"),
    "io.StringIO as stdin": ("import io, sys\nsys.stdin = io.StringIO('7')\nprint(input())", "", "7"),
    "fast output": (
        "import sys\nout = []\nfor i in range(5): out.append(i)\nsys.stdout.write('\\n'.join(map(str, out)))",
        "",
        "0 1 2 3 4",
    ),
    "atexit": ("import atexit\natexit.register(lambda: print('bye'))\nprint('hi')", "", "hi bye"),
    "closes its input": ("import sys\nn = input()\nsys.stdin.close()\nprint(n)", "4\n", "4"),
    "200 MB of memory": ("a = bytearray(200 << 20)\nprint(len(a))", "", str(200 << 20)),
    "typing": (
        "from typing import List, Optional\ndef f(a: List[int]) -> Optional[int]: return a[0]\nprint(f([4]))",
        "",
        "4",
    ),
    "match": ("match int(input()):\n    case 1: print('one')\n    case _: print('other')", "1\n", "one"),
}


@pytest.fixture(scope="module")
def sandbox():
    box = Sandbox(2)
    yield box
    box.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_correct_program_passes(name, sandbox):
    program, stdin, expected = PROGRAMS[name]
    judgement = judge(program, [(stdin, expected)], sandbox=sandbox, cache=False)
    assert judgement.passed, judgement


def test_time_that_others_take_does_not_count(sandbox):
    """Eight programs of 0.4 s with a limit of 1 s, on whatever processors there are."""
    program = "import time\nwhile time.process_time() < 0.4: pass\nprint(1)"
    crowded = Sandbox(8)
    try:
        jobs = [Job(program, [("", "1")], limits=Limits(cpu=1.0))] * 8
        assert [judgement.verdicts for judgement in judge_many(jobs, sandbox=crowded, cache=False)] == [("AC",)] * 8
    finally:
        crowded.close()


def test_randomness_and_hashes_repeat_themselves(sandbox):
    program = "import random\nprint(random.random(), hash('abc'), list({'a', 'b', 'c', 'd'}))"
    runs = [run for _ in range(4) for run in sandbox.run(program.encode(), [b""] * 2, Limits())]
    assert len({run.stdout for run in runs}) == 1
