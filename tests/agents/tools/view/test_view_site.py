"""The resources of real runs, of runs that go on, and of folders nobody vouches for."""

import json
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.storage import RunFolderError
from rlanything_agents.runs.stored.folder import SafeFolder
from rlanything_agents.tools.view import Site
from rlanything_agents.tools.view.tasks import open_pool
from rlanything_task_pools import Outcome, TaskPool, UnknownName


def get(site: Site, name: str) -> Any:
    return json.loads(site.get(name))


def state_of(path: Path) -> dict[str, tuple[int, int]]:
    return {str(file): (file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.rglob("*"))}


def test_the_overview_is_that_of_the_summary(runs: Path) -> None:
    for domain in ("alfworld", "coding", "osworld"):
        site = Site(runs / domain)
        summary, shown = RunFolder(runs / domain), get(site, "r0/overview")
        stored = json.loads(summary.summary.read_text())
        assert (shown["domain"], shown["done"], shown["finished"]) == (domain, 2, True)
        assert shown["env_steps"] == stored["env_steps"]
        assert shown["counts"] == stored["tasks"]
        assert shown["seconds"] == pytest.approx(stored["seconds"])
        for panel in shown["panels"]:
            assert panel["points"][0]["rate"] == stored["before"]["panels"][panel["name"]]["rate"]
            assert panel["points"][-1]["rate"] == stored["after"]["panels"][panel["name"]]["rate"]
        assert shown["problems"] == []
        titles = {chart["title"] for chart in shown["charts"]}
        assert {"Training success", "Tasks rewritten", "Groups by the curriculum's band"} <= titles
        assert ("Policy: loss" in titles) == any(row["policy"] for row in summary.rows())
        rows = summary.rows()
        (success,) = [chart for chart in shown["charts"] if chart["title"] == "Training success"]
        (active,) = [line for line in success["lines"] if line["label"] == "active tasks"]
        for point, row in zip(active["points"], rows, strict=True):
            assert point == pytest.approx(row["success"]["active"], rel=1e-4) if point is not None else True
            assert (point is None) == (row["success"]["active"] is None)


def test_evaluations_in_between_are_points_of_the_panels(runs: Path) -> None:
    (seen, _) = get(Site(runs / "alfworld"), "r0/overview")["panels"]
    assert [point["at"] for point in seen["points"]] == [0, 1, 2, 2][: len(seen["points"])]
    assert seen["points"][1]["episodes"] == 6


def test_the_table_of_tasks_is_that_of_the_pool(runs: Path) -> None:
    for domain in ("alfworld", "coding", "osworld"):
        site = Site(runs / domain)
        table = get(site, "r0/tasks")
        with TaskPool.open(runs / domain / "pool.sqlite") as pool:
            assert table["counts"] == pool.counts()
            assert [row["task"] for row in table["slots"]] == [pool.active(slot).id for slot in pool.slots]
            for kind in ("accepted", "rejected", "discarded"):
                assert sum(number for _, number in table["reasons"][kind]) == len(pool.events(kind=kind))  # type: ignore[arg-type]
            for slot in pool.slots:
                tree = get(site, f"r0/slots/{slot}")
                versions = pool.versions(slot)
                assert [shown["task"] for shown in tree["versions"]] == [version.task.id for version in versions]
                (now,) = [shown["task"] for shown in tree["versions"] if shown["current"]]
                assert now == pool.active(slot).id
                for shown, version in zip(tree["versions"], versions, strict=True):
                    if version.task.rewrite is not None:
                        assert shown["direction"] == version.task.rewrite.direction
                        assert shown["goal_diff"] or shown["world_diff"] or shown["change"]
                        kept = "".join(words for mark, words in shown["goal_diff"] if mark != "-")
                        assert kept.split() == (version.task.goal.split() if shown["goal_diff"] else [])
                        played = pool.outcomes(slot, version.task.id, role="candidate", errors=False)
                        assert 0 <= shown["trial"][0] <= shown["trial"][1] <= len(played)
                assert len(tree["discarded"]) == len(pool.events(slot, kind="discarded"))


def test_every_resource_of_every_run_can_be_had(runs: Path) -> None:
    site = Site(runs)
    names = list(site.names())
    assert {name.split("/")[1] for name in names[1:]} == {"overview", "tasks", "slots", "index", "episodes"}
    assert all(isinstance(get(site, name), dict) for name in names)
    listed = get(site, "runs")
    assert [run["name"] for run in listed["runs"]] == ["alfworld", "coding", "osworld"]
    assert not listed["single"]


