"""Bytes of models, updates and generation: against real models, published counts and numbers worked out by hand."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from families import checkpoint
from random_models import random_model
from transformers import (
    GPT2Config,
    LlamaConfig,
    LlamaForCausalLM,
    PretrainedConfig,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from rlanything_agents.config import RunConfig
from rlanything_agents.config.trainer import TrainerConfig
from rlanything_agents.engines.transformers import TOKENS
from rlanything_agents.models.checkpoint import CheckpointError
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.runs.learners import Learners
from rlanything_agents.tools.doctor.machine import human
from rlanything_agents.tools.planning import memory
from rlanything_agents.tools.planning.memory import FOUR_BITS, NotEstimated, Phase, phases, planned, shape_of
from rlanything_agents.training.samples import Sample
from rlanything_envs.llm.generator import SamplingParams

FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}
SHAPE = {
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 80,
    "vocab_size": 101,
}


def real(kind: str, **changes: Any) -> Any:
    config, model = FAMILIES[kind]
    torch.manual_seed(0)
    return model(config(**SHAPE, **changes))


def count(model: torch.nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())


def qwen25_7b() -> PretrainedConfig:
    return Qwen2Config(
        hidden_size=3584,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        intermediate_size=18944,
        vocab_size=152064,
        tie_word_embeddings=False,
    )


def test_the_published_number_of_parameters() -> None:
    shape = shape_of(qwen25_7b())
    assert shape.parameters == 7_615_616_512
    assert shape.cached * 2 == 2 * 28 * 4 * 128 * 2


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("kind", "changes"), [("llama", {}), ("qwen2", {}), ("qwen3", {"head_dim": 16})])
def test_parameters_and_cache_are_those_of_a_real_model(kind: str, changes: dict[str, int], tied: bool) -> None:
    model = real(kind, tie_word_embeddings=tied, **changes)
    shape = shape_of(model.config)
    assert shape.parameters == count(model)
    cache = model(torch.zeros(2, 5, dtype=torch.long), use_cache=True).past_key_values
    stored = sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values))
    assert shape.cached * 4 * 2 * 5 == stored


@pytest.mark.parametrize("kind", FAMILIES)
def test_what_the_blocks_keep_for_the_backward_pass(kind: str) -> None:
    """Storage that autograd holds, weights left out; masks and rotations are the same for all blocks."""
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    def held(layers: int) -> int:
        model = real(kind, attn_implementation="sdpa").float()
        model.model.layers = model.model.layers[:layers]
        own = {weights.untyped_storage().data_ptr() for weights in model.parameters()}
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            output = model.model(torch.zeros(1, 64, dtype=torch.long), use_cache=False).last_hidden_state
        total = sum(size for pointer, size in kept.items() if pointer not in own)
        output.sum().backward()
        return total

    shape = shape_of(real(kind).config)
    assert shape.activation_bytes(64, 4) / shape.layers == pytest.approx(held(3) - held(2), rel=0.3)


def test_low_rank_adapters() -> None:
    peft = pytest.importorskip("peft")
    model = real("qwen2")
    settings = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, settings)
    assert shape_of(real("qwen2").config).adapter_parameters(4) == sum(
        weights.numel() for weights in adapted.parameters() if weights.requires_grad
    )


def rows(config: RunConfig) -> dict[str, Phase]:
    return {phase.name: phase for phase in phases(config, planned(config))}


def run(policy: dict[str, Any], reward_model: dict[str, Any] | None = None, **changes: Any) -> RunConfig:
    tree = {"name": "a", "policy": policy, "reward_model": reward_model or policy, "feedback": "masked", **changes}
    return RunConfig.model_validate(tree)


TINY = {"hidden_size": 32, "layers": 1}


def test_a_model_made_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models of n float32 weights: 4 n for weights and gradients, 8 n for the moments, 12 n of the other one."""
    monkeypatch.setattr(memory, "available", lambda: 1e9)
    config = run(TINY, rollout={"tasks": 2, "rollouts": 3, "max_steps": 4})
    (policy, _), words = planned(config), word_tokenizer(list("abc"))
    vocabulary = policy.shape.vocabulary
    n = count(random_model(words, **TINY)) + (vocabulary - len(words)) * 32
    assert policy.shape.parameters == n
    learns = rows(config)["policy learns"]
    assert {name: learns.parts[name] for name in ("weights", "gradients", "optimizer", "other model")} == {
        "weights": 4 * n,
        "gradients": 4 * n,
        "optimizer": 8 * n,
        "other model": 12 * n,
    }
    assert policy.stored == 12 * n
    assert policy.longest == 213 == round(70 + 4 * (9 + 64 / 3) + 64 / 3)
    writes = rows(config)["policy writes"]
    stays = {"weights": 4 * n, "optimizer": 8 * n, "other model": 12 * n}
    assert writes.parts == {**stays, "cache": 4 * 2 * 8 * 6 * 213}
    assert writes.note == "6 sequences of 213 tokens"
    assert (writes.limit, writes.total) == (1e9, sum(writes.parts.values()))
    votes = rows(config)["judge writes"]
    assert votes.parts == {**stays, "cache": 4 * 2 * 8 * (3 * 6 * 4) * 213}, "three votes on four steps of six episodes"
    assert votes.note == "72 sequences of 213 tokens"


