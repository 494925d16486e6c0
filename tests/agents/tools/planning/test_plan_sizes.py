"""Parameters, cache and activations that are counted from a shape, against real models and published numbers."""

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from rlanything_agents.config import SmallConfig
from rlanything_agents.models.small import word_tokenizer
from rlanything_agents.tools.planning import UnknownSize
from rlanything_agents.tools.planning.memory import activation_bytes
from rlanything_agents.tools.planning.published import PUBLISHED, published
from rlanything_agents.tools.planning.sizes import size_from_scratch, size_of_config

PUBLISHED_COUNTS = {
    "Qwen/Qwen2.5-0.5B": 494_032_768,
    "Qwen/Qwen2.5-1.5B": 1_543_714_304,
    "Qwen/Qwen2.5-7B": 7_615_616_512,
    "Qwen/Qwen2.5-14B": 14_770_033_664,
    "Qwen/Qwen3-0.6B": 596_049_920,
    "Qwen/Qwen3-4B": 4_022_468_096,
    "Qwen/Qwen3-8B": 8_190_735_360,
    "Qwen/Qwen3-VL-8B": 8_767_123_696,
    "meta-llama/Llama-3.1-8B": 8_030_261_248,
    "meta-llama/Llama-3.2-1B": 1_235_814_400,
}
"""Parameters as the makers' files on the hub have them."""

SHAPE = {
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 80,
    "vocab_size": 101,
}


def real(kind: str, **changes: Any) -> Any:
    config, model = {
        "llama": (LlamaConfig, LlamaForCausalLM),
        "qwen2": (Qwen2Config, Qwen2ForCausalLM),
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    }[kind]
    torch.manual_seed(0)
    return model(config(**SHAPE, **changes))


def count(model: torch.nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())


@pytest.mark.parametrize("name", PUBLISHED_COUNTS)
def test_a_published_shape_has_the_published_number_of_parameters(name: str) -> None:
    assert {size.name: size.parameters for size in PUBLISHED}[name] == PUBLISHED_COUNTS[name]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("kind", "changes"), [("llama", {}), ("qwen2", {}), ("qwen3", {"head_dim": 16})])
def test_parameters_and_cache_are_those_of_a_real_model(kind: str, changes: dict[str, int], tied: bool) -> None:
    model = real(kind, tie_word_embeddings=tied, **changes)
    size = size_of_config(model.config, "model", "here")
    assert size.parameters == count(model)
    cache = model(torch.zeros(2, 5, dtype=torch.long), use_cache=True).past_key_values
    stored = sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values))
    assert size.cache_bytes(width=4) * 2 * 5 == stored


def test_a_model_that_reads_pictures() -> None:
    text = {**SHAPE, "head_dim": 16}
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "out_hidden_size": 48}
    config = Qwen3VLConfig(text_config=text, vision_config={**vision, "deepstack_visual_indexes": [0, 1]})
    model = Qwen3VLForConditionalGeneration(config)
    size = size_of_config(config, "model", "here")
    assert size.vision == count(model.model.visual)
    assert size.parameters == count(model)


def test_a_model_made_from_nothing() -> None:
    tokenizer = word_tokenizer(["a", "b", "c"])
    model = random_model(tokenizer, hidden_size=32, layers=2, heads=2, intermediate_size=64)
    config = SmallConfig(hidden_size=32, layers=2, heads=2, intermediate_size=64)
    assert size_from_scratch(config, len(tokenizer), "tiny").parameters == count(model)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
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

    a_block = held(3) - held(2)
    size = size_of_config(real(kind).config, "model", "here")
    assert activation_bytes(size, 64, width=4) / size.layers == pytest.approx(a_block, rel=0.25)


def test_low_rank_adapters() -> None:
    peft = pytest.importorskip("peft")
    model = real("qwen2")
    settings = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, settings)
    trained = sum(weights.numel() for weights in adapted.parameters() if weights.requires_grad)
    assert size_of_config(model.config, "model", "here").adapter_parameters(4) == trained


@pytest.mark.parametrize(
    ("checkpoint", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B"),
        ("qwen/qwen3-8b", "Qwen/Qwen3-8B"),
        ("Qwen/Qwen3-VL-8B-Thinking", "Qwen/Qwen3-VL-8B"),
        ("Qwen/Qwen3-4B-Instruct-2507", "Qwen/Qwen3-4B"),
        ("somebody/Qwen3-8B", None),
        ("Qwen/Qwen3-80B-Instruct", None),
    ],
)
def test_names_of_published_models(checkpoint: str, name: str | None) -> None:
    size = published(checkpoint)
    assert (size.name if size else None) == name


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)
CONFIG = {
    "model_type": "qwen3",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "head_dim": 16,
}


@given(st.dictionaries(st.sampled_from([*CONFIG, "text_config", "vision_config"]), VALUES))
def test_any_configuration_has_a_size_or_is_refused(changes: dict[str, Any]) -> None:
    with contextlib.suppress(UnknownSize):
        size = size_of_config(SimpleNamespace(**{**CONFIG, **changes}), "model", "here")
        assert size.parameters > 0
        assert size.cache_bytes() > 0
