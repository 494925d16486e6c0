"""4-bit bases: settings, plan, and the real bitsandbytes on a processor (`quantized_checks.py`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from families import checkpoint
from isolated import Isolated
from pydantic import ValidationError

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.models.pretrained import load_model, load_template
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.planning.checks import dry_run
from rlanything_envs.errors import MissingExtra
from rlanything_verifiers.installed import install

QUANTIZED = {"checkpoint": "Qwen/Qwen3-8B", "lora": {"rank": 16}, "quantization": "4bit", "dtype": "bfloat16"}


@pytest.mark.slow
def test_bitsandbytes() -> None:
    Isolated("quantized").run_tests("agents/runs/quantized_checks.py", marks="")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is not installed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else found(name))


@pytest.mark.usefixtures("without")
def test_a_missing_package_is_named_before_anything_is_loaded(tmp_path: Path) -> None:
    folder = checkpoint("qwen3", tmp_path / "model")
    plain = CheckpointConfig.model_validate({"checkpoint": str(folder), "dtype": "float32", "context": 4096})
    words = load_template(plain).tokenizer
    four = plain.model_copy(update={"quantization": "4bit"})
    with pytest.raises(MissingExtra, match=r"quantization 4bit needs .* pip install -e '.*\[quantized\]'"):
        load_model(four, words, seed=0)
    config = RunConfig.model_validate({"name": "a", "environment": {"view": "short"}, "policy": QUANTIZED})
    found = {finding.topic: finding for finding in dry_run(config, RunFolder(tmp_path / "run"))}
    assert found["extra quantized"].good is False
    assert found["extra quantized"].remedy == install("quantized")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy": {**QUANTIZED, "lora": None}}, "without lora nothing is trained: set lora"),
        ({"policy": {**QUANTIZED, "quantization": "3bit"}}, r"policy\.quantization"),
        ({"engine": {"kind": "vllm"}}, r"policy\.quantization 4bit with engine\.kind vllm"),
        (
            {"engine": {"kind": "vllm_server", "policy": {"base_url": "http://gpu:8000/v1", "model": "m"}}},
            r"policy\.quantization 4bit with engine\.kind vllm_server",
        ),
    ],
)
def test_what_cannot_be_quantized_is_refused(changes: dict[str, Any], message: str) -> None:
    tree = {"name": "a", "policy": QUANTIZED, "reward_model": {"base": "policy"}, **changes}
    with pytest.raises(ValidationError, match=message):
        RunConfig.model_validate(tree)
