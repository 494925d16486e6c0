"""``python -m studies transfer``: the matrix of what was trained on and what is played."""

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig
from studies.__main__ import app
from studies.plan import BEFORE, StudyError
from studies.transfer import change_table, load_transfer, matrix, success_table

CONFIGS = Path(__file__).parents[2] / "configs" / "study"
MICRO = """
split: valid_seen
episodes: 6
panels: {put: {kinds: [simple], rooms: [Bathroom]}, wash: {kinds: [clean], rooms: [Bathroom]}}
study:
  name: micro
  meaning: Two kinds.
  seeds: 1
  arms: [before, put, wash]
  ladder: [before]
  baselines: [before]
  config:
    threads: 1
    iterations: 1
    policy: {hidden_size: 32, layers: 1, heads: 2, intermediate_size: 64}
    reward_model: {hidden_size: 32, layers: 1, heads: 2, intermediate_size: 64}
    warm_start:
      {demonstrations: 30, max_steps: 8, epochs: 2, batch_size: 8, judge_steps: 40, judge_epochs: 1,
       knobs: {rooms: [Bathroom], kinds: [simple, clean]}}
    rollout: {tasks: 3, rollouts: 4, max_steps: 8}
    feedback: outcome
    judge: {train: false}
    curriculum: {pool_size: 4, adapt: false}
    evaluation: {panels: [valid_seen], episodes: 6, max_steps: 8, knobs: {rooms: [Bathroom]}}
  regimes: {kinds: {meaning: Bathrooms.}}
  variants:
    put: {meaning: p, config: {curriculum: {knobs: {kinds: [simple], rooms: [Bathroom]}}}}
    wash: {meaning: w, config: {curriculum: {knobs: {kinds: [clean], rooms: [Bathroom]}}}}
  quick: {seeds: 1, arms: [before]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "transfer.yaml"
    path.write_text(MICRO)
    return path


def frame(values: dict[str, dict[str, Sequence[float]]]) -> pd.DataFrame:
    """Success ``values[trained][played][seed]``."""
    rows = [
        (seed, trained, played, value, 128)
        for trained, panels in values.items()
        for played, by_seed in panels.items()
        for seed, value in enumerate(by_seed)
    ]
    return pd.DataFrame(rows, columns=["seed", "trained", "played", "success", "episodes"])


KNOWN = frame(
    {
        BEFORE: {"put": (0.3, 0.3, 0.3), "wash": (0.1, 0.2, 0.3), "heat": (0.2, 0.2, 0.2)},
        "put": {"put": (0.5, 0.6, 0.7), "wash": (0.1, 0.1, 0.1), "heat": (0.2, 0.4, 0.6)},
        "wash": {"put": (0.4, 0.4)},
    }
)


def test_changes_by_hand() -> None:
    cells = matrix(KNOWN, ["put", "wash"], ["put", "wash", "heat"])
    assert set(cells) == {("put", "put"), ("put", "wash"), ("put", "heat"), ("wash", "put")}
    own = cells["put", "put"]
    # Differences .2, .3, .4: mean .3, Student half-width 4.303 * .1 / sqrt(3) = .2484.
    assert (own.estimate.mean, own.clear) == (pytest.approx(0.3), True)
    assert own.estimate.low == pytest.approx(0.3 - 0.2484, abs=1e-4)
    assert cells["wash", "put"].estimate.seeds == 2


def test_tables_by_hand() -> None:
    success = success_table(KNOWN, ["put", "wash"], ["put", "wash", "heat"])
    assert [row[0] for row in success.rows] == [BEFORE, "put", "wash"]
    assert success.rows[0][1] == "30.0 [30.0, 30.0]"
    assert success.rows[2][1:] == ("40.0", "–", "–")
    change = change_table(KNOWN, ["put", "wash"], ["put", "wash", "heat"])
    assert change.header == ("trained on", "put", "wash", "heat", "all others")
    assert change.rows[0][1] == "+30.0 [+5.2, +54.8]*"
    # On wash -0, -.1, -.2 and on heat 0, +.2, +.4: means of the two 0, .05 and .1 by seed.
    assert change.rows[0][4] == "+5.0 [-7.4, +17.4]"
    assert change.rows[1][1:] == ("+10.0", "–", "–", "–")


def test_every_panel_has_its_games_and_its_place() -> None:
    file = load_transfer(CONFIGS / "transfer.yaml")
    panels = file.played(RunConfig(name="a"))
    assert list(panels) == ["simple", "look", "clean", "heat", "cool", "two"]
    assert len({panel.label for panel in panels.values()}) == 6
    assert [part.knobs for part in panels["heat"].knobs or ()] == [{"kinds": ["heat"]}]
    assert {arm for arm in file.study.arms if arm != BEFORE} <= set(file.study.variants)


def test_one_regime(file: Path) -> None:
    file.write_text(
        MICRO.replace("regimes: {kinds: {meaning: Bathrooms.}}", "regimes: {a: {meaning: a}, b: {meaning: b}}")
    )
    with pytest.raises(StudyError, match="a transfer study has one"):
        load_transfer(file)


@pytest.mark.usefixtures("in_process")
def test_a_transfer_study_from_beginning_to_end(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "transfer"
    words = ["transfer", "--file", str(file), "--out", str(folder), "--workers", "1"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    results = pd.read_parquet(folder / "transfer.parquet")
    assert set(zip(results.trained, results.played, strict=True)) == {
        (trained, played) for trained in (BEFORE, "put", "wash") for played in ("put", "wash")
    }
    for row in results.itertuples():
        (path,) = (folder / "evaluations").glob(f"*-{row.played}/kinds/seed-0/{row.trained}.json")
        assert json.loads(path.read_text())["rate"] == row.success
    one, other = (
        json.loads(next((folder / "evaluations").glob(f"*-{panel}/kinds/seed-0/put.json")).read_text())["tasks"]
        for panel in ("put", "wash")
    )
    assert one != other  # other games
    goals = [json.loads(line) for line in (folder / "runs/kinds/seed-0/wash/metrics.jsonl").open()]
    assert len(goals) == 1
    assert "| put |" in (folder / "transfer.md").read_text()
    assert (folder / "figures" / "transfer.png").stat().st_size > 10_000
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("evaluations/*/kinds/seed-0/*.json")}
    assert CliRunner().invoke(app, words).exit_code == 0
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}
