"""Whole runs on a stand-in for vLLM on a GPU: engines sleep and wake in turn, and have the weights of each moment.

`vllm_run_checks.py` has the same on the real vLLM, on a processor, where engines do not sleep.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from chat_runs import LORA, run, settings
from stand_in_server import StandInServer
from stand_in_vllm import LLM

from rlanything_agents.config import RunConfig
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


def on_one_base(folder: Path, engine: dict[str, Any]) -> RunConfig:
    plain = settings(folder, policy={"lora": LORA}).model_dump(mode="json")
    shared = {"base": "policy", "max_tokens": 12, "context": 4096}
    return RunConfig.model_validate({**plain, "reward_model": shared, "engine": engine})


@pytest.mark.slow
def test_two_engines_for_models_on_one_base(engines: type[LLM], tmp_path: Path) -> None:
    """Each engine has a base of its own, and the adapters of its model."""
    run(on_one_base(tmp_path / "models", {"kind": "vllm", "gpu_memory_utilization": 0.9}), tmp_path / "run")
    rows(tmp_path / "run")
    assert not engines.alive


@pytest.mark.slow
def test_one_server_for_models_on_one_base(engines: type[LLM], tmp_path: Path) -> None:
    """One base, and the adapters of both models under names of their own."""
    base = settings(tmp_path / "models").policy.checkpoint  # type: ignore[union-attr]
    server = StandInServer(engines, {"model": base, "tokenizer": base}, name="base", dev=False, lora=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    own = {"base_url": server.base_url, "model": "base"}
    try:
        config = on_one_base(tmp_path / "models", {"kind": "vllm_server", "policy": own, "judge": own})
        run(config, tmp_path / "run")
        names = list(dict.fromkeys(body["model"] for body in server.bodies))
        assert len(server.adapters) == 2
        assert len(names) > 4, "each update gives a server another name of adapters"
        assert "base" not in names
        rows(tmp_path / "run")
    finally:
        server.shutdown()
        server.server_close()
    own |= {"model": "other"}
    apart = {**config.model_dump(mode="json"), "reward_model": {"checkpoint": base, "lora": LORA}}
    with pytest.raises(ValueError, match=r"are one server .*, which has one base"):
        RunConfig.model_validate(apart)
    with pytest.raises(ValueError, match=r"leave engine\.sleep out"):
        on_one_base(tmp_path / "models", {"kind": "vllm_server", "policy": own, "judge": own, "sleep": True})


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
    with pytest.raises(RunStopped, match=r"EngineCore encountered an issue.*resumes"):
        run(config, tmp_path / "run")
    assert engines.gpu.used == 0
    assert not engines.alive
    run(config, tmp_path / "run")
    rows(tmp_path / "run")
    assert left < 0
