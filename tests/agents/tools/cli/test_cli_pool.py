"""``rlanything pool``: what it prints, what it refuses, and that what models wrote does no harm on a terminal."""

import json
import sqlite3
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rlanything_agents.tools.cli import app
from rlanything_task_pools import Outcome, Rejection, Rewrite, Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.plain_text import printable

EVIL = "\x1b[2J\x1b]0;owned\x07 [bold red]fridge[/bold red] [/] :apple: \u202egnirts\u202c\r\n\x00 \U0001f34e é"


@pytest.fixture
def run() -> CliRunner:
    return CliRunner(env={"COLUMNS": None, "TERM": "dumb"})


def played(successes: int, n: int, role: str = "active") -> list[Outcome]:
    return [Outcome(success=k < successes, score=0.0, steps=9, actor="policy@0", role=role) for k in range(n)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder whose pool has an accepted, a rejected and a waiting rewrite, and evil text in every field."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    tasks = [DOMAIN.generate(seed) for seed in range(4)]
    with TaskPool.create(folder / "pool.sqlite", tasks) as pool:
        for slot, decide in ((0, pool.accept), (1, pool.reject), (2, None)):
            task = pool.active(slot)
            pool.record(slot, task.id, played(0, 8))
            new = next(
                new
                for direction in ("easier", "harder")
                for proposal in DOMAIN.propose(task, direction, rng)
                if isinstance(
                    new := DOMAIN.validate(task, proposal, direction=direction, author=EVIL, critique=EVIL), Task
                )
            )
            pool.propose(slot, new, stats={"successes": 0, "n": 8, EVIL: EVIL})
            pool.record(slot, new.id, played(3, 8, "candidate"))
            if decide is not None:
                decide(slot, "moved", stats={"successes": 3, "n": 8, "parent": 0.0})
        pool.discard(3, Rejection(reason="unsolvable", detail=EVIL))
    return folder


def test_show(run: CliRunner, folder: Path) -> None:
    result = run.invoke(app, ["pool", "show", str(folder)])
    assert result.exit_code == 0, result.output
    with TaskPool.open(folder / "pool.sqlite") as pool:
        lines = result.output.splitlines()
        assert all(pool.active(slot).goal in result.output for slot in pool.slots)
        assert f"root: {pool.root(0).goal}" in result.output
        assert f"on trial: {pool.candidate(2).goal}" in result.output  # type: ignore[union-attr]
        assert any(pool.active(1).goal in line and line.endswith("0 % of 8 ") for line in lines)
        assert max(map(len, lines)) <= 100
    assert "4 slots, 1 hold a rewrite, 1 on trial; 3 proposed, 1 accepted, 1 rejected, 1 never tried" in result.output
    rows = [json.loads(line) for line in run.invoke(app, ["pool", "show", str(folder), "--json"]).output.splitlines()]
    assert [(row["slot"], row["depth"], row["episodes"]) for row in rows] == [
        (0, 1, 0),
        (1, 0, 8),
        (2, 0, 8),
        (3, 0, 0),
    ]


def test_a_fresh_task_is_no_rewrite(run: CliRunner, tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.sqlite", [DOMAIN.generate(0)]) as pool:
        pool.propose(0, DOMAIN.generate(1))
        pool.accept(0, reason="fresh")
    row = json.loads(run.invoke(app, ["pool", "show", str(tmp_path / "pool.sqlite"), "--json"]).output)
    assert (row["depth"], row["root"]) == (0, row["active"])


def test_log(run: CliRunner, folder: Path) -> None:
    output = run.invoke(app, ["pool", "show", str(folder), "--log"]).output
    assert [line.split()[2] for line in output.splitlines() if line.strip()[:1].isdigit()] == [
        "proposed", "accepted", "proposed", "rejected", "proposed", "discarded",
    ]  # fmt: skip
    assert "3/8 solved, parent 0" in output
    output = run.invoke(app, ["pool", "show", str(folder), "--log", "--json"]).output
    event = json.loads(output.splitlines()[1])
    assert (event["kind"], event["slot"], event["stats"]["n"]) == ("accepted", 0, 8)
    output = run.invoke(app, ["pool", "show", str(folder), "--log", "--last", "1", "--json"]).output
    assert json.loads(output)["kind"] == "discarded"


def test_lineage(run: CliRunner, folder: Path) -> None:
    output = run.invoke(app, ["pool", "lineage", str(folder)]).output
    assert output.count("└── ") == 3
    with TaskPool.open(folder / "pool.sqlite") as pool:
        old, new = pool.root(0), pool.active(0)
        flat = " ".join(output.split())
        assert old.goal in flat
        assert "accepted: moved 0 % of 8 → 38 % of 8 by" in flat
        assert "rejected: moved" in flat
        assert "pending" in flat
        gone = next(word for word in old.goal.split() if word not in new.goal.split())
        assert "[-" in flat
        assert gone in flat
        assert "[bold red]fridge[/bold red]" in flat  # the critique, with its markup as text
        for which in ("0", new.id):
            one = run.invoke(app, ["pool", "lineage", str(folder), which])
            assert one.output.count("└── ") == 1
    assert run.invoke(app, ["pool", "lineage", str(folder), "99"]).exit_code == 2
    assert "has no task 'alfworld-0'" in run.invoke(app, ["pool", "lineage", str(folder), "alfworld-0"]).stderr


def test_a_critique_is_a_paragraph_and_another_goal_is_called_replaced(run: CliRunner, tmp_path: Path) -> None:
    task = DOMAIN.generate(0)
    told = "The attempts took 30 steps.\n6 of 8 failed attempts never touched the cup."
    rewrite = Rewrite(direction="easier", author="x", change={"goal": "other"}, critique=told, critic="scripted")
    other = task.model_copy(update={"goal": "Open the window.", "parent": task.id, "root": task.id, "rewrite": rewrite})
    with TaskPool.create(tmp_path / "pool.db", [task]) as pool:
        pool.propose(0, other)
    output = run.invoke(app, ["pool", "lineage", str(tmp_path / "pool.db")]).output
    assert "replaced in the same scene" in " ".join(output.split())
    lines = [line.strip(" │└─") for line in output.splitlines()]
    assert "“The attempts took 30 steps." in lines
    assert any(line.startswith("6 of 8 failed attempts never touched the cup.”") for line in lines)


def test_lineage_of_a_change_of_the_world_shows_the_world(run: CliRunner, tmp_path: Path) -> None:
    task = DOMAIN.generate(0)
    scene = {**task.payload["scene"], "can_contain": []}
    rewrite = Rewrite(direction="harder", author="x", change={"scene": "emptier"})
    new = task.model_copy(
        update={"payload": {**task.payload, "scene": scene}, "parent": task.id, "root": task.id, "rewrite": rewrite}
    )
    with TaskPool.create(
        tmp_path / "pool.db", [task, Task(domain="chess", goal="mate", payload={"fen": "8/8"})]
    ) as pool:
        pool.propose(0, new)
        mate = Task(domain="chess", goal="mate", payload={"fen": "8/7Q"}, parent=pool.active(1).id, rewrite=rewrite)
        pool.propose(1, mate)
    output = run.invoke(app, ["pool", "lineage", str(tmp_path / "pool.db")]).output
    assert '+ "fen": "8/7Q"' in output  # without the domain, the data themselves


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_export_and_import(run: CliRunner, folder: Path, tmp_path: Path, format: str) -> None:
    out, again = str(tmp_path / "out"), str(tmp_path / "again.db")
    result = run.invoke(app, ["pool", "export", str(folder), "--out", out, "--format", format])
    assert "4 slots, 7 tasks, 48 outcomes, 1 accepted, 1 rejected" in result.output
    assert "4 slots, 7 tasks" in run.invoke(app, ["pool", "import", out, again]).output
    with sqlite3.connect(folder / "pool.sqlite") as one, sqlite3.connect(again) as other:
        assert list(one.iterdump()) == list(other.iterdump())
    assert run.invoke(app, ["pool", "import", out, again]).exit_code == 2  # it is there already
    assert run.invoke(app, ["pool", "import", str(tmp_path), str(tmp_path / "x.db")]).exit_code == 2


def test_a_folder_of_problems(run: CliRunner, tmp_path: Path) -> None:
    from rlanything_task_pools.coding import DOMAIN as CODING

    out, again = str(tmp_path / "out"), str(tmp_path / "again.db")
    tasks = [CODING.generate(seed) for seed in range(2)]
    tasks[1] = tasks[1].model_copy(update={"proof": ("print(1)\n",)})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "problems.jsonl").write_text("".join(f"{task.to_json()}\n" for task in tasks))
    result = run.invoke(app, ["pool", "import", out, again, "--domain", "coding"])
    assert "1 slots, 1 tasks" in result.output
    assert f"left out: {tasks[1].id}: the program of the proof fails" in result.stderr
    assert run.invoke(app, ["pool", "import", out, again, "--domain", "coding"]).exit_code == 2  # it is there already
    assert run.invoke(app, ["pool", "import", out, str(tmp_path / "x.db"), "--domain", "chess"]).exit_code == 2


def test_verify(run: CliRunner, folder: Path, tmp_path: Path) -> None:
    sound = run.invoke(app, ["pool", "verify", str(folder)])
    assert (sound.exit_code, "sound" in sound.output) == (0, True), sound.output
    with TaskPool.open(folder / "pool.sqlite") as pool:
        path = pool.copy(tmp_path / "pool.db")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE slots SET active = root")
    result = run.invoke(app, ["pool", "verify", str(path)])
    assert result.exit_code == 1
    assert "slot 0: holds versions" in result.output
    problem = json.loads(run.invoke(app, ["pool", "verify", str(path), "--json"]).output)
    assert problem["where"] == "slot 0"


def test_metrics(run: CliRunner, folder: Path, tmp_path: Path) -> None:
    result = run.invoke(app, ["pool", "metrics", str(folder)])
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 100
    assert "rejected: moved 1" in result.output
    assert "never tried: unsolvable 1" in result.output
    (row,) = map(json.loads, run.invoke(app, ["pool", "metrics", str(folder), "--json"]).output.splitlines())
    assert (row["groups"], row["accepted"]) == (6, 1)
    assert row["drift"] > 0


@pytest.mark.parametrize("command", ["show", "show --log", "lineage", "verify", "metrics"])
def test_nothing_on_the_terminal_obeys_a_model(run: CliRunner, folder: Path, command: str) -> None:
    output = run.invoke(app, ["pool", *command.split(), str(folder)]).output
    assert {c for c in output if unicodedata.category(c) in ("Cc", "Cf")} <= {"\n"}
    if command in ("show --log", "lineage"):
        assert "\\x1b[2J" in output
        assert ":apple:" in output  # no emoji codes either


def test_a_pool_can_be_looked_at_while_another_process_writes(run: CliRunner, tmp_path: Path) -> None:
    with TaskPool.create(tmp_path / "pool.sqlite", [DOMAIN.generate(0)]) as pool, pool._transaction():
        for command in ("show", "verify", "metrics", "lineage"):
            result = run.invoke(app, ["pool", command, str(tmp_path)])
            assert result.exit_code == 0, result.output


def test_errors_are_one_line(run: CliRunner, tmp_path: Path) -> None:
    result = run.invoke(app, ["pool", "show", str(tmp_path / "none\x1b[31m.db")])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: no task pool at {tmp_path}/none\\x1b[31m.db: ")
    assert result.stderr.count("\n") == 1
    TaskPool.create(tmp_path / "pool.db", [DOMAIN.generate(seed) for seed in range(30)]).close()
    with (tmp_path / "pool.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 65536)
    assert run.invoke(app, ["pool", "verify", str(tmp_path / "pool.db")]).exit_code in (1, 2)
    result = run.invoke(app, ["pool", "show", str(tmp_path / "pool.db")])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")


def test_printable() -> None:
    assert printable("plain é 🍎 text") == "plain é 🍎 text"
    assert printable("a\x1b[0m\n\u202eb\x7f\u200b") == "a\\x1b[0m\\n\\u202eb\\x7f\\u200b"
    assert printable("x" * 30, 10) == "x" * 9 + "…"
    assert printable("\ud800") == "\\ud800"
