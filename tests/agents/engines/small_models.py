"""Models of a few thousand parameters over a dozen words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import peft
import torch
from random_models import random_model
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3ForCausalLM

from rlanything_agents.models.small import word_tokenizer

WORDS: PreTrainedTokenizerFast = word_tokenizer([f"w{number}" for number in range(12)])


def make_small(seed: int = 0) -> Qwen3ForCausalLM:
    """A model whose choices are decided, but not certain."""
    return random_model(WORDS, hidden_size=16, layers=1, spread=0.4, seed=seed)


def adapted(folder: Path, seed: int = 1) -> Any:
    """A model from a folder, with adapters that do something."""
    make_small().save_pretrained(folder)
    base = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    settings = peft.LoraConfig(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = peft.get_peft_model(base, settings).eval()
    shake(model, seed)
    return model


def shake(model: Any, seed: int, size: float = 0.5) -> None:
    """Change what is trained of a model by noise of this standard deviation."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * size)


def scored(model: Any, prompt: list[int], ids: list[int]) -> list[float]:
    """Log-probabilities of ``ids`` after ``prompt`` at temperature 1."""
    with torch.inference_mode():
        logits = model(torch.tensor([prompt + ids])).logits[0].float().log_softmax(-1)
    return [float(logits[len(prompt) - 1 + at, token]) for at, token in enumerate(ids)]
