"""Models of a size that vLLM's kernels for processors take, and settings of engines for them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import peft
from small_models import WORDS
from transformers import AutoModelForCausalLM, Qwen3ForCausalLM

from rlanything_agents.config import SmallConfig
from rlanything_agents.config.engine import EngineConfig
from rlanything_agents.models.small import small_model

os.environ |= {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}

SIZE = SmallConfig(hidden_size=128, layers=2)
"""Heads of 32 values: the fewest that the attention of vLLM on processors takes."""

VLLM = EngineConfig(kind="vllm")
TOLERANCE = 1e-4


def make_model(seed: int = 0) -> Qwen3ForCausalLM:
    """A model whose output head is its embedding, as that of most small models."""
    return small_model(WORDS, SIZE, seed)


def smollm2() -> Path:
    """Folder of SmolLM2-135M-Instruct in float32."""
    from rlanything_agents.models.checkpoint import checkpoint_source

    return Path(checkpoint_source("smollm2-135m", "float32")[0])


def make_adapted(folder: Path, seed: int = 0) -> Any:
    """The same with adapters that are not trained yet."""
    make_model(seed).save_pretrained(folder)
    base = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    settings = peft.LoraConfig(r=3, lora_alpha=6, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return peft.get_peft_model(base, settings).eval()
