"""A real ``vllm serve`` that a trainer gives its weights, in an environment of its own (`test_vllm_real.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_models import WORDS, scored, shake
from vllm_models import TOLERANCE, make_adapted, make_model
from vllm_served import Served, serving, training

from rlanything_agents.config.engine import ServerConfig
from rlanything_agents.engines.handover import WeightsDiffer
from rlanything_agents.engines.vllm_client import ServedGenerator, WeightsLost
from rlanything_agents.engines.vllm_server import VLLMServerGenerator
from rlanything_envs.llm import SamplingParams
from rlanything_envs.llm.choices import OneOf

PROMPTS = [[2, 6, 7, 3], [2, 8, 3]]
PARAMS = SamplingParams(12, n=3, seed=5)


def config(server: Served, name: str = "policy") -> ServerConfig:
    return ServerConfig(base_url=server.base_url, model=name)


def is_from(model: Any, generator: Any, version: int) -> None:
    for prompt, samples in zip(PROMPTS, generator.generate(PROMPTS, PARAMS), strict=True):
        assert len({tuple(sample.token_ids or ()) for sample in samples}) > 1
        for sample in samples:
            assert not sample.error
            assert sample.weights_version == version
            assert sample.logprobs == pytest.approx(scored(model, prompt, sample.token_ids or []), abs=TOLERANCE)


def hand_over(model: Any, generator: Any) -> None:
    """Change the weights twice; the generator samples from the newest ones each time."""
    for version in range(3):
        if version:
            shake(model, version)
            generator.update_weights(model, version)
        is_from(model, generator, version)


def stored(folder: Path, seed: int) -> Path:
    make_model(seed).save_pretrained(folder)
    WORDS.save_pretrained(folder)
    return folder


def test_weights_choices_and_a_restart(tmp_path: Path) -> None:
    model = make_model()
    server = training(stored(tmp_path / "served", 9), "policy", tmp_path / "server.log")
    with serving(server), VLLMServerGenerator(config(server), model, WORDS, tmp_path / "policy") as generator:
        hand_over(model, generator)
        assert generator._weights.path().is_relative_to("/dev/shm")
        words = OneOf(("w1 w2", "w3", "w4 w5 w6"))
        (free, chosen) = generator.generate(PROMPTS, SamplingParams(12, n=4, seed=1, choices=(None, words)))
        assert {sample.text for sample in chosen} <= set(words.options)
        assert not {sample.text for sample in free} & set(words.options)
        with ServedGenerator(config(server), WORDS) as other:
            other.take(generator.serve())
            is_from(model, other, 2)
            server.kill()
            server.start()
            server.wait()
            with pytest.raises(WeightsLost):
                other.generate(PROMPTS, PARAMS)
        is_from(model, generator, 2)
        # Without the extension vLLM keeps its packed output head, and the check finds that out.
        generator._packs = False
        shake(model, 3)
        generator.update_weights(model, 3)
        with pytest.raises(WeightsDiffer, match=r"--worker-extension-cls .* other weights than the trainer"):
            generator.generate(PROMPTS, PARAMS)


def test_a_server_that_cannot_see_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The real engine survives a load that fails, and loads the same weights from the disk."""
    model = make_model()
    server = training(stored(tmp_path / "served", 9), "policy", tmp_path / "server.log")
    with serving(server), VLLMServerGenerator(config(server), model, WORDS, tmp_path / "policy") as generator:
        command = generator._command

        def elsewhere(path: str, body: Any) -> None:
            if path == "/collective_rpc" and "/dev/shm" in body["kwargs"]["weights_path"]:
                body = body | {"kwargs": {"weights_path": "/dev/shm/elsewhere"}}
            command(path, body)

        monkeypatch.setattr(generator, "_command", elsewhere)
        hand_over(model, generator)
        assert [path.name for path in (tmp_path / "policy").glob("weights-*")] == ["weights-000002"]
    assert caplog.text.count("through the disk, not through shared memory") == 1


def test_adapters(tmp_path: Path) -> None:
    model = make_adapted(tmp_path / "base")
    WORDS.save_pretrained(tmp_path / "base")
    options = ("--enable-lora", "--max-lora-rank", "8")
    server = Served(tmp_path / "base", "policy", tmp_path / "server.log", options, VLLM_ALLOW_RUNTIME_LORA_UPDATING="1")
    with serving(server), VLLMServerGenerator(config(server), model, WORDS, tmp_path / "policy") as generator:
        hand_over(model, generator)
