"""Tasks from elsewhere: game files, task files, foreign formats, pools, panels, configurations."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fuzz_table import Target, as_text, of_file, of_json, of_text

from rlanything_agents.config.load import ConfigError, load_config
from rlanything_agents.tools.cli.options import key_values
from rlanything_task_pools import PoolError, Task, TaskPool, get_domain
from rlanything_task_pools.coding import ImportFormatError, import_tasks
from rlanything_task_pools.errors import UnknownTask
from rlanything_task_pools.export import export_pool, import_pool
from rlanything_task_pools.osworld.importing import load as load_osworld
from rlanything_task_pools.panel import read_recipe
from rlanything_task_pools.records import pack, unpack
from rlanything_task_pools.task import TaskFormatError
from rlanything_verifiers.alfworld import GameFormatError, World, dump_game, load_game, prove
from rlanything_verifiers.coding import JudgeError, parse_checker
from rlanything_verifiers.coding.checkers import TextChecker
from rlanything_verifiers.osworld import EvaluatorError

__all__ = ["TARGETS"]


@cache
def task(domain: str) -> Task:
    """A generated task, the smallest of the domain."""
    return get_domain(domain).generate(1)


def _bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


# -- games, problems, desktop tasks --------------------------------------------------------------------------------


def _game(path: Path) -> None:
    game = load_game(path)
    world = World(game)
    for command in world.admissible_commands[:3]:
        world.step(command)
    prove(game)


def _games() -> list[bytes]:
    """A tidy game, and one with what official games have: things in two others and in themselves, or without a type."""
    from rlanything_verifiers.alfworld import Game, Thing

    game = load_game(json.loads(json.dumps(dump_game(_generated_game()))))
    one, other, *rest = game.scene.things
    things = (replace(one, inside=(one.id, other.id)), other, *rest, Thing("Egg_bar_1", None, pickupable=True))
    return [_bytes(dump_game(each)) for each in (game, Game(replace(game.scene, things=things), game.goal))]


def _generated_game() -> Any:
    from rlanything_task_pools.alfworld.rewrite import scene_and_goal
    from rlanything_verifiers.alfworld import Game

    scene, goal = scene_and_goal(task("alfworld"))
    return Game(scene, goal)


def _problem(path: Path) -> None:
    import_tasks(path, prove=False)


ROWS: Sequence[dict[str, Any]] = (
    {"question": "Add.", "test_input": ["1 2\n"], "test_output": ["3\n"], "test_time_limit": 1},
    {
        "description": "Add.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": [{"input": "3 4\n", "output": "7\n"}],
        "solutions": {"language": [3], "solution": ["print(3)"]},
        "time_limit": {"seconds": 2, "nanos": 0},
        "memory_limit_bytes": 256_000_000,
    },
    {
        "content": "Add.",
        "test": json.dumps([{"input": {"stdin": "1 2\n"}, "output": {"stdout": "3\n"}}]),
        "labels": json.dumps({"name": "add"}),
    },
    {
        "task_id": "x/1",
        "prompt": "def add(a, b):\n",
        "entry_point": "add",
        "canonical_solution": "    return a + b\n",
        "test": "def check(candidate):\n assert candidate(1, 2) == 3\n assert abs(candidate(1.5, 2) - 3.5) < 1e-6\n",
    },
    {"text": "Add.", "code": "def f(a):\n return a", "task_id": 3, "test_list": ["assert f(1) == 1", "assert f(-2)"]},
    {
        "statement": "Add.",
        "samples": [["1 2\n", "3\n"]],
        "tests": [{"input": "3 4\n", "output": "7\n"}],
        "float_tolerance": 1e-6,
        "time_limit": 3,
    },
)
"""One problem of each foreign format."""


def _checker(value: Any) -> None:
    checker = parse_checker(value)
    if isinstance(checker, TextChecker):
        checker.complaint(b"1 2", b"1 2.0")


# -- tasks, pools, panels ------------------------------------------------------------------------------------------


def _task(content: bytes) -> None:
    """A stored task, looked at as a pool's reader does; programs are not run."""
    found = Task.from_json(content)
    if found.domain == "alfworld":
        get_domain("alfworld").verify(found)
    Task.from_json(found.to_json())


def _pool_bytes(write: Any) -> list[bytes]:
    with tempfile.TemporaryDirectory() as name, _pool(Path(name, "pool.sqlite")) as pool:
        return list(write(pool, Path(name)))


def _pool(path: Path) -> TaskPool:
    from rlanything_task_pools.task import Outcome

    pool = TaskPool.create(path, [task("alfworld")])
    pool.record(0, task("alfworld").id, [Outcome(success=True, score=1.0, steps=3, actor="a", role="active")])
    return pool


@cache
def _database() -> bytes:
    def write(pool: TaskPool, folder: Path) -> list[bytes]:
        return [pool.copy(folder / "copy.sqlite").read_bytes()]

    return _pool_bytes(write)[0]


def _open_pool(path: Path) -> None:
    from rlanything_task_pools.verify import verify_pool

    with TaskPool.open(path) as pool:
        pool.counts()
        pool.outcomes()
        pool.events()
        for slot in pool.slots[:3]:
            pool.active(slot)
            pool.versions(slot)
        list(verify_pool(pool, replay=False))


