"""8-bit AdamW and 4-bit bases with the real bitsandbytes (`test_quantized.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from bitsandbytes.nn import Linear4bit
from bitsandbytes.optim import GlobalOptimManager
from chat_runs import LORA, run, settings
from families import checkpoint
from safetensors.torch import load_file
from test_chat_run import interrupted, moved, stored

from rlanything_agents.config import CheckpointConfig, RunConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.transformers import TransformersGenerator
from rlanything_agents.models.pretrained import load_base, load_template, sharing_weights, with_adapters
from rlanything_agents.runs.folder import RunFolder
from rlanything_agents.tools.planning.memory import EIGHT_BIT, shape_of
from rlanything_agents.training.learner import Learner
from rlanything_agents.training.samples import Sample
from rlanything_agents.training.trainer import make_trainer
from rlanything_envs.llm.generator import SamplingParams

SAMPLES = [Sample([1, 2], [k, k + 1], [0.5, 0.5], [1.0, 0.5], [-6.0, -6.0]) for k in range(3, 43)]
WIDE = {"rank": 64, "alpha": 64}
"""Adapters of 64 x 64 numbers, as many as 8-bit moments begin with."""


@pytest.fixture(autouse=True)
def no_other_optimizers() -> None:
    """Forget the embeddings of other tests: bitsandbytes knows them by the place of a weight in any optimizer."""
    GlobalOptimManager.get_instance().initialize()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint("qwen3", tmp_path_factory.mktemp("models") / "qwen3", hidden=64)


def learner(folder: Path, trainer: dict[str, Any], **keys: Any) -> Learner:
    config = CheckpointConfig.model_validate(
        {"checkpoint": str(folder), "dtype": "float32", "context": 4096, "max_tokens": 8, **keys}
    )
    words = load_template(config).tokenizer
    model = with_adapters(load_base(config, words), config, seed=3)
    updates = TrainerConfig(**{"learning_rate": 1e-3, "optimizer_steps": 2, "epsilon": 1e-6, **trainer})
    return Learner(model, make_trainer(model, words, updates), updates, words)


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


def moments(each: Learner) -> dict[str, dict[str, Any]]:
    optimizer = each.trainer._plain_optimizer()  # type: ignore[attr-defined]
    return {
        name: optimizer.state[weight] for name, weight in each.model.named_parameters() if weight in optimizer.state
    }


# ---- 8-bit AdamW


@pytest.mark.parametrize("keys", [{}, {"dtype": "bfloat16"}, {"lora": WIDE}, {"lora": WIDE, "quantization": "4bit"}])
def test_8_bit_adamw_goes_nearly_where_adamw_goes(folder: Path, keys: dict[str, Any], tmp_path: Path) -> None:
    exact, small = learner(folder, {}, **keys), learner(folder, {"optim": "adamw_bnb_8bit"}, **keys)
    start = torch.cat([w.detach().float().flatten() for w in exact.model.parameters() if w.requires_grad])
    for _ in range(3):
        for each in (exact, small):
            assert each.update(SAMPLES, 1.0, groups=1).optimizer_steps == 2
    way = float((weights(exact) - start).norm())
    assert way > 0
    assert float((weights(exact) - weights(small)).norm()) < 0.2 * way

    state = moments(small)
    eight = {name for name, entry in state.items() if entry["state1"].dtype == torch.uint8}
    assert eight == {
        name for name, weight in small.model.named_parameters() if name in state and weight.numel() >= 4096
    } - {"model.embed_tokens.weight"}
    assert eight
    low = keys.get("dtype") == "bfloat16" and "lora" not in keys
    assert all(("master" in entry) == low for entry in state.values())
    held = sum(
        value.nbytes
        for entry in state.values()
        for name, value in entry.items()
        if isinstance(value, torch.Tensor) and "qmap" not in name
    )
    size = shape_of(small.model.config)
    numbers = None if "lora" not in keys else size.adapter_parameters(64)
    planned = size.optimizer_bytes(2 if low else 4, numbers, "adamw_bnb_8bit")
    exact_ones = "model.embed_tokens.weight"
    short = sum(entry["state1"].numel() for name, entry in state.items() if name not in eight | {exact_ones})
    assert held == pytest.approx(planned + (8 - EIGHT_BIT) * short, rel=0.01)
    assert held < 0.8 * size.optimizer_bytes(2 if low else 4, numbers)

    other = learner(folder, {"optim": "adamw_bnb_8bit"}, **keys)
    small.trainer.rest()
    small.save(tmp_path)
    other.load(tmp_path)
    for each in (small, other):
        each.update(SAMPLES[5:30], 1.0, groups=1)
    assert torch.equal(weights(small), weights(other))
    for name, entry in moments(small).items():
        for key, value in entry.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(moments(other)[name][key])), (name, key)


def test_8_bit_moments_can_begin_again(folder: Path) -> None:
    """A reset before every update leaves the master weights, and is that of a new optimizer."""
    fresh = {"optim": "adamw_bnb_8bit", "fresh_optimizer": True}
    low, full = learner(folder, fresh, dtype="bfloat16"), learner(folder, fresh)
    for each in (low, full):
        each.update(SAMPLES, 1.0, groups=1)
    before = weights(low)
    low.trainer._forget_moments()  # type: ignore[attr-defined]
    assert torch.equal(weights(low), before)
    for entry in moments(low).values():
        assert entry["step"] == 0
        assert not any(entry[name].any() for name in ("state1", "state2", "absmax1") if name in entry)
        assert "qmap1" not in entry or entry["qmap1"].abs().max() == 1
    full.trainer._forget_moments()  # type: ignore[attr-defined]
    assert full.trainer.optimizer is None  # type: ignore[attr-defined]
    assert low.update(SAMPLES, 1.0, groups=1).optimizer_steps == 2


# ---- 4-bit bases


@pytest.mark.parametrize("name", ["qwen3", "llama3"])
def test_a_4_bit_base_generates_learns_and_resumes(name: str, tmp_path: Path) -> None:
    made = checkpoint(name, tmp_path / "base", hidden=64)
    keys = {"lora": LORA, "quantization": "4bit"}
    each, whole = learner(made, {}, **keys), learner(made, {}, lora=LORA)
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
    assert held == pytest.approx(size.weight_bytes(4, quantized=True), rel=0.01)
    assert held < 0.75 * size.weight_bytes(4)

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
    stats = each.update(samples, 30.0, groups=1)
    assert stats.sampler_ratio == pytest.approx(1, abs=1e-4)
    assert stats.sampler_kl < 1e-8
    assert {w.dtype for w in each.model.parameters() if w.requires_grad} == {torch.float32}

    each.save(tmp_path / "stored")
    assert all(".lora_" in key for key in load_file(tmp_path / "stored" / "adapter_model.safetensors"))
    again = learner(made, {}, **keys)
    again.load(tmp_path / "stored")
    for one in (each, again):
        one.update(SAMPLES, 1.0, groups=1)
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


# ---- A run


def test_a_run_with_both_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Policy and reward model on one 4-bit base, with 8-bit AdamW; interrupted in its second iteration."""
    policy = {"lora": WIDE, "quantization": "4bit"}
    eight = {"optim": "adamw_bnb_8bit"}
    plain = settings(tmp_path / "models", policy=policy, policy_trainer=eight, judge_trainer=eight)
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
