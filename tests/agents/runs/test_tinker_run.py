"""Whole runs whose models are adapters at the Tinker service, on the stand-in for its SDK."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_runs import Killed, SomeSolve, run, settings
from transformers import AutoModelForCausalLM

from rlanything_agents.config import RunConfig, SharedConfig
from rlanything_agents.runs import learners
from rlanything_agents.runs.folder import RunFolder

sys.path.append(str(Path(__file__).parents[1] / "engines"))
from stand_in_tinker import stand_in

pytestmark = pytest.mark.slow


def remote(models: Path, **changes: Any) -> RunConfig:
    shared = SharedConfig(base="policy", max_tokens=12, context=4096)
    return settings(models, engine={"kind": "tinker"}, reward_model=shared, **changes)


def served(monkeypatch: pytest.MonkeyPatch, config: RunConfig) -> Any:
    service, fake = stand_in(AutoModelForCausalLM.from_pretrained(config.policy.checkpoint).float())
    monkeypatch.setattr(learners, "TinkerService", lambda: service)
    return fake


def test_a_run_is_interrupted_and_resumes_to_the_same_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = remote(tmp_path / "models")
    served(monkeypatch, config)
    whole = run(config, tmp_path / "whole", [SomeSolve(2)])
    fake = served(monkeypatch, config)
    with pytest.raises(Killed):
        run(config, tmp_path / "run", [SomeSolve(1)])
    again = run(config, tmp_path / "run", [SomeSolve(2)])
    rows, others = RunFolder(tmp_path / "run").rows(), RunFolder(tmp_path / "whole").rows()
    assert [row["policy"] for row in rows] == [row["policy"] for row in others]
    assert all(row["policy"]["optimizer_steps"] and row["policy"]["sampler_ratio"] < 1.01 for row in rows)
    assert min(rows[1]["service"].values()) > 0
    assert again["service"].startswith("At the service: ") == whole["service"].startswith("At the service: ")
    assert "prompt tokens" in (tmp_path / "run" / "report.html").read_text()
    places = [tmp_path / "run" / "checkpoints" / "0002" / role / "tinker.json" for role in ("policy", "judge")]
    paths = {json.loads(place.read_text())["path"] for place in places}
    assert len(paths) == 2
    assert paths <= set(fake.stored)
    assert fake.closed