def test_looking_changes_nothing(runs: Path, run: Path) -> None:
    """Also where the pool was left with a write-ahead log, as by a run that was killed."""
    writer = TaskPool.open(run / "pool.sqlite")
    slot = writer.slots[0]
    outcome = Outcome(success=True, score=1, steps=3, actor="a", role="active")
    writer.record(slot, writer.active(slot).id, [outcome])
    before = state_of(run)
    site = Site(run)
    for name in site.names():
        site.get(name)
    after = state_of(run)
    assert {name: state for name, state in after.items() if "-shm" not in name} == {
        name: state for name, state in before.items() if "-shm" not in name
    }
    writer.close()


def test_a_writer_is_not_held_up_and_a_reader_sees_one_moment(run: Path) -> None:
    with TaskPool.open(run / "pool.sqlite", timeout=0.0) as writer:
        slot = writer.slots[0]
        task, before = writer.active(slot).id, len(writer.outcomes())
        with open_pool(SafeFolder(run)) as reader:
            assert reader is not None
            assert len(reader.outcomes()) == before
            writer.record(slot, task, [Outcome(success=None, score=0, steps=1, actor="a", role="active")])
            assert len(reader.outcomes()) == before
            with pytest.raises(sqlite3.OperationalError):
                reader.record(slot, task, [])
        with open_pool(SafeFolder(run)) as reader:
            assert reader is not None
            assert len(reader.outcomes()) == before + 1


def test_a_run_that_goes_on_is_seen_to(run: Path) -> None:
    """Another stamp and another overview with each thing that is written."""
    folder, site = RunFolder(run), Site(run)
    rows = folder.rows()
    folder.summary.unlink()
    folder.rewind(1)
    first = get(site, "r0/overview")
    assert (first["done"], first["iterations"], first["finished"]) == (1, [1], False)
    with folder.metrics.open("a") as file:
        file.write(json.dumps(rows[1])[:200])  # being written at this moment
    assert get(site, "r0/overview")["problems"] == []
    with folder.metrics.open("a") as file:
        file.write(json.dumps(rows[1])[200:] + "\n")
    second = get(site, "r0/overview")
    assert second["done"] == 2
    assert get(site, "r0/stamp")["stamp"] == second["stamp"] != first["stamp"]


def test_a_folder_without_runs_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="there is no folder"):
        Site(tmp_path / "none")
    with pytest.raises(RunFolderError, match="not the folder of a run"):
        Site(tmp_path)


def test_a_run_that_begins_later_joins_and_keeps_its_number(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "osworld", tmp_path / "seed-1" / "full")
    site = Site(tmp_path)
    shutil.copytree(runs / "coding", tmp_path / "study/runs/hard/seed-0/full")
    assert [(run["key"], run["name"]) for run in get(site, "runs")["runs"]] == [
        ("r0", "seed-1/full"),
        ("r1", "study/runs/hard/seed-0/full"),
    ]


def test_runs_behind_links_are_not_found(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs)
    with pytest.raises(RunFolderError):
        Site(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "", "r0", "r1/overview", "r0/../overview", "r0/index/1/2", "r0/index/-1", "r0/index/²", "r0/slots/9999999999",
        "r0/slots/x",
        "x0/overview", "r0/episodes/1", "r00000000000000/overview", "r0/screens/1/x.webp", "/etc/passwd",
    ],
)  # fmt: skip
def test_there_is_nothing_of_another_name(runs: Path, name: str) -> None:
    with pytest.raises(UnknownName):
        Site(runs / "alfworld").get(name)


def test_missing_iterations_and_slots_are_told(runs: Path) -> None:
    site = Site(runs / "alfworld")
    with pytest.raises(UnknownName):
        site.get("r0/index/77")
    with pytest.raises(RunFolderError, match="no slot 77"):
        site.get("r0/slots/77")


# -- folders nobody vouches for ------------------------------------------------------------------------------


def test_broken_files_are_named_and_the_rest_is_shown(run: Path) -> None:
    (run / "summary.json").write_text("{")
    (run / "versions.json").unlink()
    (run / "versions.json").symlink_to("/etc/passwd")
    (run / "stages" / "before.json").write_text('{"panels": [1, {"rate": "high"}], "judge": 3}')
    with (run / "metrics.jsonl").open("a") as file:
        file.write(
            '[]\nnot json\n{"iteration": 3, "success": "all", "seconds": {"rollout": NaN, "x": "y"}, "tasks": [3]}\n'
        )
    shown = get(Site(run), "r0/overview")
    assert shown["done"] == 3
    assert len(shown["problems"]) == 4
    assert "root:" not in json.dumps(shown)
    assert get(Site(run), "runs")["runs"][0]["problems"]


