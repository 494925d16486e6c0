"""The section `engine`: only keys that do something, and what it opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from small_models import WORDS, make_small
from stand_in_vllm import LLM

from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.engines.open import open_engine
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.engines.vllm import VLLMGenerator
from rlanything_agents.engines.vllm_server import VLLMServerGenerator

SERVER = {"base_url": "http://gpu-1:8000/v1", "model": "m"}


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"tensor_parallel_size": 4}, "tensor_parallel_size has no effect with kind transformers"),
        ({"sleep": False}, "sleep has no effect with kind transformers"),
        ({"kind": "vllm", "policy": SERVER}, "policy has no effect with kind vllm"),
        ({"kind": "vllm_server"}, "needs the section `policy` or `judge`"),
        ({"kind": "vllm_server", "policy": SERVER, "tensor_parallel_size": 2}, "tensor_parallel_size has no effect"),
        ({"kind": "vllm_server", "policy": {**SERVER, "base_url": "http://gpu-1:8000"}}, "policy.base_url"),
        ({"kind": "vllm_server", "policy": {**SERVER, "base_url": "http://me:key@gpu-1/v1"}}, "policy.base_url"),
        ({"kind": "vllm_server", "policy": {**SERVER, "base_url": "file:///etc/v1"}}, "policy.base_url"),
        ({"kind": "vllm", "gpu_memory_utilization": 1.5}, "gpu_memory_utilization"),
        ({"kind": "sglang"}, "kind"),
        ({"gpus": 1}, "gpus"),
    ],
)
def test_what_has_no_effect_is_an_error(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EngineConfig.model_validate(tree)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"kind": "vllm", "tensor_parallel_size": 8, "sleep": False},
        {"kind": "vllm_server", "judge": SERVER, "sleep": True},
    ],
)
def test_a_stored_section_is_read_back(tree: dict[str, Any]) -> None:
    config = EngineConfig.model_validate(tree)
    assert EngineConfig.model_validate(config.model_dump(mode="json")) == config


def test_who_sleeps() -> None:
    assert EngineConfig(kind="vllm").sleeps
    assert not EngineConfig(kind="vllm_server", policy=SERVER).sleeps  # type: ignore[arg-type]
    assert not EngineConfig().sleeps


def test_what_is_opened(engines: type[LLM], tmp_path: Path) -> None:
    model = make_small()
    served = EngineConfig.model_validate({"kind": "vllm_server", "judge": SERVER})
    opened = [
        open_engine(config, role, model, WORDS, tmp_path)
        for config, role in (
            (EngineConfig(), "policy"),
            (EngineConfig(kind="vllm"), "policy"),
            (served, "judge"),
            (served, "policy"),
        )
    ]
    expected = [TransformersGenerator, VLLMGenerator, VLLMServerGenerator, TransformersGenerator]
    assert [type(generator) for generator in opened] == expected
    assert all(generator.trainable for generator in opened)
    assert not engines.alive  # until it is needed
