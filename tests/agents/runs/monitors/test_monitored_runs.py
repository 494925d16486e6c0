"""A reward model that really collapses: it starts at chance among episodes that are all lost, and nothing is balanced.

Then calling a step wrong is rewarded whatever it is; the votes come to agree, and there is no gradient out of it.
"""

from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rlanything_agents.config import RunConfig
from rlanything_agents.config.monitors import MonitorsConfig
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.progress import Reporter
from rlanything_agents.runs.stopping import RunStopped
from rlanything_agents.runs.train import train
from rlanything_agents.tools.cli import app

SMALL = {"hidden_size": 32, "layers": 1}
TO_COLLAPSE = {
    "name": "collapse",
    "seed": 1,
    "threads": 1,
    "iterations": 14,
    "policy": SMALL,
    "reward_model": SMALL,
    "warm_start": {"demonstrations": 60, "max_steps": 8, "epochs": 6, "batch_size": 8, "judge_steps": 2000,
                   "judge_epochs": 2, "label_noise": 0.5},
    "rollout": {"tasks": 4, "rollouts": 4, "max_steps": 8},
    "feedback": {"lam": 1.0, "policy_band": None, "judge_band": None, "balance": False},
    "judge": {"votes": 3, "steps": 128},
    "judge_trainer": {"learning_rate": 3e-3},
    "policy_trainer": {"learning_rate": 1e-5},
    "curriculum": {"pool_size": 4, "rewriter": None, "knobs": {"rooms": ["Bathroom"], "kinds": ["simple"]}},
    "evaluation": {"episodes": 2, "max_steps": 4, "judge_episodes": 2, "panels": ["valid_seen"]},
}  # fmt: skip


@pytest.mark.slow
def test_a_real_collapse_is_seen_stops_the_run_and_is_in_every_report(tmp_path: Path) -> None:
    config, folder = RunConfig.model_validate(TO_COLLAPSE), RunFolder(tmp_path / "collapse")
    watched = config.model_copy(update={"monitors": MonitorsConfig(stop=("judge_collapse",))})
    with pytest.raises(RunStopped, match=r"stopped after iteration 5: .*no better than chance: .*\(judge_collapse\)"):
        train(watched, folder, Reporter.silent(), command="test")
    assert folder.checkpoints.latest() == (5, folder.checkpoints.path / "0005")
    page = folder.report.read_text()
    assert "stopped after iteration 5" in page
    assert "success, in-domain" in page, "the start is told, although there is no end"
    assert not folder.summary.exists(), "the run can go on"

    summary = train(config, folder, Reporter.silent(), command="test")
    first, *_, last = folder.rows()
    assert first["feedback"]["mixed_rate"] > 0.5
    assert last["feedback"]["mixed_rate"] < 0.02
    assert last["feedback"]["p_minus"] > 0.99, "every step is called wrong"
    told = " ".join(line for row in folder.rows() for line in row["alarms"].get("judge_collapse", []))
    assert "it has nothing to learn from" in told
    health = {line["signature"]: line for line in summary["health"]}
    assert health["judge_collapse"]["when"] == "5-14"
    page = folder.report.read_text()
    assert "stopped after" not in page
    assert "<h2>Health</h2>" in page
    assert health["judge_collapse"]["said"] in unescape(page)
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor", str(folder.path)])
    assert result.exit_code == 0, "sick, but whole"
    assert "iterations 5-14: judge_collapse" in result.stdout
