"""Shapes of published models, for plans on a machine without the checkpoints.

Each shape is from the model's ``config.json`` on the Hugging Face hub. The tests compare `ModelSize.parameters` of each
with the published parameter count.
"""

from __future__ import annotations

from collections.abc import Iterable

from rlanything_agents.tools.planning.sizes import ModelSize

__all__ = ["PUBLISHED", "published"]

_HUB = "published config.json"


def _qwen25(size: str, hidden: int, layers: int, heads: int, kv: int, inner: int, tied: bool) -> ModelSize:
    vocabulary = 151936 if tied else 152064
    return ModelSize(
        f"Qwen/Qwen2.5-{size}", _HUB, hidden, layers, heads, kv, hidden // heads, inner, vocabulary, tied, bias=True
    )


def _qwen3(size: str, hidden: int, layers: int, heads: int, inner: int, tied: bool, vision: int = 0) -> ModelSize:
    family = "Qwen3-VL" if vision else "Qwen3"
    return ModelSize(
        f"Qwen/{family}-{size}",
        _HUB,
        hidden,
        layers,
        heads,
        8,
        128,
        inner,
        151936,
        tied,
        qk_norm=True,
        vision=vision,
    )


def _llama3(name: str, hidden: int, layers: int, heads: int, inner: int, tied: bool) -> ModelSize:
    return ModelSize(f"meta-llama/{name}", _HUB, hidden, layers, heads, 8, hidden // heads, inner, 128256, tied)


PUBLISHED: tuple[ModelSize, ...] = (
    _qwen25("0.5B", 896, 24, 14, 2, 4864, True),
    _qwen25("1.5B", 1536, 28, 12, 2, 8960, True),
    _qwen25("3B", 2048, 36, 16, 2, 11008, True),
    _qwen25("7B", 3584, 28, 28, 4, 18944, False),
    _qwen25("14B", 5120, 48, 40, 8, 13824, False),
    _qwen25("32B", 5120, 64, 40, 8, 27648, False),
    _qwen3("0.6B", 1024, 28, 16, 3072, True),
    _qwen3("1.7B", 2048, 28, 16, 6144, True),
    _qwen3("4B", 2560, 36, 32, 9728, True),
    _qwen3("8B", 4096, 36, 32, 12288, False),
    _qwen3("14B", 5120, 40, 40, 17408, False),
    _qwen3("32B", 5120, 64, 64, 25600, False),
    # Vision towers: Qwen3VLVisionConfig of transformers with each model's width and depth, counted by `size_of_config`.
    _qwen3("4B", 2560, 36, 32, 9728, True, vision=415_347_712),
    _qwen3("8B", 4096, 36, 32, 12288, False, vision=576_388_336),
    _llama3("Llama-3.1-8B", 4096, 32, 32, 14336, False),
    _llama3("Llama-3.2-1B", 2048, 16, 32, 8192, True),
    _llama3("Llama-3.2-3B", 3072, 28, 24, 8192, True),
)


def published(checkpoint: str, known: Iterable[ModelSize] = PUBLISHED) -> ModelSize | None:
    """Published shape of a name on the hub: of the model, or of one trained from it (``...-Instruct``)."""
    name = checkpoint.lower()
    found = [size for size in known if name == size.name.lower() or name.startswith(f"{size.name.lower()}-")]
    return max(found, key=lambda size: len(size.name), default=None)
