"""Models of random weights that choose decidedly."""

from typing import Any

import torch
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

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
