"""Whole runs on a stand-in for vLLM on a GPU: engines sleep and wake in turn, and have the weights of each moment.

`vllm_run_checks.py` has the same on the real vLLM, on a processor, where engines do not sleep.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chat_runs import run, settings
from stand_in_vllm import LLM

from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.runs.stopping import RunStopped


def rows(folder: Path) -> list[dict[str, Any]]:
    stored = RunFolder(folder).rows()
    assert len(stored) == 2
    # The trainer scores what was sampled with the very weights that it trains: a stale engine would show here.
    for row in stored:
        for role in ("policy", "judge"):
            assert abs(row[role].get("kl", 0.0)) < 0.5
    return stored


def test_policy_and_judge_on_one_gpu(engines: type[LLM], tmp_path: Path) -> None:
    engine = {"kind": "vllm", "gpu_memory_utilization": 0.9}
    run(settings(tmp_path / "models", engine=engine), tmp_path / "run")
    rows(tmp_path / "run")
    assert not engines.alive
    assert engines.gpu.used == 0


@pytest.mark.slow
def test_a_run_whose_engine_died_goes_on(engines: type[LLM], tmp_path: Path) -> None:
    config = settings(tmp_path / "models", engine={"kind": "vllm", "gpu_memory_utilization": 0.9})
    left = 40

    def die(output: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise RuntimeError("EngineCore encountered an issue")

    engines.lie = staticmethod(die)
    with pytest.raises(RunStopped, match=r"EngineCore encountered an issue.*goes on"):
        run(config, tmp_path / "run")
    assert engines.gpu.used == 0
    assert not engines.alive
    run(config, tmp_path / "run")
    rows(tmp_path / "run")
    assert left < 0