@pytest.fixture
def model(tmp_path: Any) -> dict[str, Any]:
    folder = checkpoint("qwen3", tmp_path / "model")
    return {"checkpoint": str(folder), "dtype": "bfloat16", "context": 2000, "max_tokens": 100}


def test_a_base_of_both_models_counts_once(model: dict[str, Any]) -> None:
    low = {**model, "lora": {"rank": 8}}
    apart, shared = rows(run(low)), rows(run(low, {"base": "policy"}))
    shape = planned(run(low))[0].shape
    adapters = shape.adapter_parameters(8)
    assert shared["policy learns"].parts["weights"] == 2 * shape.parameters + 4 * adapters
    for name in ("policy learns", "judge learns", "policy writes", "judge writes"):
        assert shared[name].parts["other model"] == (4 + 8) * adapters, "in float32, with their moments"
        assert apart[name].parts["other model"] - shared[name].parts["other model"] == 2 * shape.parameters


@pytest.mark.parametrize("lora", [None, {"rank": 8}])
def test_a_run_holds_what_the_plan_says_while_a_model_writes(
    model: dict[str, Any], lora: dict[str, int] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights and optimizer states after an update of both models; the cache of one is dropped as the other writes."""
    monkeypatch.setattr("rlanything_agents.training.trainer.MOST_SAMPLER_RATIO", math.inf)
    config = run({**model, "lora": lora}, {"base": "policy"} if lora else None)
    both = Learners(config, tmp_path)
    learners = (both.policy, both.judge)
    for learner in learners:
        learner.update([Sample([1], [2, 3], [0.5, 0.5], [1.0, 1.0], [-1.0, -1.0])], 1.0)
    params, prompt = SamplingParams(2, seed=0, keys=(0,)), [both.actor.renderer.opening("nothing")]
    both.judge_model.generator.generate(prompt, params)
    both.actor.engine.generate(prompt, params)
    policy, judge = both.actor.engine.generator, both.judge_model.generator.generator
    assert (policy._kept is None, judge._kept is None) == (False, True)
    weights = {weight.data_ptr(): weight for learner in learners for weight in learner.model.parameters()}
    assert all(weight.grad is None for weight in weights.values())
    states = [state for learner in learners for state in learner.trainer._plain_optimizer().state.values()]
    held = [*weights.values(), *(value for state in states for value in state.values() if value.ndim)]
    found = rows(config)
    for name in ("policy writes", "judge writes"):
        assert found[name].total - found[name].parts["cache"] == sum(one.nbytes for one in held)
    both.close()


def test_a_reward_model_that_learns_nothing_is_in_memory(model: dict[str, Any]) -> None:
    frozen = rows(run(model, judge={"train": False}))
    n = planned(run(model))[0].shape.parameters
    assert list(frozen) == ["policy writes", "judge writes", "policy learns"]
    assert frozen["policy writes"].parts["other model"] == frozen["policy learns"].parts["other model"] == 2 * n
    assert (frozen["judge writes"].parts["optimizer"], frozen["judge writes"].parts["other model"]) == (0, 14 * n)
    unasked = rows(run(model, feedback="recommended"))
    assert list(unasked) == ["policy writes", "policy learns"]
    assert {phase.parts["other model"] for phase in unasked.values()} == {2 * n}, "it is loaded all the same"


def test_shards_hold_master_weights(model: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    n = planned(run(model))[0].shape.parameters
    whole = rows(run(model))["policy learns"].parts
    assert (whole["weights"], whole["gradients"], whole["optimizer"]) == (2 * n, 4 * n, 12 * n)
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "4"), ("ACCELERATE_USE_FSDP", "true")):
        monkeypatch.setenv(name, value)
    sharded = rows(run(model, engine={"kind": "vllm"}))["policy learns"].parts
    assert (sharded["weights"], sharded["gradients"], sharded["optimizer"]) == (n, n, 2 * n)
    monkeypatch.setenv("FSDP_OFFLOAD_PARAMS", "true")
    away = rows(run(model, engine={"kind": "vllm"}))["policy learns"].parts
    assert (away["weights"], away["gradients"], away["optimizer"]) == (0, n, 0)


def test_what_makes_an_update_smaller(model: dict[str, Any]) -> None:
    plain = rows(run(model))["policy learns"].parts
    saving = rows(run(model, policy_trainer={"checkpointing": True}))["policy learns"].parts
    assert saving["micro-batch"] < plain["micro-batch"]
    quarter = {**model, "lora": {"rank": 8}, "quantization": "4bit"}
    shape = planned(run(model))[0].shape
    small = rows(run(quarter))["policy learns"].parts
    linear, adapters = sum(a * b for a, b in shape.linear), shape.adapter_parameters(8)
    assert small["weights"] == FOUR_BITS * linear + 2 * (shape.parameters - linear) + 4 * adapters
    assert small["optimizer"] == 8 * adapters
    assert small["gathered or unpacked"] == 2 * max(a * b for a, b in shape.linear)


def test_an_engine_with_its_share_of_a_gpu(model: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 80e9)
    found = rows(run(model, engine={"kind": "vllm", "tensor_parallel_size": 2, "gpu_memory_utilization": 0.25}))
    assert found["policy writes"].limit == 20e9
    n = planned(run(model))[0].shape.parameters
    own = {"weights": n, "cache": found["policy writes"].parts["cache"]}
    assert found["policy writes"].parts == {**own, "optimizer": 0, "other model": 0}, (
        "the trainers are beside its share"
    )
    assert found["policy writes"].note == "a sequence of 2,000 tokens"
    servers = {"kind": "vllm_server", "policy": {"base_url": "http://gpu:8000/v1", "model": "m"}}
    here = rows(run(model, engine=servers))
    assert "policy writes" not in here, "it is on another machine"
    assert (here["judge writes"].parts["optimizer"], here["judge writes"].parts["other model"]) == (0, 2 * n)
    vllm, served = (rows(run(model, engine=engine))["policy learns"].parts for engine in ({"kind": "vllm"}, servers))
    assert served["other model"] == vllm["other model"], "its optimizer rests in the host's memory with both"


def test_a_batch_of_this_process_has_an_end(model: dict[str, Any]) -> None:
    """2,048 episodes, of which a batch is kept for the next turn; the judge has three votes on 30 steps of each."""
    many = {"tasks": 64, "rollouts": 32}
    found = rows(run(model, rollout=many))
    token = planned(run(model))[0].shape.cached * 2
    assert found["policy writes"].parts["cache"] == token * 2 * TOKENS
    assert found["policy writes"].note == "two batches of 131,072 tokens, from 2,048 sequences of 2,000 tokens"
    assert found["judge writes"].parts["cache"] == token * TOKENS
    assert found["judge writes"].note == "a batch of 131,072 tokens, from 184,320 sequences of 2,000 tokens"
    few = rows(run(model, rollout={**many, "environments": 8}))["policy writes"]
    assert (few.parts["cache"], few.note) == (token * 8 * 2000, "8 sequences of 2,000 tokens")
    tests = rows(run(model, domain="coding", rollout={"tasks": 4}))["judge writes"]
    assert tests.note.startswith("12 sequences"), "three unit tests of each task"


def test_maps_of_gpt2_and_the_roots_of_adamw() -> None:
    gpt2 = GPT2Config(n_embd=48, n_layer=2, n_head=4, vocab_size=101)
    assert sum(a * b for a, b in shape_of(gpt2).linear) == 2 * 12 * 48**2
    wide = planned(run({"hidden_size": 512, "layers": 4}))[0]
    assert wide.learns(TrainerConfig(micro_batch_tokens=1), 0, None).parts["micro-batch"] >= 4 * wide.learning


def test_a_size_that_nobody_knows(tmp_path: Any) -> None:
    with pytest.raises(NotEstimated, match="somebody/unheard-of is not on this machine"):
        planned(run({"checkpoint": "somebody/unheard-of"}))
    (tmp_path / "config.json").write_text('{"model_type": "nonsense"}')
    with pytest.raises(CheckpointError, match="no configuration of a model"):
        planned(run({"checkpoint": str(tmp_path)}))


def test_numbers_for_people() -> None:
    assert [human(n) for n in (0, 999, 2048, 3 << 30, 5000 << 30)] == [
        "0 B",
        "999 B",
        "2.0 KiB",
        "3.0 GiB",
        "5,000.0 GiB",
    ]
