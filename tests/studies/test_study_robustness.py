"""``python -m studies robustness``: corrupted feedback and corrupted trajectories, on very small models."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from rlanything_agents.domains.alfworld.labels import step_labels
from rlanything_agents.rollout.trajectory import Step
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.alfworld import Game, Goal, Scene, World
from studies.__main__ import app
from studies.corruption import CORRUPTIONS, swap_steps
from studies.detect import ORACLE, RULE
from studies.detection import COLUMNS, noticed
from studies.plan import BEFORE, StudyError
from studies.robustness import load_robustness, write_robustness
from studies.robustness_report import arm_name, detection_table, noise_table, votes_table

CONFIGS = Path(__file__).parents[2] / "configs" / "study"
SMALL = {"hidden_size": 32, "layers": 1, "heads": 2, "intermediate_size": 64}
MICRO: dict[str, Any] = {
    "shares": [0.5],
    "detection": {"steps": 1, "votes": 3},
    "study": {
        "name": "micro",
        "meaning": "Learners that are told lies.",
        "seeds": 1,
        "arms": ["before", "outcome", "integrated"],
        "ladder": ["before", "outcome", "integrated"],
        "baselines": ["before"],
        "config": {
            "threads": 1,
            "iterations": 1,
            "policy": SMALL,
            "reward_model": SMALL,
            "warm_start": {
                "demonstrations": 40,
                "max_steps": 8,
                "epochs": 3,
                "batch_size": 8,
                "judge_steps": 120,
                "judge_epochs": 2,
                "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"]},
            },
            "rollout": {"tasks": 3, "rollouts": 4, "max_steps": 8},
            "feedback": {"policy_band": None, "judge_band": None},
            "curriculum": {"pool_size": 4, "adapt": False, "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"]}},
            "evaluation": {
                "panels": ["valid_seen"],
                "episodes": 24,
                "max_steps": 8,
                "judge_episodes": 24,
                "knobs": {"kinds": ["simple"], "rooms": ["Bathroom"]},
            },
        },
        "regimes": {"small": {"meaning": "Everything small."}},
        "variants": {
            "outcome": {"meaning": "Outcomes alone.", "config": {"feedback": "outcome", "judge": {"train": False}}},
            "integrated": {"meaning": "Outcomes and votes."},
        },
        "quick": {"seeds": 1, "arms": ["before"]},
    },
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "robustness.yaml"
    path.write_text(yaml.safe_dump(MICRO))
    return path


def test_arms_are_made_of_learners_and_shares() -> None:
    study = load_robustness(CONFIGS / "robustness.yaml").expanded()
    assert study.arms == (
        "before",
        "outcome",
        "integrated",
        "outcome-outcomes-10",
        "outcome-outcomes-30",
        "integrated-outcomes-10",
        "integrated-outcomes-30",
        "integrated-votes-10",
        "integrated-votes-30",
    )
    assert study.variants["integrated-votes-30"].config["corrupt"] == {"votes": 0.3}
    assert study.variants["outcome-outcomes-10"].config == {
        **study.variants["outcome"].config,
        "corrupt": {"outcomes": 0.1},
    }
    assert arm_name("outcome", "outcomes", 0.125) == "outcome-outcomes-12_5"
    assert arm_name("outcome", "outcomes", 0.0) == "outcome"


def test_both_learners_are_needed(file: Path) -> None:
    tree = json.loads(json.dumps(MICRO))
    del tree["study"]["variants"]["integrated"]
    tree["study"] |= {"arms": ["outcome"], "ladder": [], "baselines": []}
    file.write_text(yaml.safe_dump(tree))
    with pytest.raises(StudyError, match="integrated is missing"):
        load_robustness(file)


@pytest.mark.slow
@pytest.mark.usefixtures("in_process")
def test_a_study_of_robustness_from_beginning_to_end(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    words = ["robustness", "--file", str(file), "--out", str(folder), "--workers", "1"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    told = {}
    for arm in ("outcome", "integrated", "outcome-outcomes-50", "integrated-outcomes-50", "integrated-votes-50"):
        (row,) = [json.loads(line) for line in (folder / "runs/small/seed-0" / arm / "metrics.jsonl").open()]
        told[arm] = row.get("corrupted")
        # All arms of a seed play the same first iteration: what is reported of it is the truth.
        assert row["success"] == json.loads((folder / "runs/small/seed-0/outcome/metrics.jsonl").read_text())["success"]
    assert told["outcome"] is None
    assert told["integrated"] is None
    assert told["outcome-outcomes-50"] == told["integrated-outcomes-50"]
    assert 0 < told["outcome-outcomes-50"]["outcomes"] < 12
    assert told["outcome-outcomes-50"]["votes"] == 0
    assert told["integrated-votes-50"]["outcomes"] == 0 < told["integrated-votes-50"]["votes"]

    places = pd.read_parquet(folder / "detection.parquet")
    assert list(places.columns) == list(COLUMNS)
    assert set(places.judge) == {"warm start", "trained", RULE, ORACLE}
    assert set(places.corruption) <= set(CORRUPTIONS)
    step_places = places[places.corruption != "outcome"]
    # Only steps the planner calls right are corrupted; and it never changes its mind on its own.
    assert (step_places[step_places.judge == ORACLE].clean == 1).all()
    again = places[places.corruption == "again"]
    assert (again[again.judge.isin([RULE, ORACLE])].eval("clean == corrupted")).all()
    for judge, frame in step_places.groupby("judge"):
        cells = frame[["corruption", "trajectory"]].value_counts()
        assert cells.equals(step_places[step_places.judge == ORACLE][["corruption", "trajectory"]].value_counts()), (
            judge
        )
    text = (folder / "robustness.md").read_text()
    auc = noticed(places[(places.judge == ORACLE) & (places.corruption == "swapped")], "auc")
    assert auc is not None
    assert f"{100 * auc.value:.1f} [" in text
    assert (folder / "figures" / "robustness.png").stat().st_size > 10_000
    assert (folder / "index.html").exists()

    stamp = (folder / "detection" / "1-steps-3-votes" / "seed-0.parquet").stat().st_mtime_ns
    again_done = CliRunner().invoke(app, words)
    assert again_done.exit_code == 0, again_done.output
    assert (folder / "detection" / "1-steps-3-votes" / "seed-0.parquet").stat().st_mtime_ns == stamp


def results(values: dict[str, Sequence[float]]) -> pd.DataFrame:
    """Success of arm ``a`` and seed ``s``."""
    rows = [
        ("small", arm, seed, "valid_seen", "success", value, 10)
        for arm, by_seed in values.items()
        for seed, value in enumerate(by_seed)
    ]
    return pd.DataFrame(rows, columns=["regime", "arm", "seed", "panel", "metric", "value", "episodes"])


def test_what_lies_cost_by_hand() -> None:
    table = noise_table(
        results(
            {
                BEFORE: (0.2, 0.2, 0.2),
                "outcome": (0.5, 0.6, 0.7),
                "integrated": (0.6, 0.7, 0.8),
                "outcome-outcomes-10": (0.4, 0.4, 0.4),
                "integrated-outcomes-10": (0.6, 0.6, 0.6),
                "integrated-votes-10": (0.5, 0.6, 0.7),
            }
        ),
        "small",
        "valid_seen",
        [0.1],
    )
    assert [row[:2] for row in table.rows] == [
        ("before", ""),
        ("nothing", "0 %"),
        ("outcomes", "10 %"),
        ("votes", "10 %"),
    ]
    rows = {row[:2]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    truth, outcomes, votes = (rows[key] for key in (("nothing", "0 %"), ("outcomes", "10 %"), ("votes", "10 %")))
    assert truth["integrated − outcome only"] == "+10.0 [+10.0, +10.0]*"
    # .4 - (.5, .6, .7): mean -.2, Student half-width 4.303 * .1 / sqrt(3) = .2484.
    assert outcomes["change"] == "-20.0 [-44.8, +4.8]"
    assert outcomes["integrated − outcome only"] == "+20.0 [+20.0, +20.0]*"
    assert (votes["outcome only"], votes["change"]) == ("–", "–")  # no vote reaches it
    assert votes["change "] == "-10.0 [-10.0, -10.0]*"


def places(judge: str, corruption: str, scores: Sequence[tuple[float, float]]) -> list[tuple[Any, ...]]:
    return [(0, judge, corruption, t, c, x, (1 - c) / 2, (1 - x) / 2) for t, (c, x) in enumerate(scores)]


def test_what_judges_notice_by_hand() -> None:
    frame = pd.DataFrame(
        [
            *places("warm start", "swapped", [(1, 1), (1, 1)]),
            *places("trained", "swapped", [(1, -1), (1, -1)]),
            *places(ORACLE, "outcome", [(1, -1), (1, -1)]),
        ],
        columns=list(COLUMNS),
    )
    table = detection_table(frame)
    cells = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert cells["swapped"] == {
        "corruption": "swapped",
        "places / trajectories": "2 / 2",
        "warm start": "50.0 [50.0, 50.0]",
        "trained": "100.0 [100.0, 100.0]",
        ORACLE: "–",
        "trained − warm start": "+50.0 [+50.0, +50.0]",
    }
    assert cells["outcome"][ORACLE] == "100.0 [100.0, 100.0]"
    rows = {row[0]: row[1:] for row in votes_table(frame).rows}
    assert rows["swapped, trained"] == ("0.0 [0.0, 0.0]", "100.0 [100.0, 100.0]", "100.0 [100.0, 100.0]")
    assert rows[f"outcome, {ORACLE}"][2] == "–"  # a false outcome turns every score: that says nothing


def test_the_planner_notices_what_breaks_a_plan() -> None:
    task = DOMAIN.generate(0)
    world = World(Game(Scene.from_dict(task.payload["scene"]), Goal.from_dict(task.payload["goal"])))
    world.reset()
    steps = tuple(Step("", action, world.step(action)) for action in task.proof)
    assert step_labels(task.payload, task.proof) == [1] * len(steps)
    take = next(i for i, step in enumerate(steps) if step.action.startswith("take"))
    labels = np.array(step_labels(task.payload, [step.action for step in swap_steps(steps, take - 1, take)]))
    assert labels[take - 1] == -1  # taken before the way there was gone


def test_a_page_before_anything_has_ended(file: Path, tmp_path: Path) -> None:
    loaded = load_robustness(file)
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.json").write_text(loaded.expanded().model_dump_json())
    (folder / "robustness.json").write_text(loaded.model_dump_json())
    assert write_robustness(folder).read_text() == "No run has ended yet.\n"
