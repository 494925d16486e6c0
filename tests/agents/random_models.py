"""Models of random weights that choose decidedly."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, Qwen3ForCausalLM

from rlanything_agents.config import SmallConfig
from rlanything_agents.models.small import small_model

SIZES: dict[str, Any] = {"hidden_size": 32, "layers": 2}


def random_model(
    tokenizer: PreTrainedTokenizerFast, *, spread: float = 0.25, seed: int = 0, **sizes: int
) -> Qwen3ForCausalLM:
    """A small model whose weights have this standard deviation: the wider, the more decided its choices."""
    model = small_model(tokenizer, SmallConfig(**(SIZES | sizes)), seed)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(spread / model.config.initializer_range)
    return model


def random_llama(**settings: Any) -> LlamaForCausalLM:
    """A small Llama in which two query heads share a key-value head; ``vocab_size`` is needed."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "initializer_range": 0.3}
    return LlamaForCausalLM(LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes | settings)).eval()