def test_what_the_monitors_saw_is_told_and_nothing_else_of_it(run: Path) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rows[0]["alarms"] = {}
    rows[1]["alarms"] = {
        "task_drift": ["tasks are alike\x1b[2J", 7],
        "judge_collapse": "no list",
        "none_of_ours": ["x"],
    }
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = {line["signature"]: line for line in get(Site(run), "r0/overview")["health"]}
    assert set(told) == {"task_drift", "judge_collapse"}
    assert told["task_drift"]["when"] == "2"
    assert told["task_drift"]["said"] == "tasks are alike\\x1b[2J; "
    assert get(Site(run), "runs")["runs"][0]["alarms"] == ["judge_collapse", "task_drift"]


def test_values_of_other_kinds_do_no_harm(run: Path) -> None:
    hostile: dict[str, Any] = {
        "name": ["x"], "domain": {"a": 1}, "seed": 10**30, "iterations": "many", "env_steps": -1, "curriculum": 7,
        "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": 1}}}}}}}},
    }  # fmt: skip
    (run / "config.json").write_text(json.dumps(hostile))
    (run / "summary.json").write_text(
        json.dumps({"table": [1, None, {"what": [], "on": {}}], "command": 7, "seconds": 1e400})
    )
    (run / "metrics.jsonl").write_text(
        json.dumps({"iteration": 1, "env_steps": "x", "success": [], "feedback": None}) + "\n"
    )
    assert get(Site(run), "r0/overview")["seed"] == 0


@pytest.mark.parametrize(
    "spoil",
    [
        "DROP TABLE events",
        "UPDATE tasks SET data = x'00'",
        "UPDATE events SET stats = '[1'",
        "UPDATE versions SET lineage = zeroblob(10)",
        "UPDATE slots SET active = 999",
        "DELETE FROM versions",
        "UPDATE outcomes SET role = 'x', score = 'y'",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON outcomes BEGIN SELECT 1; END",
    ],
)
def test_a_spoiled_pool_is_a_readable_error(run: Path, spoil: str) -> None:
    db = sqlite3.connect(run / "pool.sqlite", isolation_level=None)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute(spoil)
    db.close()
    told = []
    for name in ("r0/tasks", "r0/slots/0"):
        try:
            Site(run).get(name)
        except RunFolderError as error:
            told.append(str(error))
    assert told
    assert all("pool.sqlite cannot be read" in text or "views or triggers" in text for text in told)


def test_no_pool_another_file_and_a_link(run: Path, tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere.sqlite"
    for name in ("pool.sqlite-wal", "pool.sqlite-shm"):
        (run / name).unlink(missing_ok=True)
    (run / "pool.sqlite").rename(kept)
    assert get(Site(run), "r0/tasks")["slots"] == []
    with pytest.raises(UnknownName):
        Site(run).get("r0/slots/0")
    (run / "pool.sqlite").symlink_to(kept)
    with pytest.raises(RunFolderError, match="not a plain file"):
        Site(run).get("r0/tasks")
    (run / "pool.sqlite").unlink()
    (run / "pool.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(RunFolderError, match="not a task pool"):
        Site(run).get("r0/tasks")


def test_pictures_are_pictures(runs: Path, run: Path) -> None:
    site = Site(runs / "osworld")
    images = list(site.images())
    assert images
    kind, content = site.run(images[0])[0].image(images[0].removeprefix("r0/"))
    assert (kind, content[:4]) == ("image/webp", b"RIFF")
    chunk = get(site, "r0/episodes/1/0")["episodes"]
    shown = [turn["screen"] for episode in chunk for turn in [*episode["turns"], episode]]
    assert sum(map(bool, shown)) == sum(name.startswith("r0/screens/0001/") for name in images)
    assert all(turn["screen"] for episode in chunk[:4] for turn in episode["turns"])
    folder = run / "screens" / "0001"
    folder.mkdir(parents=True)
    (folder / "0000-000.webp").write_text("<script>alert(1)</script>")
    (folder / "0000-001.webp").symlink_to(runs / "osworld" / images[0].removeprefix("r0/"))
    for name in ("screens/0001/0000-000.webp", "screens/0001/0000-001.webp", "screens/0001/../config.json"):
        with pytest.raises(UnknownName):
            Site(run).runs[0].image(name)


def test_many_readers_at_once(runs: Path) -> None:
    site, failed = Site(runs), []

    def read() -> None:
        try:
            for name in ("r0/tasks", "r0/index/1", "r0/slots/0", "r1/episodes/1/0", "runs"):
                site.get(name)
        except Exception as error:  # whatever it is, it must be told by this thread
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
