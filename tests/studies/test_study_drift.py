"""``python -m studies drift``: curricula followed for a few cycles, and what is shown of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from rlanything_agents.config import CurriculumConfig, LLMConfig, RunConfig
from rlanything_agents.domains.supervision import Unsupervised
from rlanything_task_pools import Task, TaskPool
from rlanything_task_pools.alfworld import DOMAIN
from studies.__main__ import app
from studies.drift import (
    DriftArm,
    DriftFile,
    load_drift,
    read_drift,
    with_service,
    write_drift,
)
from studies.drift_report import end_table, success_table
from studies.drifting import LineDistance, follow, measure_tasks, proved_share
from studies.worker import do_work

CONFIGS = Path(__file__).parents[2] / "configs" / "study"
MICRO = """
name: micro
meaning: Two ways to adapt, a few cycles.
seeds: 2
following: {cycles: 3, tasks: 4, rollouts: 2, max_steps: 12, every: 2, episodes: 1}
arms:
  goal: {meaning: Goals change., curriculum: {pool_size: 4, operators: [goal], acceptance: reference}}
  start: {meaning: Starts change., curriculum: {pool_size: 4, operators: [start], acceptance: reference}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "drift.yaml"
    path.write_text(MICRO)
    return path


def test_distance_of_descriptions_by_hand() -> None:
    distance = LineDistance()(["a b\nc", ""], ["c\na b", "a b\nd\ne", ""])
    # {a b, c} against {c, a b}: equal; against {a b, d, e}: 1 of 4 shared; the empty text against itself: equal.
    assert distance.tolist() == [[0.0, 0.75, 1.0], [1.0, 1.0, 0.0]]


def test_share_of_proposals_that_were_proved_by_hand() -> None:
    assert proved_share(6, {"wrong_direction": 1, "unsolvable": 1, "no-proposal": 9, "generator_error": 5}) == 0.75
    assert proved_share(0, {"no-proposal": 3}) is None


def test_tasks_are_measured_by_their_proofs() -> None:
    first, second = DOMAIN.generate(0), DOMAIN.generate(1)
    cut = first.model_copy(update={"proof": first.proof[:-1]})  # no longer wins
    found = measure_tasks(DOMAIN, [first, cut], [first, second])
    assert found["valid"] == 0.5
    assert found["plan"] == len(first.proof) - 0.5
    assert found["root_plan"] == (len(first.proof) + len(second.proof)) / 2
    assert found["root_difficulty"] == pytest.approx(np.mean([t.traits["difficulty"] for t in (first, second)]))
    bare = Task(domain="alfworld", goal="g", payload=first.payload, proof=first.proof)
    assert measure_tasks(DOMAIN, [bare], [first])["difficulty"] is None


def test_a_curriculum_is_followed_the_same_way_twice(file: Path, tmp_path: Path) -> None:
    settings = load_drift(file)
    work = {
        "following": settings.following.model_dump(),
        "curriculum": settings.arms["goal"].curriculum.model_dump(mode="json"),
        "seed": 1,
        "policy": None,
    }
    rows: list[list[dict[str, Any]]] = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pool.sqlite").write_text("left by a process that was killed")
        follow(work, folder)
        rows.append(json.loads((folder / "cycles.json").read_text()))
    assert rows[0] == rows[1]
    start, *_, end = rows[0]
    assert [row["cycle"] for row in rows[0]] == [0, 2, 3]
    assert (start["goal_distance"], start["world_distance"], start["accepted"]) == (0, 0, 0)
    assert start["success"] == start["root_success"] == end["root_success"]  # the same tasks with the same luck
    assert end["valid"] == 1
    with TaskPool.open(tmp_path / "one" / "pool.sqlite") as pool:
        assert end["accepted"] == pool.counts()["accepted"]
        changed = [slot for slot in pool.slots if pool.active(slot).id != pool.root(slot).id]
        assert end["rewritten"] == len(changed) / 4
        assert end["plan"] == np.mean([len(pool.active(slot).proof) for slot in pool.slots])
        assert len(pool.outcomes()) == 3 * 4 * 2  # measurements are not played into the pool
    assert changed, "the curriculum of this seed must change something, or this test shows nothing"
    assert end["goal_distance"] > 0


@pytest.mark.slow
def test_a_policy_plays_the_roots_and_what_became_of_them(file: Path, tmp_path: Path) -> None:
    small = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64}
    config = RunConfig.model_validate(
        {
            "name": "warm",
            "threads": 1,
            "policy": small,
            "reward_model": small,
            "warm_start": {"demonstrations": 20, "epochs": 1, "judge_steps": 40, "judge_epochs": 1},
            "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 6},
            "evaluation": {"episodes": 4, "max_steps": 6, "judge_episodes": 2},
        }
    )
    run = tmp_path / "before"
    do_work({"kind": "warm", "config": config.model_dump(mode="json"), "folder": str(run)})
    settings = load_drift(file)
    work = {
        "following": settings.following.model_dump() | {"cycles": 1},
        "curriculum": settings.arms["goal"].curriculum.model_dump(mode="json"),
        "seed": 0,
        "policy": str(run),
    }
    folder = tmp_path / "drift"
    folder.mkdir()
    follow(work, folder)
    first, last = json.loads((folder / "cycles.json").read_text())
    assert 0 <= first["policy_success"] == first["policy_root_success"] == last["policy_root_success"] <= 1
    coding = work | {"following": settings.following.model_dump() | {"domain": "coding"}}
    with pytest.raises(Unsupervised):
        follow(coding, folder)