def _row(content: bytes) -> None:
    """A sound pool, one of whose columns holds the content, as bytes and as text."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "pool.sqlite")
        for table, column in (("tasks", "data"), ("versions", "lineage"), ("outcomes", "role"), ("outcomes", "score")):
            for value in (content, content.decode("utf-8", "replace")):
                path.write_bytes(_database())
                connection = sqlite3.connect(path)
                with connection:
                    connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
                connection.close()
                try:
                    _open_pool(path)
                except POOL_REFUSALS:
                    continue


POOL_REFUSALS = (PoolError, TaskFormatError, UnknownTask)


@cache
def _exported() -> dict[str, bytes]:
    found: dict[str, bytes] = {}

    def write(pool: TaskPool, folder: Path) -> list[bytes]:
        export_pool(pool, folder / "out", format="jsonl")
        found.update({path.name: path.read_bytes() for path in (folder / "out").iterdir()})
        return []

    _pool_bytes(write)
    return found


def _import(content: bytes) -> None:
    """An exported pool, one of whose files is the content."""
    for name in _exported():
        with tempfile.TemporaryDirectory() as place:
            for other, data in _exported().items():
                Path(place, other).write_bytes(content if other == name else data)
            try:
                import_pool(place, Path(place, "pool.sqlite"), replay=False).close()
            except PoolError:
                continue


def _recipe() -> list[bytes]:
    return [_bytes({"name": "p", "meaning": "m", "domain": "alfworld", "count": 1, "parts": [{"split": "train"}]})]


# -- configurations ------------------------------------------------------------------------------------------------

CONFIG = b"""name: a
domain: alfworld
iterations: 2
environment: {max_episode_steps: 5}
feedback: paper
"""


def _override(text: str) -> None:
    load_config(CONFIGURATION, [f"iterations={text}"])


CONFIGURATION = Path(__file__).parents[2] / "configs" / "quickstart.yaml"


CHECKERS = (
    {"kind": "tokens", "ignore_case": True},
    {"kind": "float", "abs": 1e-6, "rel": 0.0},
    {"kind": "asserts", "setup": "import math\nx = [1, 2]"},
)

TARGETS = (
    Target("alfworld game file", of_file("game.tw-pddl", _game), (GameFormatError,), _games),
    Target(
        "coding problem",
        of_file("problem.json", _problem),
        (ImportFormatError,),
        lambda: [_bytes(row) for row in ROWS] + [_bytes(list(ROWS)), task("coding").to_json().encode()],
    ),
    Target(
        "coding problems, one a line",
        of_file("problems.jsonl", _problem),
        (ImportFormatError,),
        lambda: [b"\n".join(_bytes(row) for row in ROWS)],
    ),
    Target("coding problems, packed", of_file("problems.json.gz", _problem), (ImportFormatError,), lambda: _packed()),
    Target("coding checker", of_json(_checker), (JudgeError,), lambda: [_bytes(row) for row in CHECKERS]),
    Target(
        "osworld task file",
        of_file("task.json", load_osworld),
        (TaskFormatError, EvaluatorError, TaskFormatError),
        lambda: [_bytes(OSWORLD), task("osworld").to_json().encode()],
    ),
    Target("stored task", _task, (TaskFormatError,), lambda: [task("alfworld").to_json().encode()]),
    Target("packed task", lambda content: unpack(content), (TaskFormatError,), lambda: [pack({"a": [1, 2]})]),
    Target("pool file", of_file("pool.sqlite", _open_pool), POOL_REFUSALS, lambda: [_database()]),
    Target("pool row", _row, (), lambda: [pack({"goal": "x"}), b"active", b"1.5"], effort=30),
    Target("exported pool", _import, (), lambda: list(_exported().values()), effort=30),
    Target("panel recipe", of_file("panel.json", read_recipe), (PoolError,), _recipe),
    Target("configuration", of_file("run.yaml", load_config), (ConfigError,), lambda: [CONFIG], effort=20),
    Target("configuration override", of_text(_override), (ConfigError,), lambda: [b"3"], effort=20),
    Target(
        "option",
        lambda content: key_values([f"key={as_text(content)}"], "--arg"),
        (ConfigError,),
        lambda: [b"3", b"[a, b]"],
        effort=20,
    ),
)


def _packed() -> list[bytes]:
    import gzip

    return [gzip.compress(_bytes(list(ROWS)))]


OSWORLD: dict[str, Any] = {
    "id": "0",
    "instruction": "Write hello into ~/a.txt",
    "config": [{"type": "execute", "parameters": {"command": ["touch", "a.txt"]}}],
    "related_apps": ["os"],
    "evaluator": {
        "func": ["exact_match", "check_include_exclude"],
        "conj": "and",
        "result": [
            {"type": "vm_command_line", "command": "cat ~/a.txt", "shell": True},
            {"type": "vm_command_line", "command": ["cat", "/home/user/a.txt"]},
        ],
        "expected": [
            {"type": "rule", "rules": {"expected": "hello\n"}},
            {"type": "rule", "rules": {"include": ["hello"], "exclude": []}},
        ],
    },
}
"""A task file in OSWorld's form."""
