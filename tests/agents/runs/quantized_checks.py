"""4-bit bases with the real bitsandbytes (`test_quantized.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.nn import Linear4bit
from chat_runs import LORA, run, settings
from families import checkpoint
from safetensors.torch import load_file
from test_chat_run import interrupted, moved, stored

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_base, load_template, sharing_weights, with_adapters
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.planning.memory import FOUR_BITS, shape_of
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import SampleTrainer
from rlanything_envs.llm.generator import SamplingParams

SAMPLES = [Sample([1, 2], [k, k + 1], [0.5, 0.5], [1.0, 0.5], [-6.0, -6.0]) for k in range(3, 43)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint("qwen3", tmp_path_factory.mktemp("models") / "qwen3", hidden=64)


def learner(folder: Path, **keys: Any) -> Learner:
    config = CheckpointConfig.model_validate(
        {"checkpoint": str(folder), "dtype": "float32", "context": 4096, "max_tokens": 8, **keys}
    )
    words = load_template(config).tokenizer
    model = with_adapters(load_base(config, words), config, seed=3)
    updates = TrainerConfig(**{"learning_rate": 1e-3, "optimizer_steps": 2, "epsilon": 1e-6})
    return Learner(model, SampleTrainer(model, words, updates), updates, words)


def weights(each: Learner) -> torch.Tensor:
    """All trained weights, or their float32 master weights."""
    optimizer = each.trainer._plain_optimizer()  # type: ignore[attr-defined]
    return torch.cat(
        [
            optimizer.state.get(weight, {}).get("master", weight).detach().float().flatten()
            for weight in each.model.parameters()
            if weight.requires_grad
        ]
    )


@pytest.mark.parametrize("name", ["qwen3", "llama3"])
def test_a_4_bit_base_generates_learns_and_resumes(name: str, tmp_path: Path) -> None:
    made = checkpoint(name, tmp_path / "base", hidden=64)
    keys = {"lora": LORA, "quantization": "4bit"}
    each, whole = learner(made, **keys), learner(made, lora=LORA)
    layers = [module for module in each.model.modules() if isinstance(module, Linear4bit)]
    assert len(layers) == 7 * each.model.config.num_hidden_layers
    assert all(module.weight.dtype == torch.uint8 for module in layers)
    assert {w.dtype for w in each.model.parameters() if w.requires_grad} == {torch.float32}

    frozen = {weight.data_ptr(): weight for weight in each.model.parameters() if not weight.requires_grad}
    held = sum(weight.nbytes for weight in frozen.values())
    for module in layers:
        constants = module.weight.quant_state
        held += constants.absmax.nbytes + constants.state2.absmax.nbytes
    size = shape_of(each.model.config)
    linear = sum(a * b for a, b in size.linear)
    assert held == pytest.approx(FOUR_BITS * linear + 4 * (size.parameters - linear), rel=0.01)
    assert held < 0.75 * 4 * size.parameters

    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        near = (each.model(ids).logits - whole.model(ids).logits).abs().mean() / whole.model(ids).logits.std()
    assert 0.001 < near < 0.5, "rounded, and still the same model"

    prompts = [[1, 2, 3 + k] for k in range(4)]
    engine = TransformersGenerator(each.model, each.tokenizer)  # type: ignore[arg-type]
    found = engine.generate(prompts, SamplingParams(6, seed=1))
    samples = [
        Sample(prompt, own.token_ids, [1.0] * len(own.token_ids), [1.0] * len(own.token_ids), own.logprobs or [])
        for prompt, (own,) in zip(prompts, found, strict=True)
    ]
    stats = each.update(samples, 30.0)
    assert stats.sampler_ratio == pytest.approx(1, abs=1e-4)
    assert stats.sampler_kl < 1e-8
    assert {w.dtype for w in each.model.parameters() if w.requires_grad} == {torch.float32}

    each.save(tmp_path / "stored")
    assert all(".lora_" in key for key in load_file(tmp_path / "stored" / "adapter_model.safetensors"))
    again = learner(made, **keys)
    again.load(tmp_path / "stored")
    for one in (each, again):
        one.update(SAMPLES, 1.0)
    with torch.no_grad():
        assert torch.equal(each.model(ids).logits, again.model(ids).logits)
    assert torch.equal(weights(each), weights(again))


def test_two_models_have_one_4_bit_base(folder: Path) -> None:
    keys = {"lora": LORA, "quantization": "4bit", "dtype": "float32", "context": 4096}
    config = CheckpointConfig.model_validate({"checkpoint": str(folder), **keys})
    first = load_base(config, load_template(config).tokenizer)
    second = sharing_weights(first)
    pairs = [
        (one, other)
        for one, other in zip(first.modules(), second.modules(), strict=True)
        if isinstance(one, Linear4bit)
    ]
    assert pairs
    for one, other in pairs:
        assert one is not other
        assert one.weight.data_ptr() == other.weight.data_ptr()
        assert one.weight.quant_state.absmax.data_ptr() == other.weight.quant_state.absmax.data_ptr()
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        before = first(ids).logits
        adapted = with_adapters(second, config, seed=0)
        for name, weight in adapted.named_parameters():
            if "lora_B" in name:
                weight.fill_(0.1)
        assert not torch.equal(adapted(ids).logits, before)
        assert torch.equal(first(ids).logits, before)


def test_a_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Policy and reward model on one 4-bit base; interrupted in its second iteration."""
    policy = {"lora": LORA, "quantization": "4bit"}
    plain = settings(tmp_path / "models", policy=policy)
    shared = {"base": "policy", "max_tokens": 12, "context": 4096}
    config = RunConfig.model_validate({**plain.model_dump(mode="json"), "reward_model": shared})
    run(config, tmp_path / "run")
    interrupted(config, tmp_path / "again", monkeypatch)
    rows = RunFolder(tmp_path / "run").rows()
    assert len(rows) == 2
    for role in ("policy", "judge"):
        assert all(row[role]["optimizer_steps"] for row in rows)
        learnt = stored(tmp_path / "run", 2, role)
        assert any(weight.any() for name, weight in learnt.items() if "lora_B" in name)
        assert not moved(learnt, stored(tmp_path / "again", 2, role)), role