@pytest.mark.usefixtures("in_process")
def test_a_drift_study_from_beginning_to_end(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drift"
    words = ["drift", "--file", str(file), "--out", str(folder), "--workers", "1"]
    done = CliRunner().invoke(app, [*words, "--seeds", "1", "--arms", "goal"])
    assert done.exit_code == 0, done.output
    before = (folder / "runs/drift/seed-0/goal/cycles.json").stat().st_mtime_ns
    more = CliRunner().invoke(app, words)
    assert more.exit_code == 0, more.output
    assert (folder / "runs/drift/seed-0/goal/cycles.json").stat().st_mtime_ns == before  # it was done before
    results = pd.read_parquet(folder / "results.parquet")
    assert set(zip(results.arm, results.seed, strict=True)) == {(a, s) for a in ("goal", "start") for s in (0, 1)}
    stored = json.loads((folder / "runs/drift/seed-1/start/cycles.json").read_text())[-1]
    mine = results[(results.arm == "start") & (results.seed == 1) & (results.cycle == 3)].set_index("metric").value
    assert mine["world_distance"] == stored["world_distance"]
    text = (folder / "drift.md").read_text()
    assert "Scripted rewriters only" in text
    assert "`start`: Starts change." in text
    (folder / "drift.md").unlink()
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert (folder / "drift.md").read_text() == text
    assert (folder / "figures" / "drift.png").stat().st_size > 10_000
    file.write_text(MICRO.replace("cycles: 3", "cycles: 4"))
    other = CliRunner().invoke(app, words)
    assert other.exit_code == 2
    assert "holds a drift study with other settings" in other.output


def written(folder: Path, values: dict[str, Sequence[tuple[float, float]]]) -> None:
    """A study in which the last cycle of arm ``a``, seed ``s``, has success ``values[a][s]`` on roots and active."""
    curriculum = CurriculumConfig()
    file = DriftFile(
        name="known", meaning="m", seeds=3, arms={a: DriftArm(meaning=a, curriculum=curriculum) for a in values}
    )
    folder.mkdir()
    (folder / "drift.json").write_text(json.dumps({**json.loads(file.model_dump_json()), "policy": None}))
    for arm, pairs in values.items():
        for seed, (roots, active) in enumerate(pairs):
            place = folder / "runs" / "drift" / f"seed-{seed}" / arm
            place.mkdir(parents=True)
            rows = [
                {"cycle": cycle, "root_success": roots, "success": roots if cycle == 0 else active, "plan": 5.0 + cycle,
                 "goal_distance": 0.1 * cycle * (seed + 1), "proved": None, "valid": 1.0, "discarded": {},
                 "inside": None if cycle == 0 else 0.25}
                for cycle in (0, 2)
            ]  # fmt: skip
            (place / "cycles.json").write_text(json.dumps(rows))


def test_tables_say_what_the_cycles_hold(tmp_path: Path) -> None:
    written(tmp_path / "known", {"a": [(0.5, 0.4), (0.6, 0.4), (0.7, 0.4)], "b": [(0.5, 0.5)]})
    results = read_drift(tmp_path / "known")
    table = end_table(results, ["a", "b"], "known")
    cells = dict(zip(table.header, table.rows[0], strict=True))
    assert cells["distance of goals"].startswith("0.40 [")  # the mean of .2, .4 and .6
    assert cells["plan"] == "7.00 [7.00, 7.00]"
    assert cells["active tasks valid"] == "100.0 [100.0, 100.0]"
    assert cells["groups inside the band, cycles 1-2"] == "25.0 [25.0, 25.0]"
    assert dict(zip(table.header, table.rows[1], strict=True))["distance of goals"] == "0.20"  # one seed: no interval
    rows = success_table(results, ["a", "b"]).rows
    assert rows[0][:2] == ("a", "expert")
    # Differences -.1, -.2, -.3: mean -.2, Student half-width 4.303 * .1 / sqrt(3) = .2484.
    assert rows[0][4] == "-20.0 [-44.8, +4.8]"
    assert rows[1][2:] == ("50.0", "50.0", "+0.0")
    page = write_drift(tmp_path / "known")
    assert "-20.0 [-44.8, +4.8]" in page.read_text()


def test_a_service_makes_an_arm_of_its_own() -> None:
    file = load_drift(CONFIGS / "drift.yaml")
    assert not file.asks_a_model
    asked = with_service(file, LLMConfig(base_url="http://localhost:1/v1", model="m"))
    assert asked.asks_a_model
    last = list(file.arms)[-1]
    assert list(asked.arms) == [*file.arms, "llm"]
    assert asked.arms["llm"].curriculum.operators == file.arms[last].curriculum.operators
    assert asked.arms["llm"].curriculum.rewriter == "llm"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arms", "odd"], "there is no odd; there are goal, start"),
        (["--llm-url", "http://localhost:1/v1"], "--llm-url and --llm-model go together"),
        (["--file", "absent.yaml"], "no study file absent.yaml"),
    ],
)
def test_mistakes_are_said(words: list[str], said: str, file: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["drift", "--file", str(file), "--out", str(tmp_path / "drift"), *words])
    assert result.exit_code == 2
    assert said in result.output
    assert not (tmp_path / "drift").exists()
