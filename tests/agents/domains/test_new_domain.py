"""A domain that the package does not know trains too: one new file, and the line that announces it."""

import shutil
from pathlib import Path

import pytest
from families import checkpoint

from rlanything_agents.config import ConfigError, RunConfig
from rlanything_agents.domains.supervision import get_supervision
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.stored.episodes import read_episodes
from rlanything_agents.runs.train import train
from rlanything_task_pools import TaskPool

SOURCE = Path(__file__).parents[3] / "examples" / "fourth_domain" / "number_path.py"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example as pip installs it: its file, and its entry point."""
    site = tmp_path / "site"
    info = site / "number_path-0.1.dist-info"
    info.mkdir(parents=True)
    shutil.copy(SOURCE, site)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: number-path\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[rlanything.domains]\nnumberpath = number_path:DOMAIN\n")
    monkeypatch.syspath_prepend(site)


@pytest.mark.usefixtures("installed")
def test_a_foreign_domain_trains_without_any_supervision(tmp_path: Path) -> None:
    model = {"dtype": "float32", "max_tokens": 8, "context": 2048}
    config = RunConfig.model_validate(
        {
            "name": "foreign",
            "domain": "numberpath",
            "threads": 1,
            "iterations": 1,
            "policy": {"checkpoint": str(checkpoint("qwen2.5", tmp_path / "policy")), **model},
            "reward_model": {"checkpoint": str(checkpoint("llama3", tmp_path / "judge")), **model},
            "rollout": {"tasks": 2, "rollouts": 2, "max_steps": 2},
            "feedback": {"policy_band": None, "judge_band": None},
            "judge": {"votes": 2},
            "curriculum": {"pool_size": 2, "knobs": {"length": 1}},
            "evaluation": {"episodes": 2, "max_steps": 2, "judge_episodes": 2, "panels": ["valid_seen"]},
        }
    )
    folder = RunFolder(tmp_path / "run")
    summary = train(config, folder, Reporter.silent(), command="rlanything train")
    assert summary["after"]["panels"]["valid_seen"]["episodes"] == 2
    (row,) = folder.rows()
    assert row["feedback"]["masked"] == 0
    episodes = list(read_episodes(folder.trajectories / "0001.jsonl.gz"))
    assert len(episodes) >= 4
    assert all("Reach" in episode.opening for episode in episodes)
    assert all(len(turn.votes) == 2 for episode in episodes for turn in episode.turns), "its steps were judged"
    with TaskPool.open(folder.pool) as pool:
        assert len(pool.outcomes()) >= 4


def test_what_nobody_knows_of_a_domain_is_told() -> None:
    supervision = get_supervision("numberpath")
    with pytest.raises(ConfigError, match="no demonstrator"):
        supervision.expert(0)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"environment\.view to full"):
        supervision.judge_texts(None)  # type: ignore[attr-defined]
